//! What every public type can do: be sent, be shared, be printed. Checked by the compiler.

use manyhands::cancel::{Cancelled, Registration, Token, TokenSource};
use manyhands::channel::{self, broadcast, watch};
use manyhands::diagnostics::Metrics;
use manyhands::parallel::{
    AsyncLoop, AsyncResults, ConcurrencyError, Control, Failure, Failures, FromIter, LocalOptions,
    LoopHandle, Options, Outcome, Spawned, SpawnedLoop, SpawnedLoopHandle,
};
use manyhands::query::{IntoParQuery, Query};
use manyhands::simulation::{Deadlock, Simulation};
use manyhands::task::{
    self, AbortHandle, Completer, Completion, CompletionError, GroupError, JoinError, JoinHandle,
    TaskGroup, TaskId, TaskScope, TryTaskScope, WhenAll, WhenAny, WhenEach,
};
use manyhands::time::{Elapsed, Interval, MissedTickBehavior, Sleep, Timeout};
use manyhands::{
    AggregatePanic, BuildError, EnterGuard, Handle, PanicPayload, Runtime, RuntimeBuilder, Scope,
    ShutdownReport,
};
use std::cell::Cell;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::marker::{PhantomData, PhantomPinned};
use std::ops::Range;

const fn is_sent<T: Send>() {}
const fn is_shared<T: Sync>() {}
const fn can_be_sent<T: Send>(_: &T) {}
const fn is_printed<T: Debug>() {}
const fn is_copied<T: Copy>() {}
const fn is_cloned<T: Clone>() {}
const fn is_compared<T: Eq>() {}
const fn is_error<T: Error + Display + 'static>() {}
const fn is_unpinned<T: Unpin>() {}

type Init = fn() -> u8;
type Finish = fn(u8);

const _: () = {
    is_sent::<Runtime>();
    is_sent::<RuntimeBuilder>();
    is_sent::<BuildError>();
    is_sent::<ShutdownReport>();
    is_sent::<Metrics>();
    is_sent::<AggregatePanic>();
    is_sent::<PanicPayload>();
    is_sent::<AbortHandle>();
    is_sent::<Handle>();
    is_sent::<JoinHandle<u8>>();
    is_sent::<JoinHandle<Cell<u8>>>();
    is_sent::<JoinError>();
    is_sent::<TaskId>();
    is_sent::<task::Builder>();
    is_sent::<Completer<u8>>();
    is_sent::<Completion<u8>>();
    is_sent::<CompletionError>();
    is_sent::<TaskGroup<Cell<u8>>>();
    is_sent::<GroupError<u8>>();
    is_sent::<TaskScope<'_, '_>>();
    is_sent::<TryTaskScope<'_, '_, Cell<u8>>>();
    is_sent::<WhenAll<JoinHandle<Cell<u8>>>>();
    is_sent::<WhenAny<Cell<u8>>>();
    is_sent::<WhenEach<Cell<u8>>>();
    is_sent::<TokenSource>();
    is_sent::<Token>();
    is_sent::<Registration>();
    is_sent::<Cancelled>();
    is_sent::<Sleep>();
    is_sent::<Timeout<u8>>();
    is_sent::<Interval>();
    is_sent::<Elapsed>();
    is_sent::<MissedTickBehavior>();
    is_sent::<Simulation>();
    is_sent::<Deadlock>();
    is_sent::<Options<'_>>();
    is_sent::<Options<'_, &Token>>();
    is_sent::<LocalOptions<Options<'_>, Init, Finish>>();
    is_sent::<Outcome>();
    is_sent::<Failures<u8>>();
    is_sent::<Failure<u8>>();
    is_sent::<ConcurrencyError>();
    is_sent::<FromIter<Range<u8>>>();
    is_sent::<Query<'static, <Vec<Cell<u8>> as IntoParQuery>::Pipeline>>();
};

