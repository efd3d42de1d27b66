//! Futures as tasks: spawning, waking, joining, cancelling, blocking on them.

use crate::support::{
    Ledger, WORKERS, blow, message_of, of_threads, on, on_each_runtime, on_runtime, receive,
    wait_until,
};
use manyhands::{Runtime, task};
use std::future::{pending, poll_fn, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread::{self, ThreadId};

/// Something that happens once, to be awaited.
#[derive(Debug, Default)]
struct Gate(Mutex<(bool, Vec<Waker>)>);

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut gate = self.0.lock().unwrap();
            gate.0 = true;
            std::mem::take(&mut gate.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn passed(&self) {
        poll_fn(|context| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                return Poll::Ready(());
            }
            gate.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn waits(&self) -> bool {
        !self.0.lock().unwrap().1.is_empty()
    }
}

#[test]
fn a_future_s_value_comes_back_through_the_handle() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            assert_eq!(task::spawn(ready(5)).join().unwrap(), 5);
            let nested = task::spawn(async {
                let inner = task::spawn(async { task::run(|| 7).await.unwrap() });
                inner.await.unwrap() + 1
            });
            assert_eq!(task::block_on(nested).unwrap(), 8);
        });
    });
}

#[test]
fn a_waiting_future_goes_on_when_it_is_woken_from_outside() {
    on_each_runtime(|runtime| {
        for _ in 0..50 {
            let gate = Arc::new(Gate::default());
            let waiting = Arc::clone(&gate);
            let handle = runtime.install(|| task::spawn(async move { waiting.passed().await }));
            thread::spawn(move || gate.open()).join().unwrap();
            handle.join().unwrap();
        }
        let gate = Arc::new(Gate::default());
        let waiting = Arc::clone(&gate);
        let handle = runtime.install(|| task::spawn(async move { waiting.passed().await }));
        wait_until("the task waits", || gate.waits());
        assert!(!handle.is_finished());
        gate.open();
        handle.join().unwrap();
    });
}

#[test]
fn tasks_wake_one_another_in_a_chain() {
    on_each_runtime(|runtime| {
        let gates: Arc<Vec<Gate>> = Arc::new((0..1_000).map(|_| Gate::default()).collect());
        let handles: Vec<_> = runtime.install(|| {
            (1..1_000)
                .map(|i| {
                    let gates = Arc::clone(&gates);
                    task::spawn(async move {
                        gates[i - 1].passed().await;
                        gates[i].open();
                        i
                    })
                })
                .collect()
        });
        gates[0].open();
        for (i, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), i + 1);
        }
    });
}

#[test]
fn a_panic_of_a_poll_goes_to_the_handle() {
    on_each_runtime(|runtime| {
        let handle = runtime.install(|| {
            task::spawn(async {
                task::yield_now().await;
                blow("oh dear")
            })
        });
        let error: task::JoinError = match handle.join() {
            Ok(never) => never,
            Err(error) => error,
        };
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(message_of(&error.try_into_panic().unwrap()), "oh dear");
    });
}

#[test]
fn a_cancelled_future_is_dropped_and_its_handle_gets_the_error() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(1);
        let thing = ledger.make(0);
        let gate = Arc::new(Gate::default());
        let waiting = Arc::clone(&gate);
        let handle = runtime.install(|| {
            task::spawn(async move {
                let _thing = thing;
                waiting.passed().await;
                pending::<()>().await;
            })
        });
        wait_until("the task waits", || gate.waits());
        handle.abort();
        handle.abort();
        let error = handle.join().unwrap_err();
        assert!(error.is_cancelled());
        assert_eq!(error.to_string(), "the task was cancelled");
        ledger.assert_settled();
        assert_eq!(ledger.count_dropped(), 1);
        gate.open();
    });
}

/// Says on which thread it is dropped.
struct Dropped(mpsc::Sender<ThreadId>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.send(thread::current().id()).unwrap();
    }
}

#[test]
fn a_future_that_is_cancelled_from_outside_is_dropped_on_a_thread_of_the_runtime() {
    for workers in WORKERS {
        let threads = Arc::new(Mutex::new(Vec::new()));
        let started = Arc::clone(&threads);
        let builder = Runtime::builder().workers(workers);
        let builder =
            builder.on_thread_start(move |_| started.lock().unwrap().push(thread::current().id()));
        on(builder.build().unwrap(), move |runtime| {
            let (sender, dropped) = mpsc::channel();
            let (polled_sender, polled) = mpsc::channel();
            for i in 0..40 {
                let on_drop = Dropped(sender.clone());
                let polled_sender = polled_sender.clone();
                let handle = runtime.install(|| {
                    task::spawn(async move {
                        let _on_drop = on_drop;
                        polled_sender.send(()).unwrap();
                        pending::<()>().await;
                    })
                });
                // Every other one may not have been polled yet.
                if i % 2 == 0 {
                    receive(&polled);
                }
                handle.abort();
                let place = receive(&dropped);
                assert!(threads.lock().unwrap().contains(&place));
                assert!(handle.join().unwrap_err().is_cancelled());
                polled.try_iter().for_each(drop);
            }
        });
    }
}

