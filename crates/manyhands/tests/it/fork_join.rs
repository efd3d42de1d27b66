//! Fork-join: results, panics, liveness, locks held across calls, depth.

use crate::support::{
    LIMIT_SECS, Ledger, attempt_until, blow, busy_micros, message_of, on, on_each_runtime,
    on_runtime, panics_of, receive, wait_until,
};
use manyhands::parallel::Options;
use manyhands::{Runtime, join, scope, task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

fn tree_sum(numbers: &[u64]) -> u64 {
    if numbers.len() <= 3 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 3);
    let (left, right) = join(|| tree_sum(left), || tree_sum(right));
    left + right
}

#[test]
fn both_results_come_back_and_may_borrow() {
    on_each_runtime(|runtime| {
        let numbers: Vec<u64> = (0..20_000).collect();
        runtime.install(|| assert_eq!(tree_sum(&numbers), 199_990_000));
        let _entered = runtime.enter();
        assert_eq!(tree_sum(&numbers), 199_990_000);
        let (mut a, mut b) = (String::new(), vec![0; 3]);
        let lengths = join(
            || {
                a.push('x');
                a.len()
            },
            || {
                b.push(1);
                b.len()
            },
        );
        assert_eq!((lengths, a.as_str(), b.len()), ((1, 4), "x", 4));
    });
}

#[test]
fn the_second_closure_can_be_run_by_another_thread() {
    on_runtime(2, |runtime| {
        runtime.install(|| {
            attempt_until("two threads", || {
                let here = || {
                    busy_micros(300);
                    thread::current().id()
                };
                let (a, b) = join(here, here);
                assert_eq!(a, thread::current().id());
                a != b
            });
        });
    });
}

#[test]
fn a_panic_of_either_closure_goes_on() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for micros in [0, 0, 200, 200] {
                let fine = || busy_micros(micros);
                let payloads = panics_of(|| join(|| blow("a"), fine));
                assert_eq!(message_of(&payloads[0]), "a");
                let payloads = panics_of(|| {
                    join(fine, || {
                        busy_micros(micros);
                        blow("b")
                    })
                });
                assert_eq!(message_of(&payloads[0]), "b");
                let payloads = panics_of(|| {
                    join(
                        || {
                            busy_micros(micros);
                            blow("a")
                        },
                        || blow("b"),
                    )
                });
                assert_eq!(payloads.iter().map(message_of).collect::<Vec<_>>(), ["a"]);
            }
        });
    });
}

#[test]
fn the_second_closure_has_ended_or_never_begins_when_the_first_panics() {
    on_runtime(3, |runtime| {
        runtime.install(|| {
            for round in 0..300 {
                let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
                panics_of(|| {
                    join(
                        || {
                            busy_micros(round % 60);
                            blow("a")
                        },
                        || {
                            begun.store(true, Ordering::SeqCst);
                            busy_micros(30);
                            ended.store(true, Ordering::SeqCst);
                        },
                    )
                });
                assert_eq!(begun.into_inner(), ended.into_inner());
            }
        });
    });
}

#[test]
fn closures_and_results_are_dropped_once_whatever_panics() {
    on_runtime(3, |runtime| {
        runtime.install(|| {
            let ledger = Ledger::new(4);
            for round in 0..400 {
                let (a, b) = (ledger.make(0), ledger.make(1));
                panics_of(|| {
                    join(
                        || {
                            let _a = a;
                            busy_micros(round % 40);
                            if round % 4 < 2 {
                                blow("a");
                            }
                            ledger.make(2)
                        },
                        || {
                            let _b = b;
                            busy_micros(20);
                            if round % 4 % 2 == 0 {
                                blow("b");
                            }
                            ledger.make(3)
                        },
                    )
                });
                ledger.assert_settled();
            }
        });
    });
}

