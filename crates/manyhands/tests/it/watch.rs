//! Closures of users in a watch channel: waiting for a value, and changing the value.

use crate::support::{of_threads, within};
use futures::executor::block_on;
use futures::future::{FusedFuture, FutureExt};
use manyhands::channel::watch::{Receiver, Sender};
use manyhands::channel::{self, SendError};
use manyhands::task;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;

/// How many threads change the value, and how often each.
const WRITERS: usize = 4;
const CHANGES: u64 = if cfg!(miri) { 10 } else { 1_000 };

#[test]
fn a_value_that_was_read_counts_as_seen_only_if_asked() {
    let (sender, mut receiver) = channel::watch(1);
    sender.send(2).unwrap();
    assert_eq!(*receiver.latest(), 2);
    assert!(receiver.has_changed());
    assert_eq!(*receiver.latest_and_update(), 2);
    assert!(!receiver.has_changed() && receiver.changed().now_or_never().is_none());
}

#[test]
fn a_wait_for_a_value_begins_with_the_current_one_and_ends_with_the_last() {
    let (sender, mut receiver) = channel::watch(1);
    // Seen from the start, and looked at all the same.
    let first = receiver.wait_for(|n| *n == 1).now_or_never().unwrap();
    assert_eq!(first.as_deref(), Ok(&1));
    let mut looked_at = Vec::new();
    let mut waiting = receiver.wait_for(|n| {
        looked_at.push(*n);
        *n >= 3
    });
    assert!((&mut waiting).now_or_never().is_none());
    sender.send(2).unwrap();
    assert!((&mut waiting).now_or_never().is_none() && !waiting.is_terminated());
    sender.send(3).unwrap();
    sender.close_with("over");
    let third = (&mut waiting).now_or_never().unwrap();
    assert!(third.as_deref() == Ok(&3) && waiting.is_terminated());
    drop(waiting);
    assert_eq!(looked_at, [1, 2, 3]);
    let never = receiver.wait_for_blocking(|n| *n > 3).unwrap_err();
    assert_eq!(never.reason().unwrap().to_string(), "over");
}

#[test]
fn a_wait_for_a_value_that_is_given_up_has_passed_over_nothing_that_is_wanted() {
    let (sender, mut receiver) = channel::watch(0);
    for wanted in 1..100 {
        assert!(receiver.wait_for(|n| *n == wanted).now_or_never().is_none());
        sender.send(wanted).unwrap();
        assert!(receiver.has_changed());
        let mut waiting = receiver.wait_for(|n| *n > wanted);
        assert!((&mut waiting).now_or_never().is_none());
        drop(waiting);
        // Seen, because it was not wanted then.
        assert!(!receiver.has_changed());
        let found = receiver.wait_for_blocking(|n| *n == wanted);
        assert_eq!(found.as_deref(), Ok(&wanted));
    }
}

#[test]
fn every_waiter_finds_the_value_that_it_waits_for() {
    within(60, || {
        let (sender, receiver) = channel::watch(0_u64);
        let waiters: Vec<_> = (0..WRITERS)
            .map(|id| {
                let mut receiver = receiver.clone();
                thread::spawn(move || {
                    let reached = |n: &u64| *n >= CHANGES;
                    let found = if id % 2 == 0 {
                        receiver.wait_for_blocking(reached)
                    } else {
                        block_on(receiver.wait_for(reached))
                    };
                    assert_eq!(found.as_deref(), Ok(&CHANGES));
                })
            })
            .collect();
        (1..=CHANGES).for_each(|n| sender.send(n).unwrap());
        // While the sender exists: it is the value that ends the waits.
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn what_waits_for_a_value_may_use_the_channel_and_panic() {
    within(60, || {
        let (sender, mut receiver) = channel::watch(1);
        let other = receiver.clone();
        let found = receiver.wait_for_blocking(|n| {
            sender.send(*other.latest() + 1).unwrap();
            *n == 5
        });
        assert_eq!((found.as_deref(), *sender.latest()), (Ok(&5), 6));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            receiver.wait_for_blocking(|n| panic!("{n} is too many"))
        }));
        assert!(panicked.is_err() && !receiver.has_changed());
        sender.send(7).unwrap();
        assert_eq!(receiver.changed_blocking().as_deref(), Ok(&7));
    });
}

#[test]
fn a_task_that_finds_new_values_all_the_time_lets_others_run() {
    within(60, || {
        let runtime = of_threads(1);
        let _entered = runtime.enter();
        let (sender, mut receiver) = channel::watch(0_u64);
        let (stop, stopped) = channel::watch(false);
        let waiting = task::spawn(async move {
            let found = receiver.wait_for(|n| {
                sender.send(n + 1).unwrap();
                *stopped.latest()
            });
            found.await.is_ok()
        });
        let other = task::spawn(async move { stop.send(true) });
        assert!(other.join().unwrap().is_ok() && waiting.join().unwrap());
    });
}

