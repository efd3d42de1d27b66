//! Threads that block, declared and detected: other threads take over, and end afterwards.
//!
//! The bodies wait for one another with `std`'s primitives, which the pool does not see. They all end only if
//! enough threads are added.

use crate::support::{
    Board, attempt_until, busy_micros, of_threads, on, on_runtime, panics_of, receive, wait_until,
};
use manyhands::diagnostics::ThreadChangeReason;
use manyhands::query::prelude::*;
use manyhands::simulation::Simulation;
use manyhands::{Runtime, channel, join, parallel, scope, task};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// Tasks that wait until all of them have started.
fn meet(runtime: &Runtime, count: usize, declared: bool) {
    let barrier = Arc::new(Barrier::new(count));
    let start = || {
        let barrier = Arc::clone(&barrier);
        task::run(move || {
            let wait = || barrier.wait();
            (if declared {
                task::blocking(wait)
            } else {
                wait()
            })
            .is_leader()
        })
    };
    let tasks: Vec<_> = runtime.install(|| (0..count).map(|_| start()).collect());
    let leaders = tasks
        .into_iter()
        .filter_map(|task| task.join().unwrap().then_some(()));
    assert_eq!(leaders.count(), 1);
}

/// As many as block, those that run beside them, and two that are ahead.
fn threads_for(blocked: usize, workers: usize) -> usize {
    blocked + workers + 2
}

#[test]
fn a_crowd_that_blocks_without_a_word_is_met_by_as_many_threads() {
    for workers in [1, 2, 8] {
        on_runtime(workers, move |runtime| {
            meet(runtime, 64 + workers, false);
            let metrics = runtime.metrics();
            assert!(metrics.started_for_detected > 0, "{metrics:?}");
            assert!(threads_for(64 + workers, workers) >= runtime.threads());
            wait_until("nobody is blocked", || {
                runtime.metrics().detected_blocked == 0
            });
        });
    }
}

#[test]
fn a_crowd_that_declares_blocking_gets_as_many_threads() {
    for workers in [1, 2, 8] {
        on_runtime(workers, move |runtime| {
            meet(runtime, 64 + workers, true);
            assert!(runtime.metrics().started_for_declared > 0);
            let threads = runtime.threads();
            assert!(threads_for(64 + workers, workers) >= threads, "{threads}");
            wait_until("nobody is blocked", || runtime.metrics().blocked == 0);
        });
    }
}

#[test]
fn what_does_not_block_is_run_before_the_rest_of_a_crowd_that_does() {
    for declared in [false, true] {
        // Far fewer threads than would block.
        let runtime = Runtime::builder().workers(1).max_threads(4).build();
        on(runtime.unwrap(), move |runtime| {
            let _entered = runtime.enter();
            let all_are_queued = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&all_are_queued);
            // Computes, so that no thread replaces it.
            let first = task::run(move || {
                while !seen.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            });
            let gate = Arc::new(Mutex::new(()));
            let closed = gate.lock().unwrap();
            let crowd: Vec<_> = (0..20)
                .map(|_| {
                    let gate = Arc::clone(&gate);
                    let wait = move || drop(gate.lock().unwrap());
                    task::run(move || {
                        if declared {
                            task::blocking(wait);
                        } else {
                            wait();
                        }
                    })
                })
                .collect();
            let (ran, has_run) = mpsc::channel();
            let other = task::run(move || ran.send(()).unwrap());
            all_are_queued.store(true, Ordering::SeqCst);
            receive(&has_run);
            drop(closed);
            for task in crowd {
                task.join().unwrap();
            }
            first.join().unwrap();
            other.join().unwrap();
        });
    }
}

#[test]
fn a_thread_that_declares_blocking_is_counted_once_and_until_it_returns() {
    on_runtime(1, |runtime| {
        let result = runtime.install(|| {
            let task = task::run(|| {
                task::blocking(|| {
                    // Whatever it does inside, it still counts as blocked, and once.
                    let inner = task::blocking(|| 1);
                    let (a, b) = join(|| 2, || 3);
                    let sum: usize = (0..4_usize).into_par_query().sum();
                    inner + a + b + sum + task::run(|| 4).join().unwrap()
                })
            });
            task.join().unwrap()
        });
        assert_eq!(result, 16);
        wait_until("nobody is blocked", || runtime.metrics().blocked == 0);
    });
}