#[test]
fn panics_deep_in_a_tree_reach_the_root() {
    fn tree(depth: u32, path: u32) {
        if depth == 0 {
            if path == 0b0110_1101 {
                blow(path);
            }
            return busy_micros(3);
        }
        join(
            || tree(depth - 1, path << 1),
            || tree(depth - 1, path << 1 | 1),
        );
    }
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for _ in 0..10 {
                let payload = catch_unwind(AssertUnwindSafe(|| tree(8, 0))).unwrap_err();
                assert_eq!(payload.downcast_ref::<u32>(), Some(&0b0110_1101));
            }
        });
    });
}

/// The first closure blocks until the second one, which another thread must take, has spoken.
fn first_waits_for_second() {
    let (speak, spoken) = mpsc::channel();
    let (heard, ()) = join(
        move || receive(&spoken),
        move || speak.send(7).unwrap_or(()),
    );
    assert_eq!(heard, 7);
}

#[test]
fn the_second_closure_runs_elsewhere_while_the_first_waits_for_it_from_outside() {
    for workers in [1, 2] {
        on_runtime(workers, |runtime| {
            for _ in 0..10 {
                runtime.install(first_waits_for_second);
                let _entered = runtime.enter();
                first_waits_for_second();
            }
        });
    }
}

#[test]
fn the_second_closure_runs_elsewhere_while_the_first_waits_for_it_in_a_task() {
    for workers in [1, 2] {
        on_runtime(workers, |runtime| {
            for _ in 0..10 {
                let (done, is_done) = mpsc::channel();
                runtime.install(|| {
                    drop(task::run(move || {
                        first_waits_for_second();
                        done.send(()).unwrap();
                    }));
                });
                receive(&is_done);
            }
        });
    }
}

#[test]
fn a_wait_deep_in_nested_joins_is_served_too() {
    for workers in [1, 2] {
        on_runtime(workers, |runtime| {
            let (speak, spoken) = mpsc::channel();
            runtime.install(|| {
                join(
                    move || join(move || join(move || receive(&spoken), || ()), || ()),
                    || {
                        join(|| (), || join(|| (), move || speak.send(()).unwrap()));
                    },
                );
            });
        });
    }
}

#[test]
fn scopes_and_tasks_are_served_while_their_spawner_waits_for_them() {
    for workers in [1, 2] {
        on_runtime(workers, |runtime| {
            runtime.install(|| {
                let (speak, spoken) = mpsc::channel();
                scope(|s| {
                    s.spawn(move |_| speak.send(1).unwrap());
                    assert_eq!(receive(&spoken), 1);
                });
                let (speak, spoken) = mpsc::channel();
                drop(task::run(move || {
                    let (inner, heard) = mpsc::channel();
                    drop(task::run(move || inner.send(2).unwrap()));
                    speak.send(receive(&heard)).unwrap();
                }));
                assert_eq!(receive(&spoken), 2);
            });
        });
    }
}

#[test]
fn a_task_runs_while_an_external_thread_that_takes_the_only_slot_waits_for_it() {
    // No other call has made the monitor watch the waiting thread.
    on_runtime(1, |runtime| {
        let (speak, spoken) = mpsc::channel();
        runtime.install(|| {
            drop(task::run(move || speak.send(1)));
            assert_eq!(receive(&spoken), 1);
        });
    });
}

/// Many tasks want one lock and hold it across `call`; see the issue on rayon's scheduler and mutexes.
fn check_lock_across(call: impl Fn() + Send + Sync + 'static) {
    let call = Arc::new(call);
    for workers in [1, 2, 3] {
        let call = Arc::clone(&call);
        on_runtime(workers, move |runtime| {
            let lock = Arc::new(Mutex::new(0));
            let handles: Vec<_> = runtime.install(|| {
                let start = || {
                    let (lock, call) = (Arc::clone(&lock), Arc::clone(&call));
                    task::run(move || {
                        let mut held = lock.lock().unwrap();
                        call();
                        *held += 1;
                    })
                };
                (0..60).map(|_| start()).collect()
            });
            runtime.install(|| {
                let mut held = lock.lock().unwrap();
                call();
                *held += 1;
            });
            handles
                .into_iter()
                .for_each(|handle| handle.join().unwrap());
            assert_eq!(*lock.lock().unwrap(), 61);
        });
    }
}