#[test]
fn a_queued_closure_that_is_cancelled_never_runs() {
    on(of_threads(1), |runtime| {
        let (release, released) = mpsc::channel::<()>();
        let ran = Arc::new(AtomicUsize::new(0));
        let (blocker, queued) = runtime.install(|| {
            let ran = Arc::clone(&ran);
            let blocker = task::run(move || receive(&released));
            let queued = task::run(move || ran.fetch_add(1, Ordering::SeqCst));
            (blocker, queued)
        });
        queued.abort();
        release.send(()).unwrap();
        blocker.join().unwrap();
        assert!(queued.join().unwrap_err().is_cancelled());
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn a_shutdown_drops_waiting_futures_and_tells_their_handles() {
    for workers in [1, 2, 8] {
        let runtime = Runtime::builder().workers(workers).build().unwrap();
        let ledger = Ledger::new(100);
        let gate = Arc::new(Gate::default());
        let mut handles: Vec<_> = runtime.install(|| {
            let spawn = |id| {
                let (thing, gate) = (ledger.make(id), Arc::clone(&gate));
                task::spawn(async move {
                    let _thing = thing;
                    gate.passed().await;
                })
            };
            (0..100).map(spawn).collect()
        });
        handles.truncate(50);
        wait_until("all wait", || gate.0.lock().unwrap().1.len() == 100);
        crate::support::within(20, move || drop(runtime));
        ledger.assert_settled();
        for handle in handles {
            assert!(handle.join().unwrap_err().is_cancelled());
        }
        gate.open();
    }
}

#[test]
fn a_future_without_wakers_and_handle_is_dropped() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(2);
        let things = ledger.make_all();
        let gate = Arc::new(Gate::default());
        let mut things = things.into_iter();
        let (first, second) = (things.next(), things.next());
        runtime.install(|| {
            drop(task::spawn(async move {
                let _thing = first;
                pending::<()>().await;
            }));
            let gate = Arc::clone(&gate);
            drop(task::spawn(async move {
                let _thing = second;
                gate.passed().await;
            }));
        });
        wait_until("the second waits", || gate.waits());
        // The waker is dropped without a wake; the task holds the gate, but not its wakers.
        let wakers = std::mem::take(&mut gate.0.lock().unwrap().1);
        drop(wakers);
        wait_until("both are dropped", || ledger.count_dropped() == 2);
    });
}

