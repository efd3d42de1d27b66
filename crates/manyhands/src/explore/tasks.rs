//! Programs of tasks: each ends with its result, and each waiting thread or task is woken.

use super::{Counts, Gate, outside, pool, programs};
use crate::sync::thread;
use crate::task::{self, TaskGroup, completion};
use crate::{join, parallel};
use manyhands_explore::compute;
use std::rc::Rc;
use std::sync::Arc;

programs! {
    /// External threads spawn tasks while workers fall asleep.
    tasks_from_outside(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let others: Vec<_> = (0..2_u64)
            .map(|i| {
                let inside = Arc::clone(&runtime);
                outside(move || {
                    let _entered = inside.enter();
                    let first = task::run(move || i).join().unwrap();
                    compute(60_000);
                    let second = task::spawn(async move { i + 10 }).join().unwrap();
                    first + second
                })
            })
            .collect();
        let sums: Vec<u64> = others.into_iter().map(|other| other.join().unwrap()).collect();
        assert_eq!(sums, [10, 12]);
    }

    /// Tasks spawn tasks and wait for them, as futures and as threads.
    tasks_that_wait_for_tasks(NotNeeded) {
        let runtime = pool(2, 2);
        let sum = runtime.install(|| {
            task::spawn(async {
                let a = task::spawn(async {
                    task::yield_now().await;
                    1
                });
                let b = task::run(|| {
                    let (c, d) = join(|| 2, || 3);
                    c + d
                });
                a.await.unwrap() + b.await.unwrap()
            })
            .join()
            .unwrap()
        });
        assert_eq!(sum, 6);
    }

    /// Completions wake tasks and threads that wait for them, in either order.
    completions(NotNeeded) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let (first, first_done) = completion::<u32>();
        let (second, second_done) = completion::<u32>();
        let task = task::spawn(async move {
            let number = first_done.await.unwrap();
            second.complete(number + 1);
        });
        let setter = outside(move || {
            compute(10_000);
            first.complete(1);
        });
        assert_eq!(second_done.wait_blocking().unwrap(), 2);
        task.join().unwrap();
        setter.join().unwrap();
    }

    /// Tasks declare that they block, and others run in their place.
    tasks_that_declare_blocking(NotNeeded) {
        let runtime = pool(1, 4);
        let _entered = runtime.enter();
        let gate = Gate::default();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let gate = gate.clone();
                task::run(move || task::blocking(|| gate.wait()))
            })
            .collect();
        let opener = task::run(move || gate.open());
        opener.join().unwrap();
        waiting.into_iter().for_each(|task| task.join().unwrap());
    }

    /// Tasks block without declaring it, and the monitor detects them.
    tasks_that_block(Needed) {
        let runtime = pool(1, 4);
        let _entered = runtime.enter();
        let gate = Gate::default();
        let waiting: Vec<_> = (0..2)
            .map(|_| {
                let gate = gate.clone();
                task::run(move || gate.wait())
            })
            .collect();
        let opener = task::run(move || gate.open());
        opener.join().unwrap();
        waiting.into_iter().for_each(|task| task.join().unwrap());
    }

    /// A future that is not `Send` stays on the thread that spawned it.
    local_tasks(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let _entered = runtime.enter();
        let (completer, completion) = completion::<u32>();
        let task = task::run(move || {
            let here = thread::current().id();
            task::spawn_local(async move {
                let number = Rc::new(completion.await.unwrap());
                task::yield_now().await;
                assert_eq!(thread::current().id(), here);
                *number
            })
        });
        let others = task::run(|| parallel::for_each(0..4_u32, |_| compute(40_000)));
        let waker = outside(move || {
            compute(30_000);
            completer.complete(7);
        });
        assert_eq!(task.join().unwrap().join().unwrap(), 7);
        others.join().unwrap();
        waker.join().unwrap();
    }

    /// A group gives each result once, in whatever order they arrive.
    groups(NotNeeded) {
        let runtime = pool(2, 2);
        let results = runtime.install(|| {
            task::block_on(async {
                let mut group = TaskGroup::new();
                for i in 0..3_usize {
                    group.spawn(async move {
                        if i == 1 {
                            task::yield_now().await;
                        }
                        i
                    });
                }
                group.run(|| 3);
                group.wait().await
            })
        });
        let results: Vec<usize> = results.into_iter().map(Result::unwrap).collect();
        assert_eq!(results, [0, 1, 2, 3]);
    }

    /// Tasks borrow from the frame of the thread that waits for them.
    tasks_that_borrow(NotNeeded) {
        let runtime = pool(2, 2);
        let ran = Counts::new(4);
        runtime.install(|| {
            task::scope_blocking(|scope| {
                let ran = &ran;
                for i in 0..4 {
                    scope.spawn(async move {
                        task::yield_now().await;
                        ran.add(i);
                    });
                }
            });
        });
        ran.assert_each_once();
    }

    /// A task is cancelled while it waits, runs or ends; it ends either way, and once.
    cancelled_tasks(NotNeeded) {
        let runtime = pool(2, 2);
        let _entered = runtime.enter();
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        let task = task::spawn(async move {
            for _ in 0..3 {
                task::yield_now().await;
            }
            Arc::strong_count(&inside)
        });
        let (_never, never) = completion::<()>();
        let stuck = task::spawn(async move { never.await.is_ok() });
        compute(5_000);
        task.abort();
        stuck.abort();
        let outcome = task.join();
        assert!(outcome.is_ok() || outcome.is_err_and(|error| error.is_cancelled()));
        assert!(stuck.join().is_err_and(|error| error.is_cancelled()));
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
