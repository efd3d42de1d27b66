//! The end of a runtime: what runs is finished, what is queued is dropped and counted, nothing hangs.

use crate::support::{Ledger, busy_micros, of_threads, receive, wait_until, within};
use crate::which_runtime::{named, where_tasks_run};
use manyhands::query::prelude::*;
use manyhands::task::Priority;
use manyhands::{Runtime, parallel, task};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, mpsc};
use std::thread;
use std::time::Duration;

/// Runs `work` as a task of `runtime`, which is handed to it.
fn inside<T: Send + 'static>(
    runtime: Runtime,
    work: impl FnOnce(Runtime) -> T + Send + 'static,
) -> T {
    let (hand_over, handed_over) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    let start = || drop(task::run(move || done.send(work(receive(&handed_over)))));
    runtime.install(start);
    hand_over.send(runtime).expect("the task waits");
    receive(&is_done)
}

#[test]
fn queued_tasks_are_dropped_and_counted_and_their_handles_say_cancelled() {
    within(60, || {
        let ledger = Ledger::new(50);
        let things = ledger.make_all();
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        let (report, handles) = inside(of_threads(1), move |runtime| {
            let spawn = |thing| {
                let ran = Arc::clone(&count);
                task::run(move || {
                    ran.fetch_add(1, Ordering::SeqCst);
                    drop(thing);
                })
            };
            let handles: Vec<_> = things.into_iter().map(spawn).collect();
            (runtime.shutdown_blocking(), handles)
        });
        assert_eq!(report.dropped, 50);
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        for handle in handles {
            assert!(handle.is_finished());
            let error = handle.join().unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert_eq!(error.to_string(), "the task was cancelled");
            assert!(error.try_into_panic().unwrap_err().is_cancelled());
        }
        ledger.assert_settled();
    });
}

#[test]
fn the_closures_of_dropped_tasks_are_dropped_although_their_handles_are_kept() {
    within(60, || {
        let ledger = Ledger::new(50);
        let things = ledger.make_all();
        let handles = inside(of_threads(1), move |runtime| {
            let spawn = |thing| task::run(move || drop(thing));
            let handles: Vec<_> = things.into_iter().map(spawn).collect();
            runtime.shutdown_blocking();
            handles
        });
        assert_eq!(
            ledger.count_dropped(),
            50,
            "closures dropped by the shutdown"
        );
        drop(handles);
        ledger.assert_settled();
    });
}

#[test]
fn detached_tasks_are_dropped_and_counted_too() {
    within(60, || {
        let ledger = Ledger::new(100);
        let things = ledger.make_all();
        let report = inside(of_threads(1), move |runtime| {
            for (i, thing) in things.into_iter().enumerate() {
                if i % 2 == 0 {
                    drop(task::run(move || drop(thing)));
                } else {
                    task::run_detached(move || drop(thing));
                }
            }
            runtime.shutdown_blocking()
        });
        assert_eq!(report.dropped, 100);
        ledger.assert_settled();
    });
}

#[test]
fn tasks_that_ran_in_place_are_not_counted_as_dropped() {
    within(60, || {
        let report = inside(of_threads(1), |runtime| {
            for i in 0..10 {
                assert_eq!(task::run(move || i).join().unwrap(), i);
            }
            runtime.shutdown_blocking()
        });
        assert_eq!(report.dropped, 0);
    });
}

