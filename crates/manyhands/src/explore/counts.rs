//! Programs that check the thread counts at their end: threads that leave, unnecessary wakes, external threads, and
//! ends of runtimes meanwhile.

use super::{Gate, outside, programs};
use crate::sync::thread;
use crate::task::{self, completion};
use crate::{Runtime, channel, join};
use manyhands_explore::{below, compute};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A pool whose threads leave as soon as there are more than may run.
fn pool_of_leaving_threads(workers: usize, threads_max: usize) -> Runtime {
    Runtime::builder()
        .workers(workers)
        .max_threads(threads_max)
        .thread_keep_alive(Duration::ZERO)
        .build()
        .expect("threads can be started")
}

/// Fails if a thread is counted as running, or a job as queued, when all work has ended.
#[track_caller]
fn assert_comes_to_rest(runtime: &Runtime) {
    let mut metrics = runtime.metrics();
    for _ in 0..POLLS {
        let running =
            metrics.working + metrics.searching + metrics.blocked + metrics.detected_blocked;
        if running + metrics.queued + metrics.queued_outside == 0 {
            return;
        }
        thread::sleep(POLL_INTERVAL);
        metrics = runtime.metrics();
    }
    panic!("still counted: {metrics:?}");
}

/// In half of the schedules the runtime's end begins while its threads are about to fall asleep or to leave.
#[track_caller]
fn rest_or_end_at_once(runtime: &Runtime) {
    if below(2) == 0 {
        assert_comes_to_rest(runtime);
    }
}