const _: () = {
    is_shared::<Runtime>();
    is_shared::<RuntimeBuilder>();
    is_shared::<BuildError>();
    is_shared::<ShutdownReport>();
    is_shared::<AggregatePanic>();
    is_shared::<PanicPayload>();
    is_shared::<JoinError>();
    is_shared::<ConcurrencyError>();
    is_shared::<Failures<u8>>();
    is_shared::<Failure<u8>>();
    is_shared::<Metrics>();
    is_shared::<AbortHandle>();
    is_shared::<Handle>();
    is_shared::<JoinHandle<u8>>();
    is_shared::<JoinHandle<Cell<u8>>>();
    is_shared::<TaskId>();
    is_shared::<task::Builder>();
    is_shared::<Completer<u8>>();
    is_shared::<Completion<u8>>();
    is_shared::<CompletionError>();
    is_shared::<TaskGroup<Cell<u8>>>();
    is_shared::<TaskScope<'_, '_>>();
    is_shared::<TryTaskScope<'_, '_, Cell<u8>>>();
    is_shared::<WhenEach<Cell<u8>>>();
    is_shared::<TokenSource>();
    is_shared::<Token>();
    is_shared::<Registration>();
    is_shared::<Cancelled>();
    is_shared::<Sleep>();
    is_shared::<Timeout<u8>>();
    is_shared::<Interval>();
    is_shared::<Elapsed>();
    is_shared::<MissedTickBehavior>();
    is_shared::<Simulation>();
    is_shared::<Deadlock>();
    is_shared::<Options<'_>>();
    is_shared::<Options<'_, &Token>>();
    is_shared::<LocalOptions<Options<'_>, Init, Finish>>();
    is_shared::<Outcome>();
    is_shared::<Scope<'_>>();
    is_shared::<Control<'_>>();
    is_shared::<FromIter<Range<u8>>>();
    is_sent::<AsyncLoop<'_, u8>>();
    is_sent::<SpawnedLoop<Cell<u8>>>();
    is_shared::<SpawnedLoop<Cell<u8>>>();
    is_sent::<Options<'_, Spawned<'_>>>();
    is_sent::<AsyncResults<'_, u8>>();
    is_shared::<LoopHandle>();
    is_shared::<SpawnedLoopHandle>();
};

const _: () = {
    is_printed::<Runtime>();
    is_printed::<RuntimeBuilder>();
    is_printed::<BuildError>();
    is_printed::<ShutdownReport>();
    is_printed::<Metrics>();
    is_printed::<EnterGuard<'_>>();
    is_printed::<Scope<'_>>();
    is_printed::<AggregatePanic>();
    is_printed::<PanicPayload>();
    is_printed::<AbortHandle>();
    is_printed::<Handle>();
    is_printed::<JoinHandle<u8>>();
    is_printed::<JoinHandle<Unprintable>>();
    is_printed::<JoinError>();
    is_printed::<TokenSource>();
    is_printed::<Token>();
    is_printed::<Registration>();
    is_printed::<Cancelled>();
    is_printed::<Sleep>();
    is_printed::<Timeout<u8>>();
    is_printed::<Interval>();
    is_printed::<Elapsed>();
    is_printed::<MissedTickBehavior>();
    is_printed::<Simulation>();
    is_printed::<Deadlock>();
    is_printed::<Options<'_>>();
    is_printed::<Options<'_, &Token>>();
    is_printed::<LocalOptions<Options<'_>, Init, Finish>>();
    is_printed::<Control<'_>>();
    is_printed::<Outcome>();
    is_printed::<Failures<u8>>();
    is_printed::<Failure<u8>>();
    is_printed::<FromIter<Range<u8>>>();
    is_printed::<AsyncLoop<'_, Unprintable>>();
    is_printed::<AsyncResults<'_, Unprintable>>();
    is_printed::<LoopHandle>();
    is_printed::<SpawnedLoop<Unprintable>>();
    is_printed::<SpawnedLoopHandle>();
    is_printed::<ConcurrencyError>();
    is_printed::<()>();
    is_printed::<&Token>();
};

const _: () = {
    is_copied::<Options<'_>>();
    is_copied::<Options<'_, &Token>>();
    is_copied::<Outcome>();
    is_copied::<Metrics>();
    is_copied::<Elapsed>();
    is_copied::<ConcurrencyError>();
    is_copied::<MissedTickBehavior>();
    is_copied::<Simulation>();
    is_cloned::<AbortHandle>();
    is_cloned::<Handle>();
    is_cloned::<ShutdownReport>();
    is_cloned::<Token>();
    is_cloned::<LoopHandle>();
    is_cloned::<SpawnedLoopHandle>();
    is_cloned::<Cancelled>();
    is_cloned::<Deadlock>();
    is_cloned::<BuildError>();
    is_compared::<Token>();
    is_compared::<Cancelled>();
    is_compared::<Elapsed>();
    is_compared::<Deadlock>();
    is_compared::<BuildError>();
    is_compared::<ConcurrencyError>();
    is_compared::<Outcome>();
    is_compared::<ShutdownReport>();
    is_error::<AggregatePanic>();
    is_error::<BuildError>();
    is_error::<Cancelled>();
    is_error::<Elapsed>();
    is_error::<Deadlock>();
    is_error::<JoinError>();
    is_error::<ConcurrencyError>();
    is_error::<Failures<std::fmt::Error>>();
    is_unpinned::<Runtime>();
    is_unpinned::<JoinHandle<u8>>();
    is_unpinned::<Token>();
    is_unpinned::<Interval>();
    is_unpinned::<AsyncLoop<'_, u8>>();
    is_unpinned::<SpawnedLoop<PhantomPinned>>();
    is_unpinned::<AsyncResults<'_, u8>>();
};

/// Cannot be printed.
struct Unprintable;

/// `Probe::<T>::ANSWER` is true if `T` can be sent: then the inherent constant hides the trait's.
struct Probe<T: ?Sized>(PhantomData<T>);

