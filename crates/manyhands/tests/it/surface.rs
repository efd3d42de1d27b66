//! What every public type can do: be sent, be shared, be printed. Checked by the compiler.

use manyhands::cancel::{Cancelled, Registration, Source, Token};
use manyhands::parallel::{
    Cancellable, Control, Failure, Failures, FromIter, LocalOptions, Options, Outcome,
    Uncancellable, options,
};
use manyhands::task::{JoinError, JoinHandle};
use manyhands::{
    AggregatePanic, BuildError, Builder, EnterGuard, Metrics, PanicPayload, Runtime, Scope,
    ShutdownReport,
};
use std::cell::Cell;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;
use std::ops::Range;

const fn is_sent<T: Send>() {}
const fn is_shared<T: Sync>() {}
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
    is_sent::<Builder>();
    is_sent::<BuildError>();
    is_sent::<ShutdownReport>();
    is_sent::<Metrics>();
    is_sent::<AggregatePanic>();
    is_sent::<PanicPayload>();
    is_sent::<JoinHandle<u8>>();
    is_sent::<JoinHandle<Cell<u8>>>();
    is_sent::<JoinError>();
    is_sent::<Source>();
    is_sent::<Token>();
    is_sent::<Registration>();
    is_sent::<Cancelled>();
    is_sent::<Options<'_>>();
    is_sent::<Options<'_, Cancellable<'_>>>();
    is_sent::<LocalOptions<'_, Init, Finish>>();
    is_sent::<Outcome<u64>>();
    is_sent::<Failures<u8>>();
    is_sent::<Failure<u8>>();
    is_sent::<FromIter<Range<u8>>>();
};

const _: () = {
    is_shared::<Runtime>();
    is_shared::<Builder>();
    is_shared::<BuildError>();
    is_shared::<ShutdownReport>();
    is_shared::<AggregatePanic>();
    is_shared::<PanicPayload>();
    is_shared::<JoinError>();
    is_shared::<Failures<u8>>();
    is_shared::<Failure<u8>>();
    is_shared::<Metrics>();
    is_shared::<JoinHandle<u8>>();
    is_shared::<JoinHandle<Cell<u8>>>();
    is_shared::<Source>();
    is_shared::<Token>();
    is_shared::<Registration>();
    is_shared::<Cancelled>();
    is_shared::<Options<'_>>();
    is_shared::<Options<'_, Cancellable<'_>>>();
    is_shared::<LocalOptions<'_, Init, Finish>>();
    is_shared::<Outcome<u64>>();
    is_shared::<Scope<'_>>();
    is_shared::<Control<'_, u64>>();
    is_shared::<FromIter<Range<u8>>>();
};

const _: () = {
    is_printed::<Runtime>();
    is_printed::<Builder>();
    is_printed::<BuildError>();
    is_printed::<ShutdownReport>();
    is_printed::<Metrics>();
    is_printed::<EnterGuard<'_>>();
    is_printed::<Scope<'_>>();
    is_printed::<AggregatePanic>();
    is_printed::<PanicPayload>();
    is_printed::<JoinHandle<u8>>();
    is_printed::<JoinHandle<Unprintable>>();
    is_printed::<JoinError>();
    is_printed::<Source>();
    is_printed::<Token>();
    is_printed::<Registration>();
    is_printed::<Cancelled>();
    is_printed::<Options<'_>>();
    is_printed::<Options<'_, Cancellable<'_>>>();
    is_printed::<LocalOptions<'_, Init, Finish>>();
    is_printed::<Control<'_, u64>>();
    is_printed::<Outcome<u64>>();
    is_printed::<Failures<u8>>();
    is_printed::<Failure<u8>>();
    is_printed::<FromIter<Range<u8>>>();
    is_printed::<Uncancellable>();
    is_printed::<Cancellable<'_>>();
};

const _: () = {
    is_copied::<Options<'_>>();
    is_copied::<Options<'_, Cancellable<'_>>>();
    is_copied::<Outcome<u64>>();
    is_copied::<ShutdownReport>();
    is_copied::<Metrics>();
    is_cloned::<Token>();
    is_cloned::<Cancelled>();
    is_cloned::<BuildError>();
    is_compared::<Token>();
    is_compared::<Cancelled>();
    is_compared::<BuildError>();
    is_compared::<Outcome<u64>>();
    is_compared::<ShutdownReport>();
    is_error::<AggregatePanic>();
    is_error::<BuildError>();
    is_error::<Cancelled>();
    is_error::<JoinError>();
    is_error::<Failures<std::fmt::Error>>();
    is_unpinned::<Runtime>();
    is_unpinned::<JoinHandle<u8>>();
    is_unpinned::<Token>();
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
    let source = Source::new();
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
        format!("{:?}", options()),
        format!("{:?}", options().runtime(&runtime).cancellation(&token)),
        format!("{:?}", manyhands::parallel::from_iter([1, 2])),
    ];
    assert!(printed.iter().all(|text| !text.is_empty()));
    manyhands::scope(|s| assert!(format!("{s:?}").contains("Scope")));
}

#[test]
fn options_can_be_kept_and_used_again() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let token = Token::never();
    let base = options().runtime(&runtime).degree_of_parallelism(2);
    let cancellable = base.cancellation(&token);
    for _ in 0..3 {
        assert_eq!(base.sum::<_, u32>(0..10_u32), 45);
        assert_eq!(cancellable.sum::<_, u32>(0..10_u32).unwrap(), 45);
    }
}
