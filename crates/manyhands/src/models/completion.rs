//! A result that is set by hand: which completer sets it, and which waiters are woken.
//!
//! Threads: three of: completers, waiters. Operations: try to complete, drop a completer, the last one or
//! not; wait, poll once and go away.
//! Property: exactly one outcome is set; a thread that reads it sees all that its completer did before; every waiter
//! that stays is woken, and the waker of one that has gone is not kept.

use super::{Waiter, Work, beside, check, join_all};
use crate::task::{Completer, Completion, CompletionError, completion};
use loom::sync::Arc;
use loom::thread;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What completers do before they complete, by number.
type Works = Arc<[Work; 2]>;

/// Does work `number` and sets it as the result. Returns whether it was the first.
fn complete(works: &Works, completer: &Completer<usize>, number: usize) -> bool {
    works[number].run();
    completer.try_complete(number).is_ok()
}

fn wait(mut completion: Completion<usize>) -> Result<usize, CompletionError> {
    Waiter::new().wait(|context| Pin::new(&mut completion).poll(context))
}

fn poll_once(mut completion: Completion<usize>, waiter: &std::sync::Arc<Waiter>) {
    let waker = Waker::from(std::sync::Arc::clone(waiter));
    let polled = Pin::new(&mut completion).poll(&mut Context::from_waker(&waker));
    if let Poll::Ready(result) = polled {
        assert_eq!(result.ok(), Some(0));
    }
}

#[test]
fn one_of_two_completers_wins_and_the_waiter_reads_what_it_set() {
    check(|| {
        let works = Works::new(Work::some());
        let (completer, completion) = completion();
        let completers = [(0, completer.clone()), (1, completer)];
        let threads = completers.map(|(number, completer)| {
            beside(&works, move |works| complete(&works, &completer, number))
        });
        let winner = wait(completion).expect("one of them completes");
        assert!(works[winner].is_done());
        let has_won = threads.map(|thread| thread.join().unwrap());
        assert_eq!(has_won, [winner == 0, winner == 1]);
    });
}

#[test]
fn a_completer_that_is_dropped_does_not_end_what_another_completes() {
    check(|| {
        let works = Works::new(Work::some());
        let (completer, completion) = completion();
        let other = completer.clone();
        let dropper = thread::spawn(move || drop(other));
        let first = beside(&works, move |works| complete(&works, &completer, 0));
        assert_eq!(wait(completion).ok(), Some(0));
        assert!(works[0].is_done());
        dropper.join().unwrap();
        assert!(first.join().unwrap());
    });
}

#[test]
fn the_last_completer_that_is_dropped_wakes_the_waiter() {
    check(|| {
        let (completer, completion) = completion();
        let droppers =
            [completer.clone(), completer].map(|completer| thread::spawn(move || drop(completer)));
        assert!(wait(completion).is_err_and(|error| error.is_abandoned()));
        join_all(droppers);
    });
}

#[test]
fn every_waiter_is_woken() {
    check(|| {
        let works = Works::new(Work::some());
        let (completer, completion) = completion();
        let other = completion.clone();
        let waiter = thread::spawn(move || wait(other).ok());
        let first = beside(&works, move |works| complete(&works, &completer, 0));
        assert_eq!(wait(completion).ok(), Some(0));
        assert_eq!(waiter.join().unwrap(), Some(0));
        assert!(first.join().unwrap());
    });
}

#[test]
fn a_waiter_that_goes_away_leaves_the_others_and_no_waker() {
    check(|| {
        let works = Works::new(Work::some());
        let (completer, completion) = completion();
        let (other, witness) = (completion.clone(), completion.clone());
        let leaver = thread::spawn(move || {
            let waiter = Waiter::new();
            poll_once(other, &waiter);
            // Else the completing thread may have taken the waker before.
            if !witness.is_completed() {
                assert_eq!(std::sync::Arc::strong_count(&waiter), 1, "a waker is kept");
            }
        });
        let first = beside(&works, move |works| complete(&works, &completer, 0));
        assert_eq!(wait(completion).ok(), Some(0));
        assert!(first.join().unwrap());
        leaver.join().unwrap();
    });
}