programs! {
    /// Threads that compensated for blocked ones leave while tasks arrive.
    threads_that_leave(NotNeeded) {
        let runtime = Arc::new(pool_of_leaving_threads(1, 3));
        let gate = Gate::default();
        let spawner = outside({
            let runtime = Arc::clone(&runtime);
            move || {
                let _entered = runtime.enter();
                for i in 0..3 {
                    compute(below(40_000));
                    assert_eq!(task::run(move || i).join().unwrap(), i);
                }
            }
        });
        let entered = runtime.enter();
        for _ in 0..2 {
            let gate = Gate::default();
            let its = gate.clone();
            let waiting = task::run(move || task::blocking(|| its.wait()));
            let opener = task::run(move || gate.open());
            opener.join().unwrap();
            waiting.join().unwrap();
        }
        let its = gate.clone();
        let late = task::run(move || task::blocking(|| its.wait()));
        gate.open();
        if below(2) == 0 {
            spawner.join().unwrap();
        } else {
            late.join().unwrap();
            spawner.join().unwrap();
        }
        drop(entered);
        rest_or_end_at_once(&runtime);
    }

    /// Threads that the monitor detects as blocked, threads that compensate for them and leave, and an end meanwhile.
    threads_that_leave_after_detected_blocking(Needed) {
        let runtime = pool_of_leaving_threads(1, 3);
        let entered = runtime.enter();
        let gate = Gate::default();
        let its = gate.clone();
        let waiting = task::run(move || its.wait());
        let opener = task::run(move || gate.open());
        opener.join().unwrap();
        if below(2) == 0 {
            waiting.join().unwrap();
        }
        let last = task::run(|| compute(below(20_000)));
        if below(2) == 0 {
            last.join().unwrap();
        }
        drop(entered);
        rest_or_end_at_once(&runtime);
    }

    /// A task that only one worker may run is woken from outside while that worker runs, falls asleep and ends,
    /// and other tasks arrive.
    local_tasks_woken_from_outside(NotNeeded) {
        let runtime = Arc::new(pool_of_leaving_threads(1, 1));
        let entered = runtime.enter();
        let (sender, receiver) = channel::bounded::<u32>(1);
        let hosting = task::run(move || {
            task::spawn_local(async move {
                let sum = Rc::new(std::cell::Cell::new(0));
                while let Ok(number) = receiver.recv().await {
                    sum.set(sum.get() + number);
                }
                sum.get()
            })
        });
        let waker = outside(move || {
            for i in 1..=8 {
                compute(below(3_000));
                let _ = sender.send_blocking(i);
            }
        });
        let spawner = outside({
            let runtime = Arc::clone(&runtime);
            move || {
                let _entered = runtime.enter();
                for i in 0..6 {
                    compute(below(3_000));
                    assert_eq!(task::run(move || i).join().unwrap(), i);
                }
            }
        });
        let local = hosting.join().unwrap();
        spawner.join().unwrap();
        if below(2) == 0 {
            assert_eq!(local.join().unwrap(), 36);
            waker.join().unwrap();
            drop(entered);
            rest_or_end_at_once(&runtime);
        } else {
            drop(entered);
            drop(runtime);
            let _ = local.join();
            waker.join().unwrap();
        }
    }

    /// A task that only one worker may run waits, is woken and dropped, all while the runtime ends.
    local_tasks_at_the_end(NotNeeded) {
        let runtime = pool_of_leaving_threads(1, 2);
        let entered = runtime.enter();
        let (completer, completion) = completion::<u32>();
        let gate = Gate::default();
        let its = gate.clone();
        let hosting = task::run(move || {
            task::spawn_local(async move {
                let number = Rc::new(completion.await);
                task::yield_now().await;
                number.is_ok()
            })
        });
        let blocking = task::run(move || task::blocking(|| its.wait()));
        let waker = outside(move || {
            compute(below(60_000));
            completer.complete(7);
        });
        let local = hosting.join().unwrap();
        gate.open();
        drop(entered);
        compute(below(60_000));
        drop(runtime);
        let _ = local.join();
        let _ = blocking.join();
        waker.join().unwrap();
    }

    /// External threads enter and leave, with tasks and forks, until the last of them ends the runtime.
    external_threads_until_the_end(NotNeeded) {
        let runtime = Arc::new(pool_of_leaving_threads(1, 3));
        let external = |number: u64| {
            let runtime = Arc::clone(&runtime);
            outside(move || {
                for _ in 0..2 {
                    let (a, b) = runtime.install(|| {
                        join(
                            || {
                                compute(below(30_000));
                                number
                            },
                            || {
                                let gate = Gate::default();
                                let its = gate.clone();
                                let task = task::run(move || its.open());
                                task::blocking(|| gate.wait());
                                task.join().unwrap();
                                1
                            },
                        )
                    });
                    assert_eq!((a, b), (number, 1));
                }
                let _entered = runtime.enter();
                task::run_detached(|| compute(5_000));
            })
        };
        let external_threads = [external(1), external(2)];
        let entered = runtime.enter();
        let task = task::run(|| compute(below(30_000)));
        drop(entered);
        let waits = below(2) == 0;
        if waits {
            task.join().unwrap();
            external_threads.into_iter().for_each(|external| external.join().unwrap());
            rest_or_end_at_once(&runtime);
        } else {
            drop(runtime);
            external_threads.into_iter().for_each(|external| external.join().unwrap());
            let _ = task.join();
        }
    }

    /// Tasks of two runtimes wake each other; one runtime ends before the other.
    runtimes_that_wake_each_other(NotNeeded) {
        let (one, other) = (pool_of_leaving_threads(1, 3), pool_of_leaving_threads(1, 2));
        let (ping, pings) = channel::bounded::<u32>(1);
        let (pong, pongs) = channel::bounded::<u32>(1);
        let server = one.install(|| {
            task::spawn(async move {
                while let Ok(number) = pings.recv().await {
                    if pong.send(number + 1).await.is_err() {
                        break;
                    }
                }
            })
        });
        let client = other.install(|| {
            task::spawn(async move {
                let mut last = 0;
                for _ in 0..2 {
                    if ping.send(last).await.is_err() {
                        break;
                    }
                    let Ok(next) = pongs.recv().await else {
                        break;
                    };
                    last = next;
                }
                last
            })
        });
        match below(3) {
            0 => {
                assert_eq!(client.join().unwrap(), 2);
                server.join().unwrap();
                assert_comes_to_rest(&one);
                assert_comes_to_rest(&other);
            }
            1 => {
                compute(below(60_000));
                drop(one);
                let _ = client.join();
                assert_comes_to_rest(&other);
            }
            _ => {
                compute(below(60_000));
                drop(other);
                let _ = server.join();
                assert_comes_to_rest(&one);
            }
        }
    }
}

/// Longer than any thread takes to fall asleep, and the monitor to count again; its sweeps are 10 ms apart.
const POLLS: u32 = 2_000;
const POLL_INTERVAL: Duration = Duration::from_micros(20);