#[test]
fn what_many_threads_have_brought_to_a_large_pool_is_counted_and_dropped_while_its_workers_are_kept()
 {
    const WORKERS: usize = 40;
    within(60, || {
        let builder = Runtime::builder().workers(WORKERS).max_threads(WORKERS);
        let runtime = builder.build().expect("the numbers are right");
        let (kept, begun) = (Arc::new(RwLock::new(())), Arc::new(AtomicUsize::new(0)));
        // Let go at the end, also of a test that fails.
        let keeps = kept.write().unwrap();
        let keep = |_| {
            let (kept, begun) = (Arc::clone(&kept), Arc::clone(&begun));
            task::run(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                drop(kept.read());
            })
        };
        let entered = runtime.enter();
        (0..WORKERS).map(keep).for_each(drop);
        let is_everyone_kept = || begun.load(Ordering::SeqCst) == WORKERS;
        wait_until("all workers are kept", is_everyone_kept);
        drop(entered);
        let ledger = Ledger::new(24);
        let bring = |priority, thing| {
            let _entered = runtime.enter();
            let builder = task::Builder::new().priority(priority);
            builder.run(move || drop(thing))
        };
        let priorities = [
            Priority::Interactive,
            Priority::Normal,
            Priority::Background,
        ];
        let handles: Vec<_> = thread::scope(|s| {
            let things = priorities.into_iter().cycle().zip(ledger.make_all());
            let spawn = |(priority, thing)| s.spawn(move || bring(priority, thing));
            let threads: Vec<_> = things.map(spawn).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert_eq!(runtime.metrics().queued_outside, 24);
        let shutdown = thread::spawn(move || runtime.shutdown_blocking());
        wait_until("all are dropped", || ledger.count_dropped() == 24);
        drop(keeps);
        assert_eq!(shutdown.join().unwrap().dropped, 24);
        for handle in handles {
            assert!(handle.join().unwrap_err().is_cancelled());
        }
        ledger.assert_settled();
    });
}

#[test]
fn a_shutdown_from_outside_accounts_for_every_task() {
    within(60, || {
        for round in 0..40 {
            let runtime = Runtime::builder().workers(1 + round % 3).build().unwrap();
            let ledger = Ledger::new(200);
            let ran = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = runtime.install(|| {
                let spawn = |thing| {
                    let ran = Arc::clone(&ran);
                    task::run(move || {
                        busy_micros(5);
                        ran.fetch_add(1, Ordering::SeqCst);
                        drop(thing);
                    })
                };
                ledger.make_all().into_iter().map(spawn).collect()
            });
            let report = runtime.shutdown_blocking();
            let ran = ran.load(Ordering::SeqCst);
            assert_eq!(ran + report.dropped, 200);
            let cancelled = handles.into_iter().filter_map(|handle| handle.join().err());
            assert_eq!(
                cancelled.filter(|error| error.is_cancelled()).count(),
                report.dropped
            );
            ledger.assert_settled();
        }
    });
}

#[test]
fn a_waiting_thread_gets_an_error_when_its_task_is_dropped() {
    within(60, || {
        let (send_handle, handle) = mpsc::channel();
        let waiting = Arc::new(AtomicBool::new(false));
        let is_waiting = Arc::clone(&waiting);
        let waiter = thread::spawn(move || {
            let handle: task::JoinHandle<()> = receive(&handle);
            is_waiting.store(true, Ordering::SeqCst);
            handle.join()
        });
        inside(of_threads(1), move |runtime| {
            send_handle.send(task::run(|| ())).unwrap();
            wait_until("the waiter waits", || waiting.load(Ordering::SeqCst));
            busy_micros(2_000);
            runtime.shutdown_blocking();
        });
        assert!(waiter.join().unwrap().unwrap_err().is_cancelled());
    });
}

#[test]
fn running_tasks_are_finished_before_the_shutdown_ends() {
    within(60, || {
        for _ in 0..20 {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let finished = Arc::new(AtomicBool::new(false));
            let (started, has_started) = mpsc::channel();
            let theirs = Arc::clone(&finished);
            let handle = runtime.install(|| {
                task::run(move || {
                    started.send(()).unwrap();
                    busy_micros(3_000);
                    let sum: u64 = (0..10_000_u64).into_par_query().sum();
                    theirs.store(true, Ordering::SeqCst);
                    sum
                })
            });
            receive(&has_started);
            assert_eq!(runtime.shutdown_blocking().dropped, 0);
            assert!(finished.load(Ordering::SeqCst));
            assert_eq!(handle.join().unwrap(), 49_995_000);
        }
    });
}

/// Calls a closure when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn what_a_destructor_spawns_while_its_runtime_ends_never_runs() {
    within(60, || {
        for round in 0..40 {
            let runtime = Runtime::builder().workers(2).build().unwrap();
            let (started, has_started) = mpsc::channel();
            let (spawned, all_spawned) = mpsc::channel();
            let spawns = OnDrop(move || {
                let closure = task::run(|| "a closure has run");
                spawned.send(closure).expect("the test waits for it");
            });
            let waiting = runtime.install(|| {
                task::spawn(async move {
                    let _spawns = spawns;
                    started.send(()).unwrap();
                    std::future::pending::<()>().await;
                })
            });
            receive(&has_started);
            if round % 2 == 0 {
                // The closing thread drops the future, where a worker may come first otherwise.
                wait_until("the worker sleeps", || {
                    let metrics = runtime.metrics();
                    metrics.asleep == metrics.threads
                });
            }
            runtime.shutdown_blocking();
            assert!(waiting.join().unwrap_err().is_cancelled());
            assert!(receive(&all_spawned).join().unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn a_task_of_any_priority_that_is_spawned_into_a_runtime_that_has_ended_is_cancelled() {
    for priority in [
        Priority::Normal,
        Priority::Interactive,
        Priority::Background,
    ] {
        within(60, move || {
            let runtime = of_threads(2);
            let handle = runtime.handle();
            let (entered, has_entered) = mpsc::channel();
            let (go, gone) = mpsc::channel();
            let outside = thread::spawn(move || {
                handle.block_on(async move {
                    // A scope gives the thread a slot of the runtime.
                    let spawned = manyhands::scope(|_| {
                        entered.send(()).unwrap();
                        receive(&gone);
                        task::Builder::new().priority(priority).spawn(async {})
                    });
                    spawned.await
                })
            });
            receive(&has_entered);
            drop(runtime);
            go.send(()).unwrap();
            let error = outside.join().unwrap().unwrap_err();
            assert!(error.is_cancelled());
        });
    }
}

#[test]
fn a_destructor_may_spawn_into_its_scope_while_the_runtime_ends() {
    for workers in [1, 2, 8] {
        within(60, move || {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (started, has_started) = mpsc::channel();
            let of_scope = move || {
                task::scope_blocking(|scope| {
                    scope.spawn(async move {
                        let _spawns = OnDrop(|| scope.spawn(std::future::pending()));
                        started.send(()).unwrap();
                        std::future::pending::<()>().await;
                    });
                });
            };
            let waiting = runtime.install(|| task::run(of_scope));
            receive(&has_started);
            runtime.shutdown_blocking();
            waiting.join().expect("its scope has ended");
        });
    }
}

/// Says that it is dropped, and waits meanwhile.
struct Waits(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.0.send(());
        task::blocking(|| receive(&self.1));
    }
}

#[test]
fn a_runtime_ends_though_a_worker_that_is_not_needed_waits_in_a_destructor_after_it_has_left() {
    for _ in 0..10 {
        within(60, || {
            let (say, dropped) = mpsc::channel();
            let (let_go, gate) = mpsc::channel();
            let (end, ended) = mpsc::channel();
            let waits = Mutex::new(Some(Waits(say, gate)));
            let hook = move |_| match waits.lock().unwrap().take() {
                Some(waits) => drop(task::spawn_local(async move { drop(waits) })),
                None => end.send(()).unwrap(),
            };
            let builder = Runtime::builder().workers(1).on_thread_stop(hook);
            let runtime = builder.thread_keep_alive(Duration::ZERO).build().unwrap();
            let inner = || task::spawn(async {}).join().unwrap();
            // Another thread runs the inner one, and one of both leaves.
            runtime.install(|| task::run(inner)).join().unwrap();
            receive(&dropped);
            drop(runtime.shutdown_background());
            (0..200).for_each(|_| thread::yield_now());
            let_go.send(()).unwrap();
            receive(&ended);
        });
    }
}

#[test]
fn dropping_an_unused_runtime_does_nothing() {
    within(60, || {
        let runtime = Runtime::builder().workers(1_024).build().unwrap();
        assert_eq!(runtime.threads(), 0);
        drop(runtime);
        let unused = Runtime::builder().workers(3).build().unwrap();
        assert_eq!(unused.shutdown_blocking().dropped, 0);
    });
}

#[test]
fn a_runtime_may_be_dropped_inside_one_of_its_own_tasks() {
    within(60, || {
        for round in 0..30 {
            let runtime = Runtime::builder().workers(1 + round % 3).build().unwrap();
            inside(runtime, drop);
        }
    });
}

#[test]
fn a_task_may_go_on_working_after_it_dropped_its_runtime() {
    within(60, || {
        let (sum, child, queued) = inside(of_threads(1), |runtime| {
            drop(runtime);
            let sum: u64 = (0..10_000_u64).into_par_query().sum();
            let (a, b) = manyhands::join(|| 1, || 2);
            let mut spawned = 0;
            manyhands::scope(|s| s.spawn(|_| spawned = 3));
            let child = task::run(|| 4).join().unwrap();
            (sum, a + b + spawned + child, task::run(|| 5))
        });
        assert_eq!((sum, child), (49_995_000, 10));
        // No thread is left to run it, so it is dropped when the last thread leaves.
        wait_until("the task is dropped", || queued.is_finished());
        assert!(queued.join().unwrap_err().is_cancelled());
    });
}

#[test]
fn a_runtime_may_be_dropped_inside_a_task_of_another() {
    within(60, || {
        let (first, second) = (of_threads(1), of_threads(1));
        inside(first, move |first| {
            assert!(second.install(where_tasks_run).starts_with("manyhands-"));
            drop(second);
            assert_eq!(first.shutdown_blocking().dropped, 0);
        });
    });
}

#[test]
fn a_runtime_may_be_dropped_by_the_closure_of_a_dropped_task() {
    within(60, || {
        let (outer, inner) = (of_threads(1), of_threads(1));
        inside(outer, move |outer| {
            drop(task::run(move || drop(inner)));
            outer.shutdown_blocking();
        });
    });
}

#[test]
fn a_result_is_kept_for_its_handle_when_the_runtime_is_gone() {
    within(60, || {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let handle = runtime.install(|| task::run(|| String::from("kept")));
        wait_until("the task has run", || handle.is_finished());
        drop(runtime);
        assert_eq!(handle.join().unwrap(), "kept");
    });
}

#[test]
#[expect(clippy::mem_forget, reason = "that is what is tested")]
fn a_forgotten_guard_does_not_outlive_its_runtime() {
    // Forgetting a guard is safe code: afterwards any runtime may be the current one, but a live one.
    within(60, || {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        std::mem::forget(runtime.enter());
        drop(runtime);
        let filler: Vec<Vec<u8>> = (0..64).map(|size| vec![0xAA; 64 * size]).collect();
        let ran = AtomicUsize::new(0);
        parallel::for_each(0..1_000, |_| {
            ran.fetch_add(1, Ordering::SeqCst);
        });
        let (a, b) = manyhands::join(|| 1, || 2);
        assert_eq!((ran.into_inner(), a + b, filler.len()), (1_000, 3, 64));
    });
}

#[test]
fn guards_dropped_in_the_wrong_order_do_not_outlive_their_runtimes() {
    within(60, || {
        let first = Runtime::builder().workers(2).build().unwrap();
        let second = Runtime::builder().workers(2).build().unwrap();
        let (entered_first, entered_second) = (first.enter(), second.enter());
        drop(entered_first);
        drop(entered_second);
        drop(first);
        let filler: Vec<Vec<u8>> = (0..64).map(|size| vec![0xAA; 64 * size]).collect();
        let sum: u64 = (0..10_000_u64).into_par_query().sum();
        assert_eq!((sum, filler.len()), (49_995_000, 64));
        drop(second);
    });
}

#[test]
fn a_guard_that_outlives_the_call_it_was_made_in_does_no_harm() {
    within(60, || {
        let (first, second) = (named("first", 2), named("second", 2));
        let guard = first.install(|| second.enter());
        drop(guard);
        // The place taken by `install` was left with it, and nothing brings it back.
        assert!(where_tasks_run().starts_with("manyhands-"));
        let guard = first.install(|| manyhands::scope(|_| first.enter()));
        drop(guard);
        assert!(where_tasks_run().starts_with("manyhands-"));
        drop((first, second));
        let filler: Vec<Vec<u8>> = (0..64).map(|size| vec![0xAA; 64 * size]).collect();
        let (a, b) = manyhands::join(|| 1, || 2);
        assert_eq!((a + b, filler.len()), (3, 64));
        assert!(where_tasks_run().starts_with("manyhands-"));
    });
}