#[test]
fn a_lock_may_be_held_across_join() {
    check_lock_across(|| {
        join(
            || busy_micros(100),
            || join(|| busy_micros(100), || busy_micros(100)),
        );
    });
}

#[test]
fn a_lock_may_be_held_across_a_loop() {
    check_lock_across(|| {
        manyhands::parallel::for_each(&mut [0; 40], |n| {
            busy_micros(10);
            *n += 1;
        });
        let all = manyhands::parallel::from_iter(0..40);
        manyhands::parallel::for_each(all, |_| busy_micros(10));
    });
}

#[test]
fn a_lock_may_be_held_across_a_scope() {
    check_lock_across(|| {
        scope(|s| {
            for _ in 0..10 {
                s.spawn(|s| {
                    busy_micros(20);
                    s.spawn(|_| busy_micros(20));
                });
            }
        });
    });
}

#[test]
fn a_lock_may_be_held_across_invoke() {
    check_lock_across(|| {
        let closure = || busy_micros(50);
        manyhands::parallel::invoke((closure, closure, closure));
    });
}

#[test]
fn a_lock_held_across_a_join_may_be_taken_in_bodies_of_an_outer_loop() {
    on_each_runtime(|runtime| {
        let lock = Mutex::new(0);
        Options::new().runtime(runtime).for_each(0..60, |_| {
            let mut held = lock.lock().unwrap();
            let (a, b) = join(|| tree_sum(&[1; 50]), || tree_sum(&[1; 50]));
            *held += a + b;
        });
        assert_eq!(lock.into_inner().unwrap(), 6_000);
    });
}

/// While a thread waits for the rest of a call, it runs nothing that does not belong to the call: it might
/// want a lock that the thread holds.
///
/// `call` calls the first closure it is given in place; the second one must be run elsewhere.
fn check_waits_alone(call: impl Fn(&(dyn Fn() + Sync), &(dyn Fn() + Sync)) + Send + 'static) {
    on_runtime(2, move |runtime| {
        for _ in 0..15 {
            runtime.install(|| {
                let (holder, holding) = (thread::current().id(), Arc::new(AtomicBool::new(true)));
                let (handles, begun) = (Mutex::new(Vec::new()), AtomicBool::new(false));
                let spawn = || {
                    let holding = Arc::clone(&holding);
                    let handle = task::run(move || {
                        thread::current().id() == holder && holding.load(Ordering::SeqCst)
                    });
                    handles.lock().unwrap().push(handle);
                };
                let first = || {
                    wait_until("the second has begun", || begun.load(Ordering::SeqCst));
                    spawn();
                    thread::scope(|threads| {
                        threads.spawn(|| {
                            let _entered = runtime.enter();
                            spawn();
                        });
                    });
                };
                let second = || {
                    begun.store(true, Ordering::SeqCst);
                    // So long that the first one waits, with both threads of the runtime taken.
                    busy_micros(10_000);
                };
                call(&first, &second);
                holding.store(false, Ordering::SeqCst);
                for handle in handles.into_inner().unwrap() {
                    assert!(!handle.join().unwrap(), "a task ran on top of the wait");
                }
            });
        }
    });
}

#[test]
fn a_thread_that_waits_for_a_join_runs_no_task() {
    check_waits_alone(|first, second| {
        join(first, second);
    });
}

#[test]
fn a_thread_that_waits_for_a_scope_runs_no_task() {
    check_waits_alone(|first, second| {
        scope(|s| {
            s.spawn(|_| second());
            first();
        });
    });
}

