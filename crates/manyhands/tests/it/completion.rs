//! Results that are set by hand.

use crate::support::{Ledger, of_threads, on, on_each_runtime, on_runtime, within};
use manyhands::task::{self, Completion};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

#[test]
fn of_50_racing_setters_exactly_one_wins() {
    within(30, || {
        for round in 0..40 {
            let (completer, completion) = task::completion();
            let start = Barrier::new(50);
            let won = AtomicUsize::new(0);
            thread::scope(|threads| {
                for i in 0..50_usize {
                    let (completer, start, won) = (completer.clone(), &start, &won);
                    threads.spawn(move || {
                        start.wait();
                        let first = match (i + round) % 3 {
                            0 => completer.try_complete(i).is_ok(),
                            1 => completer.try_fail(format!("{i}")),
                            _ => completer.try_cancel(),
                        };
                        if first {
                            won.fetch_add(i * 100 + 1, Ordering::SeqCst);
                        }
                    });
                }
            });
            let won = won.load(Ordering::SeqCst);
            assert_eq!(won % 100, 1, "one setter wins");
            let winner = won / 100;
            match ((winner + round) % 3, completion.wait_blocking()) {
                (0, Ok(value)) => assert_eq!(value, winner),
                (1, Err(error)) => assert_eq!(error.to_string(), winner.to_string()),
                (2, Err(error)) => assert!(error.is_cancelled() && !error.is_abandoned()),
                other => panic!("the winner's result is not seen: {other:?}"),
            }
            assert_eq!(completer.try_complete(7), Err(7));
        }
    });
}

#[test]
fn setting_a_second_result_panics_and_trying_gives_the_value_back() {
    let (completer, completion) = task::completion();
    completer.complete(1);
    assert_eq!(completer.try_complete(2), Err(2));
    assert!(!completer.try_cancel() && !completer.try_fail("late"));
    let panics = crate::support::panics_of(|| completer.complete(3));
    assert_eq!(
        crate::support::message_of(&panics[0]),
        "a completion was completed twice"
    );
    assert_eq!(completion.wait_blocking().unwrap(), 1);
    assert_eq!(*completion.get().unwrap().unwrap(), 1);
}

#[test]
fn any_number_of_waiters_get_the_result() {
    on_each_runtime(|runtime| {
        let (completer, completion) = task::completion();
        let handles: Vec<_> =
            runtime.install(|| (0..100).map(|_| task::spawn(completion.clone())).collect());
        let blocked = {
            let completion = completion.clone();
            thread::spawn(move || completion.wait_blocking().unwrap())
        };
        completer.complete("done".to_owned());
        for handle in handles {
            assert_eq!(handle.join().unwrap().unwrap(), "done");
        }
        assert_eq!(blocked.join().unwrap(), "done");
    });
}

#[test]
fn the_thread_that_sets_the_result_never_runs_the_waiting_code() {
    on_runtime(2, |runtime| {
        let (completer, completion) = task::completion();
        let (sender, receiver) = mpsc::channel();
        let handle = runtime.install(|| {
            task::spawn(async move {
                completion.await.unwrap();
                sender.send(thread::current().id()).unwrap();
            })
        });
        completer.complete(());
        assert_ne!(crate::support::receive(&receiver), thread::current().id());
        handle.join().unwrap();
    });
}

#[test]
fn a_completion_that_everybody_abandons_is_cancelled() {
    let (completer, completion) = task::completion::<u8>();
    let other = completer.clone();
    drop(completer);
    assert!(!completion.is_completed());
    drop(other);
    let error = completion.wait_blocking().unwrap_err();
    assert!(error.is_abandoned() && error.is_cancelled());
    assert_eq!(
        error.to_string(),
        "every completer was dropped without a result"
    );
}

#[test]
fn a_failure_carries_its_error_to_all() {
    let (completer, completion) = task::completion::<u8>();
    completer.fail("no such thing".parse::<u8>().unwrap_err());
    for _ in 0..2 {
        let error = completion.wait_blocking().unwrap_err();
        assert!(!error.is_cancelled());
        assert_eq!(error.to_string(), "invalid digit found in string");
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.is::<std::num::ParseIntError>(), "it is another type");
    }
}

#[test]
fn a_completion_that_is_dropped_while_it_waits_is_forgotten() {
    on_runtime(2, |runtime| {
        let ledger = Ledger::new(1);
        let (completer, completion) = task::completion();
        let waiting: Vec<_> = runtime.install(|| {
            let spawn = |_| {
                let completion: Completion<Arc<_>> = completion.clone();
                task::spawn(async move { drop(completion.await) })
            };
            (0..20).map(spawn).collect()
        });
        for handle in waiting.iter().step_by(2) {
            handle.abort();
        }
        completer.complete(Arc::new(ledger.make(0)));
        for handle in waiting {
            let _ = handle.join();
        }
        drop((completer, completion));
        ledger.assert_settled();
    });
}

/// Waits for a task when it is cloned.
struct Waits;

impl Clone for Waits {
    fn clone(&self) -> Self {
        task::spawn(async {}).join().unwrap();
        Self
    }
}

#[test]
fn a_result_may_wait_for_a_task_when_it_is_cloned() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let (completer, completion) = task::completion();
        completer.complete(Waits);
        let results = [completion.clone(), completion].map(|end| end.wait_blocking());
        assert!(results.iter().all(Result::is_ok));
    });
}
