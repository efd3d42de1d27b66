//! Programs of beginnings and ends: timers, runtimes that end with work in them, runtimes in runtimes.

use super::{Counts, Gate, outside, pool, programs};
use crate::job::OnDrop;
use crate::task::completion;
use crate::{join, parallel, task, time};
use manyhands_explore::compute;
use std::sync::Arc;
use std::time::Duration;

programs! {
    /// Timers of tasks and threads fire, none of them early.
    timers(Needed) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let tasks: Vec<_> = [3_u64, 1, 7]
            .into_iter()
            .map(|millis| {
                task::spawn(async move {
                    let begun = time::now();
                    time::sleep(Duration::from_millis(millis)).await;
                    assert!(time::now() - begun >= Duration::from_millis(millis));
                })
            })
            .collect();
        task::block_on(time::sleep(Duration::from_millis(2)));
        tasks.into_iter().for_each(|task| task.join().unwrap());
    }

    /// A time-out and the event that it limits happen at about the same time; one of them counts.
    timeouts(Needed) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (completer, completion) = completion::<u32>();
        let task = task::spawn(time::timeout(Duration::from_millis(1), completion));
        let other = outside(move || {
            compute(1_500_000);
            completer.complete(1);
        });
        if let Ok(number) = task.join().unwrap() {
            assert_eq!(number.unwrap(), 1);
        }
        other.join().unwrap();
    }

    /// A runtime ends with tasks queued, waiting and running, while others arrive; each is run or dropped.
    shutdown_with_work(NotNeeded) {
        let runtime = pool(2, 3);
        let held = Arc::new(());
        let (_completer, never) = completion::<()>();
        let entered = runtime.enter();
        let waiting = task::spawn({
            let held = Arc::clone(&held);
            async move {
                let _held = held;
                let _ = never.await;
            }
        });
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let held = Arc::clone(&held);
                task::run(move || {
                    compute(20_000);
                    drop(held);
                })
            })
            .collect();
        drop(entered);
        runtime.shutdown_blocking();
        assert!(waiting.join().is_err());
        for task in tasks {
            let _ = task.join();
        }
        assert_eq!(Arc::strong_count(&held), 1);
    }

    /// The destructors of waiting tasks spawn while their runtime ends, and wait for what they have spawned.
    destructors_that_join_while_the_runtime_ends(NotNeeded) {
        struct Heir(u32);

        impl Drop for Heir {
            fn drop(&mut self) {
                if self.0 > 0 {
                    let heir = Self(self.0 - 1);
                    let spawned = task::spawn(async move { drop(heir) });
                    let _ = spawned.join();
                }
            }
        }

        // Each destructor that waits keeps a thread.
        let runtime = pool(2, 8);
        let (completer, never) = completion::<()>();
        let entered = runtime.enter();
        for _ in 0..2 {
            let (heir, never) = (Heir(2), never.clone());
            drop(task::spawn(async move {
                let _heir = heir;
                let _ = never.await;
            }));
        }
        drop(entered);
        runtime.shutdown_blocking();
        drop(completer);
    }

    /// Tasks are spawned from outside, and woken, while the runtime ends.
    shutdown_while_tasks_arrive(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let held = Arc::new(());
        let (completer, completion) = completion::<()>();
        let (inside, its) = (Arc::clone(&runtime), Arc::clone(&held));
        let spawner = outside(move || {
            let _entered = inside.enter();
            let also = Arc::clone(&its);
            let waiting = task::spawn(async move {
                let _held = also;
                let _ = completion.await;
            });
            let tasks: Vec<_> = (0..2)
                .map(|_| {
                    let its = Arc::clone(&its);
                    task::run(move || drop(its))
                })
                .collect();
            (waiting, tasks)
        });
        let waker = outside(move || completer.complete(()));
        let (waiting, tasks) = spawner.join().unwrap();
        let runtime = Arc::into_inner(runtime).expect("the spawner has ended");
        drop(runtime);
        let _ = waiting.join();
        for task in tasks {
            let _ = task.join();
        }
        waker.join().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }

    /// A scope is aborted while its runtime ends, and the destructors of its futures spawn into it.
    scope_that_is_aborted_while_the_runtime_ends(NotNeeded) {
        let runtime = pool(2, 2);
        let (handle, has_spawned) = (runtime.handle(), Gate::default());
        let spawned = has_spawned.clone();
        let other = outside(move || {
            let _entered = handle.enter();
            task::scope_blocking(|scope| {
                for _ in 0..2 {
                    let spawns = OnDrop(|| scope.spawn(std::future::ready(())));
                    scope.spawn(async move {
                        let _spawns = spawns;
                        std::future::pending().await
                    });
                }
                spawned.open();
                scope.abort_all();
            });
        });
        has_spawned.wait();
        runtime.shutdown_blocking();
        other.join().unwrap();
    }

    /// A worker uses another runtime, which ends before its own.
    runtimes_in_runtimes(NotNeeded) {
        let outer = pool(2, 2);
        let ran = Counts::new(8);
        outer.install(|| {
            join(
                || {
                    let inner = pool(2, 2);
                    inner.install(|| {
                        parallel::for_each(0..4_usize, |i| {
                            compute(50_000);
                            ran.add(i);
                        });
                    });
                },
                || {
                    parallel::for_each(4..8_usize, |i| {
                        compute(50_000);
                        ran.add(i);
                    });
                },
            );
        });
        ran.assert_each_once();
    }

    /// Each runtime reuses the slots of the one before, with work that ends late.
    runtimes_in_a_row(NotNeeded) {
        for _ in 0..2 {
            let runtime = pool(2, 2);
            let _entered = runtime.enter();
            task::run_detached(|| compute(30_000));
            assert_eq!(task::run(|| 1).join().unwrap(), 1);
        }
    }
}
