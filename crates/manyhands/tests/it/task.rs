//! Tasks and their handles.

use crate::support::{
    Ledger, blow, busy_micros, message_of, of_threads, on, on_each_runtime, on_runtime, receive,
    wait_until,
};
use manyhands::{Runtime, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

#[test]
fn a_result_comes_back_through_the_handle() {
    on_each_runtime(|runtime| {
        let from_outside = runtime.install(|| task::run(|| vec![1, 2, 3]));
        assert_eq!(from_outside.join().unwrap(), [1, 2, 3]);
        runtime.install(|| {
            let nested = task::run(|| {
                task::run(|| task::run(|| 7).join().unwrap())
                    .join()
                    .unwrap()
            });
            assert_eq!(nested.join().unwrap(), 7);
        });
        let nothing = runtime.install(|| task::run(|| ()));
        nothing.join().unwrap();
    });
}

#[test]
fn a_panic_comes_back_through_the_handle() {
    on_each_runtime(|runtime| {
        let handle = runtime.install(|| task::run(|| blow(vec![1, 2])));
        let error: task::JoinError = match handle.join() {
            Ok(never) => never,
            Err(error) => error,
        };
        assert!(error.is_panic() && !error.is_cancelled());
        let payload = error.try_into_panic().unwrap();
        assert_eq!(*payload.downcast::<Vec<i32>>().unwrap(), [1, 2]);
        let handle = runtime.install(|| task::run(|| -> u8 { blow("oh dear") }));
        let error = handle.join().unwrap_err();
        assert_eq!(error.to_string(), "the task panicked: oh dear");
        assert_eq!(format!("{error:?}"), error.to_string());
        assert_eq!(message_of(&error.try_into_panic().unwrap()), "oh dear");
    });
}

#[test]
fn a_task_whose_handle_is_dropped_runs_all_the_same() {
    on_each_runtime(|runtime| {
        let (sender, receiver) = mpsc::channel();
        runtime.install(|| {
            for i in 0..100 {
                let sender = sender.clone();
                drop(task::run(move || sender.send(i).unwrap()));
            }
            for i in 100..200 {
                let sender = sender.clone();
                task::run_detached(move || sender.send(i).unwrap());
            }
        });
        let mut seen: Vec<_> = (0..200).map(|_| receive(&receiver)).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..200));
    });
}

#[test]
fn a_detached_task_that_panics_does_no_harm() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for _ in 0..50 {
                drop(task::run(|| blow("unheard")));
                task::run_detached(|| blow("unheard"));
            }
            assert_eq!(task::run(|| 1).join().unwrap(), 1);
        });
    });
}

#[test]
fn is_finished_tells_when_a_task_has_ended() {
    on_runtime(2, |runtime| {
        let (release, released) = mpsc::channel();
        let handle = runtime.install(|| task::run(move || receive(&released)));
        assert!(!handle.is_finished());
        let debug = format!("{handle:?}");
        assert!(debug.starts_with("JoinHandle {") && debug.ends_with("is_finished: false }"));
        release.send(5).unwrap();
        wait_until("the task has ended", || handle.is_finished());
        assert_eq!(handle.join().unwrap(), 5);
        let handle = runtime.install(|| task::run(|| blow("panicked")));
        wait_until("the task has ended", || handle.is_finished());
        drop(handle);
    });
}

#[test]
fn the_only_worker_runs_a_queued_task_that_it_waits_for_in_place() {
    on(of_threads(1), |runtime| {
        let (sender, receiver) = mpsc::channel();
        runtime.install(|| {
            drop(task::run(move || {
                let here = thread::current().id();
                let newest_first: Vec<_> = (0..20)
                    .map(|i| task::run(move || (i, thread::current().id())))
                    .collect();
                for (i, handle) in newest_first.into_iter().enumerate().rev() {
                    assert_eq!(handle.join().unwrap(), (i, here));
                }
                sender.send(()).unwrap();
            }));
        });
        receive(&receiver);
    });
}

#[test]
fn a_deep_chain_of_waiting_tasks_ends_on_one_worker() {
    fn chain(depth: u32) -> u32 {
        if depth == 0 {
            return 0;
        }
        task::run(move || chain(depth - 1)).join().unwrap() + 1
    }
    on_each_runtime(|runtime| {
        runtime.install(|| assert_eq!(task::run(|| chain(200)).join().unwrap(), 200));
    });
}

#[test]
fn a_handle_may_be_waited_for_on_a_thread_of_no_runtime_and_on_another_runtimes() {
    on_runtime(2, |runtime| {
        let spawn = || {
            runtime.install(|| {
                task::run(|| {
                    busy_micros(300);
                    9
                })
            })
        };
        for _ in 0..30 {
            let handle = spawn();
            assert_eq!(
                thread::spawn(move || handle.join().unwrap())
                    .join()
                    .unwrap(),
                9
            );
        }
        let other = Runtime::builder().workers(2).build().unwrap();
        for _ in 0..30 {
            let handle = spawn();
            assert_eq!(other.install(|| handle.join().unwrap()), 9);
            let handle = spawn();
            let waiting = other.install(|| task::run(move || handle.join().unwrap()));
            assert_eq!(waiting.join().unwrap(), 9);
        }
    });
}