#[test]
fn a_thread_that_waits_for_a_loop_runs_no_task() {
    check_waits_alone(|first, second| {
        let both = manyhands::parallel::from_iter([first, second]).unbuffered();
        manyhands::parallel::for_each(both, |body| body());
    });
}

#[test]
fn a_thread_that_waits_for_a_task_runs_no_other() {
    check_waits_alone(|first, second| {
        // The task outlives neither closure, because it is waited for; so it gets its instructions by a channel.
        let (begin, may_begin) = mpsc::channel();
        let (done, is_done) = mpsc::channel::<()>();
        let handle = task::run(move || {
            begin.send(()).unwrap();
            receive(&is_done);
        });
        receive(&may_begin);
        thread::scope(|threads| {
            threads.spawn(|| {
                second();
                done.send(()).unwrap();
            });
            first();
            handle.join().unwrap();
        });
    });
}

/// Runs `work` on a thread with this stack size, on this runtime.
fn with_stack(runtime: &Runtime, bytes: usize, work: impl FnOnce() + Send) {
    thread::scope(|threads| {
        let builder = thread::Builder::new().stack_size(bytes);
        let big = builder.spawn_scoped(threads, || runtime.install(work));
        big.expect("there is memory for a stack")
            .join()
            .expect("the work succeeds");
    });
}

fn deep_left(depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let (below, one) = join(|| deep_left(depth - 1), || 1);
    below + one
}

fn deep_right(depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    let (one, below) = join(|| 1, || deep_right(depth - 1));
    below + one
}

#[test]
fn a_linear_recursion_of_joins_needs_a_stack_in_proportion() {
    const BIG: usize = 512 << 20;
    // A sanitizer's frames are many times as large.
    const DEPTH: u32 = if cfg!(sanitized) { 5_000 } else { 100_000 };
    for workers in [1, 2, 3] {
        let builder = Runtime::builder().workers(workers).stack_size(BIG);
        on(builder.build().unwrap(), |runtime| {
            with_stack(runtime, BIG, || assert_eq!(deep_left(DEPTH), DEPTH));
            with_stack(runtime, BIG, || assert_eq!(deep_right(DEPTH), DEPTH));
        });
    }
}

#[test]
fn joins_inside_loops_inside_tasks_inside_scopes_give_their_results() {
    on_each_runtime(|runtime| {
        let total = Arc::new(AtomicUsize::new(0));
        runtime.install(|| {
            scope(|s| {
                for _ in 0..4 {
                    let total = Arc::clone(&total);
                    s.spawn(move |_| {
                        let handle = task::run(move || {
                            manyhands::parallel::for_each(0..50_usize, |i| {
                                let (a, b) = join(|| i, || 1);
                                total.fetch_add(a + b, Ordering::SeqCst);
                            });
                        });
                        handle.join().unwrap();
                    });
                }
            });
        });
        assert_eq!(total.load(Ordering::SeqCst), 4 * (1_225 + 50));
    });
}

#[test]
fn many_outside_threads_fork_at_once() {
    on_runtime(3, |runtime| {
        let numbers: Vec<u64> = (0..5_000).collect();
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    let _entered = runtime.enter();
                    for _ in 0..10 {
                        assert_eq!(tree_sum(&numbers), 12_497_500);
                    }
                });
            }
        });
    });
    const { assert!(LIMIT_SECS >= 20, "waits inside end before the watchdog's") };
}

#[test]
fn short_joins_in_a_row_are_shared_although_none_is_worth_a_wake() {
    if thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        return;
    }
    on_runtime(2, |runtime| {
        runtime.install(|| {
            attempt_until("one in five is shared", || {
                let before = runtime.metrics().steals;
                for _ in 0..100 {
                    join(|| busy_micros(20), || busy_micros(20));
                }
                runtime.metrics().steals - before >= 20
            });
        });
    });
}