#[test]
fn changes_by_many_threads_are_all_kept() {
    within(60, || {
        let (sender, receiver) = channel::watch((0_u64, 0_u64));
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let sender = sender.clone();
                thread::spawn(move || {
                    for n in 0..CHANGES {
                        sender.send_modify(|value| value.0 += 1).unwrap();
                        let changed = sender.send_if_modified(|value| {
                            value.1 += 1;
                            n % 2 == 0
                        });
                        assert_eq!(changed, Ok(n % 2 == 0));
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        let all = WRITERS as u64 * CHANGES;
        assert_eq!(*receiver.latest(), (all, all / 2));
    });
}

#[test]
fn a_change_that_is_refused_changes_nothing_and_notifies_nobody() {
    let (sender, mut receiver) = channel::watch(1);
    let refused = sender.send_if_modified(|n| {
        *n = 2;
        false
    });
    assert_eq!((refused, *sender.latest()), (Ok(false), 1));
    assert!(!receiver.has_changed());
    sender.send_modify(|n| *n = 3).unwrap();
    assert_eq!(receiver.changed_blocking().as_deref(), Ok(&3));
}

#[test]
fn a_closed_watch_is_not_changed() {
    let (sender, receiver) = channel::watch(1);
    let closed_meanwhile = sender.send_if_modified(|n| {
        *n = 2;
        sender.close()
    });
    assert_eq!(closed_meanwhile, Err(SendError(())));
    let before = AtomicUsize::new(0);
    let closed_before = sender.send_modify(|_| {
        before.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(closed_before, Err(SendError(())));
    assert_eq!((before.into_inner(), *receiver.latest()), (0, 1));
}

/// Changes the value by a closure that does something else first; returns whether that panicked.
fn panics_in_a_change(sender: &Sender<u32>, first: impl Fn()) -> bool {
    let changed = catch_unwind(AssertUnwindSafe(|| {
        sender.send_modify(|n| {
            first();
            *n += 1;
        })
    }));
    changed.is_err()
}

#[test]
fn what_changes_the_value_may_read_the_channel_and_panic() {
    within(60, || {
        let (sender, mut receiver) = channel::watch(1);
        let reads = |receiver: &Receiver<u32>| {
            assert_eq!((*sender.latest(), *receiver.latest()), (1, 1));
            assert_eq!(sender.subscribe().has_changed(), receiver.has_changed());
        };
        assert!(!panics_in_a_change(&sender, || reads(&receiver)));
        assert!(panics_in_a_change(&sender, || panic!("no")));
        assert_eq!(receiver.changed_blocking().as_deref(), Ok(&2));
        sender.send(5).unwrap();
        assert_eq!(receiver.changed_blocking().as_deref(), Ok(&5));
    });
}

#[test]
fn what_changes_the_value_and_sends_into_the_channel_panics() {
    within(60, || {
        let (sender, receiver) = channel::watch(1);
        let other = sender.clone();
        let ways: [&dyn Fn(); 3] = [
            &|| other.send(9).unwrap(),
            &|| other.send_modify(|n| *n = 9).unwrap(),
            &|| assert_eq!(other.send_if_modified(|_| false), Ok(false)),
        ];
        for way in ways {
            assert!(panics_in_a_change(&sender, way));
            assert_eq!(*receiver.latest(), 1);
        }
        // Another channel is another matter, and so is another thread: what it sends is not lost.
        let (another, _) = channel::watch(0);
        assert!(!panics_in_a_change(&sender, || another.send(1).unwrap()));
        let (ask, asked) = mpsc::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let elsewhere = thread::spawn(move || {
            while asked.recv().is_ok() {
                other.send(10).unwrap();
                answer.send(()).unwrap();
            }
        });
        let calls = AtomicUsize::new(0);
        let changed = sender.send_modify(|n| {
            if calls.fetch_add(1, Ordering::Relaxed) == 0 {
                ask.send(()).unwrap();
                answered.recv().unwrap();
            }
            *n += 1;
        });
        drop(ask);
        elsewhere.join().unwrap();
        assert_eq!((changed, *receiver.latest()), (Ok(()), 11));
        assert_eq!(calls.into_inner(), 2);
    });
}

/// A waker that sends 7.
struct SendsSeven(Sender<u32>);

impl Wake for SendsSeven {
    fn wake(self: Arc<Self>) {
        self.0.send(7).unwrap();
    }
}

/// A value that sends 9 when it is dropped, if it is 1.
#[derive(Clone)]
struct SendsNine(u32, Option<Sender<Self>>);

impl Drop for SendsNine {
    fn drop(&mut self) {
        if let (1, Some(sender)) = (self.0, &self.1) {
            sender.send(Self(9, None)).unwrap();
        }
    }
}

#[test]
fn wakers_and_values_that_are_dropped_may_send_when_the_value_was_changed() {
    within(60, || {
        let (sender, mut receiver) = channel::watch(0);
        let waker = Waker::from(Arc::new(SendsSeven(sender.clone())));
        let changed = pin!(receiver.changed());
        assert!(changed.poll(&mut Context::from_waker(&waker)).is_pending());
        sender.send_modify(|n| *n = 1).unwrap();
        assert_eq!(*sender.latest(), 7);
        for is_modified in [true, false] {
            let (sender, _) = channel::watch(SendsNine(0, None));
            sender.send(SendsNine(1, Some(sender.clone()))).unwrap();
            let changed = sender.send_if_modified(|value| {
                value.0 += u32::from(is_modified);
                is_modified
            });
            assert_eq!((changed, sender.latest().0), (Ok(is_modified), 9));
        }
    });
}