#[test]
fn between_two_tasks_from_outside_a_worker_runs_at_most_61_of_its_own() {
    on(of_threads(1), |runtime| {
        let (polls, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let handles: Vec<_> = runtime.install(|| {
            (0..3)
                .map(|_| {
                    let (polls, stop) = (Arc::clone(&polls), Arc::clone(&stop));
                    task::spawn(async move {
                        while stop.load(Ordering::SeqCst) == 0 {
                            polls.fetch_add(1, Ordering::SeqCst);
                            task::yield_now().await;
                        }
                    })
                })
                .collect()
        });
        for _ in 0..200 {
            let counted = Arc::clone(&polls);
            let from_outside = {
                let _entered = runtime.enter();
                task::spawn(async move { counted.load(Ordering::SeqCst) })
            };
            let queued_at = polls.load(Ordering::SeqCst);
            let ran_at = from_outside.join().unwrap();
            assert!(
                ran_at.saturating_sub(queued_at) <= 61,
                "queued before poll {queued_at}, run at {ran_at}"
            );
        }
        stop.store(1, Ordering::SeqCst);
        for handle in handles {
            handle.join().unwrap();
        }
    });
}

#[test]
fn a_worker_with_work_of_its_own_also_runs_what_a_blocked_worker_has_queued() {
    // No stand-in: only the other worker can come for what is queued.
    let runtime = Runtime::builder()
        .workers(2)
        .max_threads(2)
        .build()
        .unwrap();
    on(runtime, |runtime| {
        let (polls, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (release, released) = mpsc::channel::<()>();
        let busy: Vec<_> = runtime.install(|| {
            (0..4)
                .map(|_| {
                    let (polls, stop) = (Arc::clone(&polls), Arc::clone(&stop));
                    task::spawn(async move {
                        while stop.load(Ordering::SeqCst) == 0 {
                            polls.fetch_add(1, Ordering::SeqCst);
                            task::yield_now().await;
                        }
                    })
                })
                .collect()
        });
        let blocker = runtime.install(|| {
            task::run(move || {
                // The other worker has work of its own from here on.
                let seen = polls.load(Ordering::SeqCst);
                wait_until("the others go on", || {
                    polls.load(Ordering::SeqCst) > seen + 1_000
                });
                // Behind the blocker in its worker's queue.
                let release = release.clone();
                let behind = task::spawn(async move { release.send(()).unwrap() });
                receive(&released);
                behind
            })
        });
        let behind = blocker.join().unwrap();
        behind.join().unwrap();
        stop.store(1, Ordering::SeqCst);
        for handle in busy {
            handle.join().unwrap();
        }
    });
}

#[test]
fn block_on_works_outside_inside_and_nested() {
    on_each_runtime(|runtime| {
        let gate = Arc::new(Gate::default());
        let opener = Arc::clone(&gate);
        let inside = runtime.install(|| {
            task::run(move || {
                task::block_on(async {
                    let nested = task::block_on(async { task::spawn(ready(1)).await.unwrap() });
                    gate.passed().await;
                    nested + 1
                })
            })
        });
        opener.open();
        assert_eq!(inside.join().unwrap(), 2);
    });
    assert_eq!(task::block_on(ready(3)), 3);
}

#[test]
fn a_worker_that_blocks_on_a_future_lets_another_run_in_its_place() {
    on_runtime(1, |runtime| {
        let handle = runtime.install(|| {
            task::run(|| {
                let other = task::run(|| 5);
                // Not joined, which would run it in place.
                task::block_on(other).unwrap()
            })
        });
        assert_eq!(handle.join().unwrap(), 5);
    });
}

#[test]
fn handles_have_names_ids_and_locations() {
    on_runtime(1, |runtime| {
        runtime.install(|| {
            let named = task::Builder::new().name("counter").spawn(ready(1));
            let plain = task::spawn(ready(2));
            assert_eq!((named.name(), plain.name()), (Some("counter"), None));
            assert_ne!(named.id(), plain.id());
            assert_eq!(plain.location().file(), file!());
            assert_eq!(plain.location().line(), line!() - 4);
            assert_eq!(named.join().unwrap() + plain.join().unwrap(), 3);
        });
    });
}

#[test]
fn a_future_that_never_has_to_wait_makes_room_after_128_operations() {
    on(of_threads(1), |runtime| {
        let (completer, completion) = task::completion();
        completer.complete(());
        let operations = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&operations);
        let counts = runtime.install(|| {
            task::spawn(async move {
                let seen = task::spawn(async move { counted.load(Ordering::SeqCst) });
                for _ in 0..10_000 {
                    completion.clone().await.unwrap();
                    operations.fetch_add(1, Ordering::SeqCst);
                }
                seen.await.unwrap()
            })
        });
        assert_eq!(counts.join().unwrap(), 128);
    });
}

#[test]
fn a_wake_for_the_outer_block_on_during_an_inner_one_is_kept() {
    on_runtime(1, |runtime| {
        runtime.install(|| {
            let mut is_first = true;
            task::block_on(poll_fn(move |context| {
                if !std::mem::take(&mut is_first) {
                    return Poll::Ready(());
                }
                let outer = context.waker().clone();
                let inner = Arc::new((AtomicUsize::new(0), Mutex::new(None::<Waker>)));
                let shared = Arc::clone(&inner);
                let waking = thread::spawn(move || {
                    let (polls, waker) = &*shared;
                    let polled = |times| move || polls.load(Ordering::SeqCst) >= times;
                    wait_until("the inner one waits", polled(1));
                    outer.wake();
                    wait_until("the inner one has taken the outer wake", polled(2));
                    waker.lock().unwrap().take().unwrap().wake();
                });
                task::block_on(poll_fn(|context| {
                    *inner.1.lock().unwrap() = Some(context.waker().clone());
                    if inner.0.fetch_add(1, Ordering::SeqCst) < 2 {
                        return Poll::Pending;
                    }
                    Poll::Ready(())
                }));
                waking.join().unwrap();
                Poll::Pending
            }));
        });
    });
}

#[test]
fn the_result_of_a_detached_task_is_dropped_although_a_waker_is_left() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(1);
        let left: Arc<Mutex<Option<Waker>>> = Arc::default();
        let (thing, place) = (ledger.make(0), Arc::clone(&left));
        let mut thing = Some(thing);
        let handle = runtime.install(|| {
            task::spawn(poll_fn(move |context| {
                *place.lock().unwrap() = Some(context.waker().clone());
                Poll::Ready(thing.take().unwrap())
            }))
        });
        drop(handle);
        wait_until("the result is dropped", || ledger.count_dropped() == 1);
        left.lock().unwrap().take().unwrap().wake();
    });
}

/// Much beside a worker's stack of two megabytes.
const LARGE: usize = 256 << 10;

/// A future that has an array of this size.
async fn large(last: u8) -> u8 {
    let mut large = [0; LARGE];
    large[LARGE - 1] = last;
    task::yield_now().await;
    large[LARGE - 1]
}

/// Ways to spawn one, each in a frame of its own.
const SPAWN_LARGE: [fn() -> task::JoinHandle<u8>; 4] = [
    || task::spawn(large(7)),
    || task::Builder::new().name("large").spawn(large(7)),
    || task::spawn_local(large(7)),
    || {
        let captured = [7; LARGE];
        task::run(move || captured[LARGE - 1])
    },
];

#[test]
fn a_large_future_is_spawned_with_a_small_part_of_the_stack() {
    on_runtime(1, |runtime| {
        let spawner = runtime.install(|| {
            task::spawn(async {
                for spawn in SPAWN_LARGE {
                    assert_eq!(spawn().await.unwrap(), 7);
                }
            })
        });
        spawner.join().unwrap();
    });
}