#[test]
fn a_panic_passes_through_and_the_worker_counts_again() {
    on_runtime(1, |runtime| {
        let task = runtime.install(|| task::run(|| task::blocking(|| crate::support::blow("no"))));
        let error: Result<(), _> = task.join();
        assert!(error.unwrap_err().is_panic());
        wait_until("nobody is blocked", || runtime.metrics().blocked == 0);
        let panics = panics_of(|| runtime.install(|| task::blocking(|| crate::support::blow(7))));
        assert_eq!(panics.len(), 1);
        assert_eq!(runtime.metrics().blocked, 0);
    });
}

#[test]
fn outside_of_any_runtime_it_just_runs() {
    assert_eq!(task::blocking(|| 5), 5);
}

#[test]
fn in_a_simulation_it_just_runs() {
    let result = Simulation::new(7)
        .run(async { task::blocking(|| 5) })
        .unwrap();
    assert_eq!(result, 5);
}

#[test]
fn other_workers_take_the_queue_of_a_blocked_worker() {
    on_runtime(1, |runtime| {
        let outcome = runtime.install(|| {
            task::run(|| {
                let (sender, receiver) = mpsc::channel();
                // In this worker's own queue.
                drop(task::run(move || sender.send(9).unwrap()));
                task::blocking(|| receive(&receiver))
            })
        });
        assert_eq!(outcome.join().unwrap(), 9);
    });
}

#[test]
fn what_is_woken_while_its_waker_blocks_in_the_same_poll_is_run() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        let (sender, receiver) = mpsc::channel();
        let (wake, woken) = channel::bounded::<()>(1);
        let waiting = task::spawn(async move {
            woken.recv().await.unwrap();
            sender.send(3).unwrap();
        });
        let waker = task::spawn(async move {
            task::blocking(|| {
                wake.try_send(()).unwrap();
                receive(&receiver)
            })
        });
        assert_eq!(waker.join().unwrap(), 3);
        waiting.join().unwrap();
    });
}

#[test]
fn timers_of_a_worker_that_blocks_still_fire() {
    for declared in [false, true] {
        on_runtime(1, move |runtime| {
            let _entered = runtime.enter();
            let (fired, has_fired) = mpsc::channel();
            let (linked, is_linked) = mpsc::channel();
            let sleeper = task::spawn(async move {
                linked.send(()).unwrap();
                manyhands::time::sleep(Duration::from_millis(20)).await;
                fired.send(()).unwrap();
            });
            receive(&is_linked);
            let blocked = task::run(move || {
                let wait = || receive(&has_fired);
                if declared {
                    task::blocking(wait);
                } else {
                    wait();
                }
            });
            blocked.join().unwrap();
            sleeper.join().unwrap();
        });
    }
}

#[test]
fn closures_of_a_scope_may_wait_for_one_another() {
    on_runtime(2, |runtime| {
        let (barrier, leaders) = (Barrier::new(12), AtomicUsize::new(0));
        runtime.install(|| {
            scope(|s| {
                for _ in 0..12 {
                    s.spawn(|_| {
                        let is_leader = usize::from(barrier.wait().is_leader());
                        leaders.fetch_add(is_leader, Ordering::SeqCst);
                    });
                }
            });
        });
        assert_eq!(leaders.into_inner(), 1);
    });
}

#[test]
fn every_wait_of_this_library_lets_another_thread_run() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        // Each of these waits, on the only worker, for another thread.
        let (sender, receiver) = channel::bounded::<u32>(0);
        let received = task::run(move || receiver.recv_blocking().unwrap());
        let sent = task::run(move || sender.send_blocking(1).unwrap());
        sent.join().unwrap();
        assert_eq!(received.join().unwrap(), 1);
        let joined = task::run(|| task::run(|| 2).join().unwrap());
        assert_eq!(joined.join().unwrap(), 2);
        let blocked_on = task::run(|| task::block_on(task::spawn(async { 3 })).unwrap());
        assert_eq!(blocked_on.join().unwrap(), 3);
        let (awake, wake) = mpsc::channel();
        let slept = task::run(move || {
            drop(task::run(move || awake.send(()).unwrap()));
            manyhands::time::sleep_blocking(Duration::from_millis(1));
            receive(&wake);
        });
        slept.join().unwrap();
        let count = AtomicUsize::new(0);
        scope(|s| {
            let (first, second) = mpsc::channel();
            let count = &count;
            s.spawn(move |_| count.store(receive(&second), Ordering::SeqCst));
            s.spawn(move |_| first.send(4).unwrap());
        });
        assert_eq!(count.into_inner(), 4);
    });
}

