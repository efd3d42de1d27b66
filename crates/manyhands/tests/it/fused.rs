//! What is selected over in a loop says when it is over, and not before it has said what it has to say.

use crate::support::within;
use futures::future::{FusedFuture, FutureExt};
use futures::select;
use futures::stream::{FusedStream, StreamExt};
use manyhands::simulation::Simulation;
use manyhands::{cancel, channel, parallel, task, time};
use std::pin::pin;
use std::time::Duration;

/// A future that is ready now is over only once it has been polled.
fn is_over_once_it_was_ready<F: FusedFuture + Unpin>(mut future: F) -> F::Output {
    assert!(!future.is_terminated());
    let output = (&mut future).now_or_never().expect("it is ready");
    assert!(future.is_terminated());
    output
}

#[test]
fn a_future_is_over_once_it_was_ready_and_not_while_it_waits() {
    within(60, || {
        let (completer, mut completion) = task::completion();
        let source = cancel::TokenSource::new();
        let mut cancelled = source.token().cancelled();
        assert!((&mut completion).now_or_never().is_none() && !completion.is_terminated());
        assert!((&mut cancelled).now_or_never().is_none() && !cancelled.is_terminated());
        completer.complete(7);
        source.cancel();
        is_over_once_it_was_ready(cancelled);
        let clone = completion.clone();
        assert_eq!(is_over_once_it_was_ready(&mut completion).unwrap(), 7);
        // A clone has not said it yet, and this one may be asked again.
        assert_eq!(is_over_once_it_was_ready(clone).unwrap(), 7);
        assert_eq!(completion.now_or_never().unwrap().unwrap(), 7);
    });
}

#[test]
#[should_panic(expected = "`JoinHandle` polled after completion")]
fn a_handle_that_has_given_its_result_is_not_polled_again() {
    let mut handle = task::spawn(async { 1 });
    assert_eq!(task::block_on(&mut handle).unwrap(), 1);
    let _ = handle.now_or_never();
}

#[test]
fn what_is_ready_at_its_first_poll_is_over_after_it() {
    within(60, || {
        let (sender, receiver) = channel::bounded(1);
        assert_eq!(is_over_once_it_was_ready(sender.send(1)), Ok(()));
        assert_eq!(is_over_once_it_was_ready(receiver.recv()), Ok(1));
        let limited = time::timeout(Duration::from_secs(3_600), std::future::ready(5));
        assert_eq!(is_over_once_it_was_ready(pin!(limited)), Ok(5));
        let none = task::when_all(Vec::<std::future::Ready<()>>::new());
        assert_eq!(is_over_once_it_was_ready(none), []);

        let mut handles = [1, 2].map(|n| task::spawn(async move { n }));
        for handle in &mut handles {
            assert!(!handle.is_terminated());
            assert!(task::block_on(&mut *handle).is_ok() && handle.is_terminated());
        }
        let mut loops = parallel::spawn_loop(|options| options.map(0..4, |n| n * n));
        assert!(!loops.is_terminated());
        assert_eq!(task::block_on(&mut loops), Ok(vec![0, 1, 4, 9]));
        assert!(loops.is_terminated());
        let mut first = task::when_any([task::spawn(async { 3 })]);
        assert!(!first.is_terminated());
        assert_eq!(task::block_on(&mut first).result.unwrap(), 3);
        assert!(first.is_terminated());
    });
}

#[test]
fn a_sleep_is_over_when_it_was_seen_to_end_and_until_it_is_reset() {
    let ended = Simulation::new(0).run(async {
        let hour = Duration::from_secs(3_600);
        let mut sleep = pin!(time::sleep(hour));
        assert!(sleep.as_mut().now_or_never().is_none());
        time::sleep(2 * hour).await;
        // It has fired, and nobody has heard of it.
        assert!(sleep.is_elapsed() && !sleep.is_terminated());
        sleep.as_mut().await;
        assert!(sleep.is_terminated());
        sleep.as_mut().reset(time::now() + hour);
        assert!(!sleep.is_terminated());
        sleep.as_mut().await;
        assert!(sleep.is_terminated());
        let mut limited = pin!(time::timeout(hour, std::future::pending::<()>()));
        assert!(!limited.is_terminated());
        assert!(limited.as_mut().await.is_err() && limited.is_terminated());
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_loop_selects_over_each_of_them_until_all_are_over() {
    let turns = Simulation::new(0).run(async {
        let (sender, receiver) = channel::bounded(1);
        let mut producer = task::spawn(async move {
            for n in 0..3 {
                time::sleep(Duration::from_secs(1)).await;
                sender.send(n).await.unwrap();
            }
        });
        let (completer, mut completion) = task::completion();
        let mut deadline = pin!(time::sleep(Duration::from_secs(2)));
        let mut items = receiver.into_stream();
        let mut turns = Vec::new();
        loop {
            select! {
                item = items.select_next_some() => turns.push(format!("item {item}")),
                ended = producer => turns.push(format!("producer {}", ended.is_ok())),
                () = deadline => {
                    turns.push("deadline".to_string());
                    completer.complete(());
                }
                completed = completion => turns.push(format!("completion {}", completed.is_ok())),
                complete => break,
            }
        }
        turns.sort_unstable();
        turns
    });
    let all = [
        "completion true",
        "deadline",
        "item 0",
        "item 1",
        "item 2",
        "producer true",
    ];
    assert_eq!(turns.unwrap(), all);
}

#[test]
fn the_results_of_tasks_are_selected_over_until_all_were_given() {
    let turns = Simulation::new(0).run(async {
        let sleeps = [2, 1].map(|seconds| task::spawn(time::sleep(Duration::from_secs(seconds))));
        let mut results = task::when_each(sleeps);
        let mut end = pin!(time::sleep(Duration::from_secs(3)));
        let mut turns = Vec::new();
        loop {
            select! {
                (index, result) = results.select_next_some() => turns.push((index, result.is_ok())),
                () = end => assert!(results.is_terminated()),
                complete => break,
            }
        }
        assert!(results.next().await.is_none());
        turns
    });
    assert_eq!(turns, Ok(vec![(1, true), (0, true)]));
}

#[test]
fn the_ticks_of_an_interval_are_selected_over_and_have_no_end() {
    let ticks = Simulation::new(0).run(async {
        let mut interval = time::interval(Duration::from_secs(1));
        let mut end = pin!(time::sleep(Duration::from_millis(3_500)));
        let mut ticks = 0;
        loop {
            select! {
                _ = interval.select_next_some() => ticks += 1,
                () = end => break,
            }
        }
        assert!(!interval.is_terminated());
        ticks
    });
    assert_eq!(ticks, Ok(4));
}
