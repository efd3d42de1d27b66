//! What a wrong argument or a wrong moment gets: the table of misuse in the documentation of the crate, line by line.

use crate::support::{message_of, on_runtime, panics_of, within};
use manyhands::cancel::TokenSource;
use manyhands::channel::{self, RecvError, SendError, TryRecvError, TrySendError, broadcast};
use manyhands::parallel::{self, AsyncOptions, Options};
use manyhands::query::prelude::*;
use manyhands::{Runtime, task, time};
use std::future::{pending, poll_fn, ready};
use std::ops::RangeInclusive;
use std::task::Poll;
use std::time::{Duration, Instant};

const ZERO: &str = "degree of parallelism must be at least 1";
const REVERSED: &str = "lower limit 5 is above upper limit 2";

fn reversed() -> RangeInclusive<usize> {
    RangeInclusive::new(5, 2)
}

/// A moment that is gone.
fn past() -> Instant {
    let now = time::now();
    now.checked_sub(Duration::from_secs(1)).unwrap_or(now)
}

#[track_caller]
fn assert_panics<T>(expected: &str, work: impl FnOnce() -> T) {
    let payloads = panics_of(work);
    assert_eq!(payloads.len(), 1);
    assert_eq!(message_of(&payloads[0]), expected);
}

#[test]
fn a_degree_of_zero_is_a_typed_error() {
    let refused = Options::new().degree_of_parallelism(0).unwrap_err();
    assert!(refused.is_zero() && !refused.is_reversed());
    assert_eq!(refused.to_string(), ZERO);
    let refused = AsyncOptions::new().degree_of_parallelism(0).unwrap_err();
    assert!(refused.is_zero() && !refused.is_reversed());
    let alone = Options::new().degree_of_parallelism(1).unwrap();
    assert_eq!(alone.map(0..3, |i| i), [0, 1, 2]);
}

#[test]
fn limits_of_zero_or_reversed_are_typed_errors() {
    let refused = AsyncOptions::new()
        .degree_of_parallelism(reversed())
        .unwrap_err();
    assert!(refused.is_reversed() && !refused.is_zero());
    assert_eq!(refused.to_string(), REVERSED);
    assert!(
        AsyncOptions::new()
            .degree_of_parallelism(0..=2)
            .unwrap_err()
            .is_zero()
    );
    assert!(AsyncOptions::new().degree_of_parallelism(2..=2).is_ok());
}

#[test]
fn a_handle_that_refuses_a_number_changes_nothing() {
    let looping = parallel::for_each_async(0..100, |_| ready(()));
    let handle = looping.handle();
    handle.set_degree_of_parallelism(3).unwrap();
    assert!(handle.set_degree_of_parallelism(0).unwrap_err().is_zero());
    assert!(
        handle
            .set_degree_of_parallelism(reversed())
            .unwrap_err()
            .is_reversed()
    );
    within(30, || task::block_on(looping));
    assert_eq!((handle.begun(), handle.degree_of_parallelism()), (100, 3));
}

#[test]
fn a_runtime_without_workers_is_a_typed_error() {
    let refused = |builder: manyhands::RuntimeBuilder| builder.build().unwrap_err().to_string();
    assert_eq!(
        refused(Runtime::builder().workers(0)),
        "a runtime needs at least one worker"
    );
    assert_eq!(
        refused(Runtime::builder().workers(2).max_threads(0)),
        "`max_threads` is 0, which is less than the 2 workers"
    );
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "this is what is tested")]
fn a_reversed_range_is_empty() {
    let never = |_| panic!("a body of an empty loop is run");
    parallel::for_each(5..2, never);
    parallel::for_each(5..=2, never);
    parallel::for_each(i8::MAX..i8::MIN, |_| {
        panic!("a body of an empty loop is run")
    });
    assert!(parallel::map(5..2, |i| i).is_empty());
    assert_eq!((5..2).into_par_query().reduce(|a, b| a + b), None);
    let looping = parallel::for_each_async(5..2, |_| ready(()));
    let handle = looping.handle();
    within(30, || task::block_on(looping));
    assert_eq!(handle.begun(), 0);
}

#[test]
fn a_deadline_in_the_past_is_due() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        task::block_on(async {
            time::sleep_until(past()).await;
            assert!(time::sleep_until(past()).is_elapsed());
            assert!(time::timeout_at(past(), pending::<()>()).await.is_err());
            assert_eq!(time::timeout_at(past(), ready(1)).await, Ok(1));
            let mut polls = 0;
            let counts = poll_fn(|_| {
                polls += 1;
                Poll::<()>::Pending
            });
            assert!(time::timeout_at(past(), counts).await.is_err());
            assert_eq!(polls, 2, "before and after others had their turn");
            assert!(
                time::timeout(Duration::ZERO, pending::<()>())
                    .await
                    .is_err()
            );
            let start = past();
            let mut interval = time::interval_at(start, Duration::from_secs(3600));
            let first = poll_fn(|context| Poll::Ready(interval.poll_tick(context))).await;
            assert!(first.is_ready(), "the first tick comes at once");
        });
    });
}