/// Waits for a byte, as for a file or a socket.
fn read_byte(mut pipe: PipeReader) -> u8 {
    let mut byte = [0];
    pipe.read_exact(&mut byte).unwrap();
    byte[0]
}

#[test]
fn a_chain_of_pipes_and_locks_longer_than_the_pool_ends() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let lock = Arc::new(Mutex::new(0));
        let (mut previous, first): (PipeReader, PipeWriter) = std::io::pipe().unwrap();
        let mut tasks = Vec::new();
        for _ in 0..40 {
            let (next, mut writer) = std::io::pipe().unwrap();
            let reader = std::mem::replace(&mut previous, next);
            let lock = Arc::clone(&lock);
            tasks.push(task::run(move || {
                let byte = read_byte(reader);
                *lock.lock().unwrap() += 1;
                writer.write_all(&[byte + 1]).unwrap();
            }));
        }
        // Only now can a thread end, and only one after the other.
        let mut first = first;
        let start = task::run(move || first.write_all(&[0]).unwrap());
        assert_eq!(read_byte(previous), 40);
        start.join().unwrap();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(*lock.lock().unwrap(), 40);
    });
}

#[test]
fn threads_that_are_not_needed_any_more_end_and_start_again() {
    let builder = Runtime::builder().workers(2);
    let runtime = builder.thread_keep_alive(Duration::from_millis(5)).build();
    on(runtime.unwrap(), |runtime| {
        for declared in [false, true, false] {
            meet(runtime, 20, declared);
            wait_until("the pool is back at its size", || runtime.threads() == 2);
        }
        // A thread that has left is counted a moment later.
        wait_until("every thread that ended is counted", || {
            let metrics = runtime.metrics();
            metrics.threads_started - metrics.threads_ended == 2
        });
        let metrics = runtime.metrics();
        assert!(metrics.threads_ended >= 3 * 17, "{metrics:?}");
        wait_until("the others sleep", || runtime.metrics().asleep == 2);
        assert_eq!(runtime.metrics().threads, 2);
    });
}

#[test]
fn the_timers_of_a_thread_that_ends_still_fire() {
    let builder = Runtime::builder().workers(1);
    let runtime = builder.thread_keep_alive(Duration::ZERO).build();
    on(runtime.unwrap(), |runtime| {
        let _entered = runtime.enter();
        let threads = 12;
        let barrier = Arc::new(Barrier::new(threads));
        let start = || {
            let barrier = Arc::clone(&barrier);
            task::spawn(async move {
                // Each on another thread, all but one of which end before the time is over.
                barrier.wait();
                manyhands::time::sleep(Duration::from_millis(150)).await;
            })
        };
        let sleepers: Vec<_> = (0..threads).map(|_| start()).collect();
        sleepers.into_iter().for_each(|task| task.join().unwrap());
        wait_until("the threads end", || runtime.threads() == 1);
        assert_eq!(runtime.metrics().timers_fired, 12);
    });
}