trait NotSent {
    const ANSWER: bool = false;
}

impl<T: ?Sized> NotSent for Probe<T> {}

impl<T: ?Sized + Send> Probe<T> {
    const ANSWER: bool = true;
}

const _: () = assert!(Probe::<Runtime>::ANSWER, "the probe finds what can be sent");
const _: () = assert!(
    !Probe::<EnterGuard<'static>>::ANSWER,
    "a guard speaks of its own thread"
);
const _: () = assert!(
    !Probe::<JoinHandle<*const u8>>::ANSWER,
    "a result that cannot be sent keeps its handle from being sent"
);

#[test]
fn what_is_printed_is_not_empty() {
    let source = TokenSource::new();
    let token = source.token();
    let registration = token.register(|| {});
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let printed = [
        format!("{source:?}"),
        format!("{token:?}"),
        format!("{registration:?}"),
        format!("{runtime:?}"),
        format!("{:?}", runtime.enter()),
        format!(
            "{:?}",
            Runtime::builder()
                .thread_name(|_| String::new())
                .on_thread_stop(|_| ())
        ),
        format!("{:?}", Options::new()),
        format!(
            "{:?}",
            Options::new().runtime(&runtime).cancellation(&token)
        ),
        format!("{:?}", manyhands::parallel::from_iter([1, 2])),
    ];
    assert!(printed.iter().all(|text| !text.is_empty()));
    manyhands::scope(|s| assert!(format!("{s:?}").contains("Scope")));
}

#[test]
fn options_can_be_kept_and_used_again() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let token = Token::never();
    let base = Options::new()
        .runtime(&runtime)
        .degree_of_parallelism(2)
        .unwrap();
    let cancellable = base.cancellation(&token);
    for _ in 0..3 {
        assert_eq!(base.map(0..3, |i| i), [0, 1, 2]);
        assert_eq!(cancellable.map(0..3, |i| i).unwrap(), [0, 1, 2]);
    }
}

/// Futures that have no name; that they are `Unpin` is part of the functions' types.
const _: fn(&Token) = |token| can_be_sent(&token.cancelled());
const _: fn(&channel::Sender<Cell<u8>>, &channel::Receiver<Cell<u8>>) = |sender, receiver| {
    let (mut sent, mut received) = (VecDeque::new(), Vec::new());
    can_be_sent(&sender.send(Cell::new(1)));
    can_be_sent(&sender.send_many(&mut sent));
    can_be_sent(&sender.wait_ready());
    can_be_sent(&sender.wait_closed());
    can_be_sent(&receiver.recv());
    can_be_sent(&receiver.recv_many(&mut received, 1));
    can_be_sent(&receiver.wait_drained());
    can_be_sent(&receiver.iter());
    can_be_sent(&receiver.clone().into_stream());
};
const _: fn(&mut broadcast::Receiver<u8>, &mut watch::Receiver<u8>) = |broadcast, watch| {
    can_be_sent(&broadcast.recv());
    can_be_sent(&broadcast.clone().into_stream());
    can_be_sent(&watch.changed());
    can_be_sent(&watch.clone().into_stream());
    can_be_sent(&watch.wait_for(|n| *n == 1));
};

/// Ends of channels can be sent and shared if their items can be sent; futures of theirs are never pinned.
const _: () = {
    is_sent::<channel::Sender<Cell<u8>>>();
    is_shared::<channel::Sender<Cell<u8>>>();
    is_cloned::<channel::Sender<Cell<u8>>>();
    is_printed::<channel::Sender<Cell<u8>>>();
    is_sent::<channel::Receiver<Cell<u8>>>();
    is_shared::<channel::Receiver<Cell<u8>>>();
    is_cloned::<channel::Receiver<Cell<u8>>>();
    is_printed::<channel::Receiver<Cell<u8>>>();
    is_sent::<broadcast::Sender<u8>>();
    is_shared::<broadcast::Sender<u8>>();
    is_sent::<broadcast::Receiver<u8>>();
    is_shared::<broadcast::Receiver<u8>>();
    is_sent::<watch::Sender<u8>>();
    is_shared::<watch::Sender<u8>>();
    is_sent::<watch::Receiver<u8>>();
    is_shared::<watch::Receiver<u8>>();
    is_sent::<channel::WeakSender<Cell<u8>>>();
    is_shared::<channel::WeakSender<Cell<u8>>>();
    is_cloned::<channel::WeakSender<Cell<u8>>>();
    is_printed::<channel::WeakSender<Cell<u8>>>();
    is_error::<channel::SendError<u8>>();
    is_error::<channel::TrySendError<u8>>();
    is_error::<channel::RecvError>();
    is_error::<channel::TryRecvError>();
    is_error::<broadcast::RecvError>();
    is_error::<broadcast::TryRecvError>();
    is_sent::<channel::ChannelOptions<Cell<u8>>>();
};