#[test]
fn a_source_whose_deadline_has_passed_is_cancelled_already() {
    let source = TokenSource::with_deadline(past());
    assert!(source.token().is_cancelled());
    let cancelled = Options::new()
        .cancellation(&source.token())
        .for_each(0..10, |_| panic!("a body of a cancelled loop is run"));
    assert_eq!(cancelled.unwrap_err().token(), &source.token());
    // Not at once, but soon.
    let source = TokenSource::new();
    source.cancel_after(Duration::ZERO);
    let token = source.token();
    within(30, move || task::block_on(token.cancelled()));
}

#[test]
fn a_period_of_zero_is_a_panic() {
    let expected = "`period` must be non-zero";
    assert_panics(expected, || time::interval(Duration::ZERO));
    assert_panics(expected, || time::interval_at(time::now(), Duration::ZERO));
}

#[test]
fn a_capacity_of_zero_is_a_rendezvous_and_a_panic_of_a_broadcast() {
    let (sender, receiver) = channel::bounded(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let giver = std::thread::spawn(move || sender.send_blocking(2));
    assert_eq!(receiver.recv_blocking(), Ok(2));
    within(30, || giver.join().unwrap()).unwrap();
    assert_panics("broadcast channel capacity must be non-zero", || {
        broadcast::<u8>(0)
    });
}

#[test]
fn a_closed_channel_is_a_typed_error_that_gives_the_item_back() {
    let (sender, receiver) = channel::unbounded();
    drop(receiver);
    assert_eq!(sender.send_blocking(1), Err(SendError(1)));
    assert_eq!(sender.try_send(2), Err(TrySendError::Closed(2)));
    let late = sender.send_timeout_blocking(3, Duration::ZERO);
    assert_eq!(late, Err(TrySendError::Closed(3)));
    assert_eq!(task::block_on(sender.send(4)), Err(SendError(4)));

    let (sender, receiver) = channel::unbounded::<u8>();
    drop(sender);
    let closed = RecvError::default();
    assert_eq!(receiver.recv_blocking(), Err(closed.clone()));
    assert_eq!(task::block_on(receiver.recv()), Err(closed.clone()));
    let tried = receiver.try_recv();
    assert_eq!(tried, Err(TryRecvError::Closed(closed.clone())));
    let late = receiver.recv_timeout_blocking(Duration::ZERO);
    assert_eq!(late, Err(TryRecvError::Closed(closed)));

    let (sender, mut receiver) = broadcast(1);
    sender.close();
    assert_eq!(sender.send(1), Err(SendError(1)));
    assert!(matches!(
        receiver.recv_blocking(),
        Err(broadcast::RecvError::Closed(_))
    ));
    let (sender, mut receiver) = channel::watch(0);
    sender.close();
    assert_eq!(sender.send(1), Err(SendError(1)));
    assert!(receiver.changed_blocking().is_err());
}

#[test]
fn a_limit_of_no_time_is_over_at_once() {
    let (sender, receiver) = channel::bounded(1);
    let waited = receiver.recv_timeout_blocking(Duration::ZERO);
    assert_eq!(waited, Err(TryRecvError::Empty));
    sender.send_blocking(1).unwrap();
    let waited = sender.send_timeout_blocking(2, Duration::ZERO);
    assert_eq!(waited, Err(TrySendError::Full(2)));
}

#[test]
fn a_second_result_is_a_typed_error_or_a_panic() {
    let (completer, completion) = task::completion();
    completer.complete(1);
    assert_eq!(completer.try_complete(2), Err(2));
    assert!(!completer.try_cancel() && !completer.try_fail("late"));
    let expected = "a completion was completed twice";
    assert_panics(expected, || completer.complete(2));
    assert_panics(expected, || completer.cancel());
    assert_eq!(completion.wait_blocking().unwrap(), 1);
}

#[test]
fn the_first_of_no_tasks_is_a_panic_and_all_of_none_are_there() {
    let expected = "`when_any` needs at least one task";
    assert_panics(expected, || task::when_any::<u8>([]));
    let none = || Vec::<task::JoinHandle<u8>>::new();
    assert!(task::block_on(task::when_all(none())).is_empty());
    let mut each = task::when_each(none());
    assert!(task::block_on(each.next()).is_none());
}