#[test]
fn a_thread_that_hosts_tasks_of_its_own_does_not_end() {
    let builder = Runtime::builder().workers(1);
    let runtime = builder.thread_keep_alive(Duration::ZERO).build();
    on(runtime.unwrap(), |runtime| {
        let _entered = runtime.enter();
        let threads = 4;
        let barrier = Arc::new(Barrier::new(threads));
        let (wake, woken) = channel::unbounded::<()>();
        let start = || {
            let (barrier, woken) = (Arc::clone(&barrier), woken.clone());
            task::spawn(async move {
                barrier.wait();
                let external = task::spawn_local(async move { woken.recv().await.unwrap() });
                external.await.unwrap();
            })
        };
        let hosts: Vec<_> = (0..threads).map(|_| start()).collect();
        wait_until("all sleep", || {
            runtime.metrics().asleep == runtime.threads() && runtime.threads() <= threads
        });
        (0..threads).for_each(|_| wake.try_send(()).unwrap());
        hosts.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn every_change_of_the_number_of_threads_has_a_reason() {
    let builder = Runtime::builder().workers(2);
    let runtime = builder.thread_keep_alive(Duration::from_millis(5)).build();
    on(runtime.unwrap(), |runtime| {
        meet(runtime, 9, false);
        let count = |reason| {
            let changes = runtime.thread_changes();
            changes.iter().filter(|it| it.reason == reason).count()
        };
        // A thread that has left notes it a moment later, and several may leave at once.
        wait_until("every end of a thread is noted", || {
            let ended = count(ThreadChangeReason::TimedOut);
            ended >= 7 && runtime.thread_changes().len() == 2 + 2 * ended
        });
        let changes = runtime.thread_changes();
        let ended = count(ThreadChangeReason::TimedOut);
        assert_eq!(count(ThreadChangeReason::Warmup), 2, "{changes:?}");
        let found = count(ThreadChangeReason::BlockingDetected);
        assert_eq!(found, ended, "{changes:?}");
    });
}

#[test]
fn a_lock_whose_holder_waits_for_a_processor_adds_no_crowd_of_threads() {
    let (over, lock) = (AtomicBool::new(false), Mutex::new(0_u64));
    thread::scope(|threads| {
        // More than the machine has processors for.
        for _ in 0..4 * thread::available_parallelism().unwrap().get() {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    busy_micros(100);
                }
            });
        }
        let runtime = Runtime::builder().workers(2).build().unwrap();
        runtime.install(|| {
            parallel::for_each(0..600_000, |_| {
                *lock.lock().unwrap() += 1;
                busy_micros(1);
            });
        });
        over.store(true, Ordering::Relaxed);
        assert_eq!(*lock.lock().unwrap(), 600_000);
        let started = runtime.metrics().threads_started;
        assert!(started <= 2 + 4, "{started} threads");
    });
}

#[test]
fn a_long_job_on_the_only_worker_is_recorded_with_its_call_site() {
    on_runtime(1, |runtime| {
        let _entered = runtime.enter();
        attempt_until("the computation is noted", || {
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = Arc::clone(&stop);
            let computing = task::run(move || {
                while !stopped.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            });
            // It is run at once where it is known to be short, so it says nothing of the computation.
            let behind = task::run(|| ());
            let here = computing.location().line();
            let is_noted = crate::support::holds_within(Duration::from_secs(5), || {
                let jobs = runtime.long_jobs();
                let noted = |job: &manyhands::diagnostics::LongJob| {
                    job.task.is_some_and(|at| at.line() == here)
                };
                jobs.iter().any(noted)
            });
            stop.store(true, Ordering::SeqCst);
            computing.join().unwrap();
            behind.join().unwrap();
            is_noted && runtime.metrics().long_jobs > 0
        });
    });
}

#[test]
fn work_behind_computations_that_wait_for_it_is_run_at_last() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let released = Arc::new(AtomicBool::new(false));
        let spin = || {
            let released = Arc::clone(&released);
            task::run(move || {
                while !released.load(Ordering::SeqCst) {
                    std::hint::spin_loop();
                }
            })
        };
        // These never sleep, so they are not blocked; but they do not end without the third.
        let spinning = [spin(), spin()];
        let releasing = {
            let released = Arc::clone(&released);
            task::run(move || released.store(true, Ordering::SeqCst))
        };
        wait_until("the third is run", || releasing.is_finished());
        spinning.into_iter().for_each(|task| task.join().unwrap());
        releasing.join().unwrap();
    });
}

#[test]
fn what_waits_in_queues_is_counted() {
    on(of_threads(1), |runtime| {
        let _entered = runtime.enter();
        let events = Arc::new(Board::new(2));
        let theirs = Arc::clone(&events);
        let blocked = task::run(move || {
            let own: Vec<_> = (0..3).map(|i| task::run(move || i)).collect();
            theirs.happens(0);
            theirs.wait_for(1);
            own.len()
        });
        events.wait_for(0);
        let others: Vec<_> = (0..5).map(|i| task::run(move || i)).collect();
        let metrics = runtime.metrics();
        assert_eq!((metrics.queued, metrics.queued_outside), (3, 5));
        events.happens(1);
        assert_eq!(blocked.join().unwrap(), 3);
        others.into_iter().for_each(|task| drop(task.join()));
        wait_until("the queues are empty", || {
            let metrics = runtime.metrics();
            metrics.queued + metrics.queued_outside == 0
        });
    });
}