#[test]
fn of_many_tasks_from_many_threads_each_runs_exactly_once() {
    for workers in [1, 2, 8] {
        on_runtime(workers, |runtime| {
            let ran: Arc<Vec<AtomicUsize>> = Arc::new(crate::support::counters(100_000));
            thread::scope(|threads| {
                for part in 0..4 {
                    let ran = &ran;
                    threads.spawn(move || {
                        let _entered = runtime.enter();
                        for i in part * 25_000..(part + 1) * 25_000 {
                            let ran = Arc::clone(ran);
                            drop(task::run(move || {
                                ran[i].fetch_add(1, Ordering::SeqCst);
                            }));
                        }
                    });
                }
            });
            wait_until("all have run", || {
                ran.iter().all(|ran| ran.load(Ordering::SeqCst) == 1)
            });
        });
    }
}

#[test]
fn of_many_tasks_from_inside_each_runs_exactly_once() {
    for workers in [1, 2, 8] {
        on_runtime(workers, |runtime| {
            let ran: Arc<Vec<AtomicUsize>> = Arc::new(crate::support::counters(40_000));
            runtime.install(|| {
                for part in 0..4 {
                    let ran = Arc::clone(&ran);
                    drop(task::run(move || {
                        for i in part * 10_000..(part + 1) * 10_000 {
                            let ran = Arc::clone(&ran);
                            drop(task::run(move || {
                                ran[i].fetch_add(1, Ordering::SeqCst);
                            }));
                        }
                    }));
                }
            });
            wait_until("all have run", || {
                ran.iter().all(|ran| ran.load(Ordering::SeqCst) == 1)
            });
        });
    }
}

#[test]
fn joined_results_add_up_from_several_threads() {
    on_runtime(3, |runtime| {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    runtime.install(|| {
                        let handles: Vec<_> =
                            (0..2_000_u64).map(|i| task::run(move || i)).collect();
                        let sum: u64 = handles
                            .into_iter()
                            .map(|handle| handle.join().unwrap())
                            .sum();
                        assert_eq!(sum, 1_999_000);
                    });
                });
            }
        });
    });
}

#[test]
fn closures_and_results_are_dropped_exactly_once() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(1_200);
        let mut handles = Vec::new();
        runtime.install(|| {
            for id in 0..400 {
                let (closure, results) = (ledger.make(id), Arc::clone(&ledger));
                let handle = task::run(move || {
                    let _closure = closure;
                    if id % 5 == 0 {
                        blow(results.make(800 + id));
                    }
                    results.make(400 + id)
                });
                match id % 3 {
                    0 => drop(handle),
                    1 => drop(handle.join()),
                    _ => handles.push(handle),
                }
            }
        });
        wait_until("all have ended", || {
            handles.iter().all(task::JoinHandle::is_finished) && ledger.count_dropped() >= 400
        });
        drop(handles);
        // A task whose handle was dropped may still be about to drop its result.
        wait_until("all results are dropped", || ledger.count_dropped() == 800);
        ledger.assert_settled();
    });
}

#[test]
fn a_result_whose_drop_panics_does_not_kill_a_worker() {
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            if !thread::panicking() {
                blow("dropped");
            }
        }
    }
    on(of_threads(1), |runtime| {
        runtime.install(|| {
            for _ in 0..10 {
                drop(task::run(|| Grenade));
            }
            assert_eq!(crate::which_runtime::where_tasks_run(), "manyhands-0");
        });
    });
}

#[test]
fn a_task_without_a_handle_that_nothing_can_wake_is_dropped_while_its_runtime_lives() {
    on_each_runtime(|runtime| {
        let held = Arc::new(());
        let theirs = Arc::clone(&held);
        let waiting = async move {
            let _theirs = theirs;
            std::future::pending::<()>().await;
        };
        drop(runtime.install(|| task::spawn(waiting)));
        wait_until("it is dropped", || Arc::strong_count(&held) == 1);
    });
}

#[test]
fn a_future_that_nothing_wakes_is_kept_by_its_abort_handle_and_dropped_with_it() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let ledger = Ledger::new(1);
        let thing = ledger.make_all();
        let waits = task::spawn(async move {
            let _kept = thing;
            std::future::pending::<()>().await;
        });
        let abort = waits.abort_handle();
        // The only worker has polled it then.
        task::run(|| ()).join().unwrap();
        drop(waits);
        task::run(|| ()).join().unwrap();
        assert_eq!((ledger.count_dropped(), abort.is_finished()), (0, false));
        drop(abort);
        wait_until("it is dropped", || ledger.count_dropped() == 1);
    });
}
