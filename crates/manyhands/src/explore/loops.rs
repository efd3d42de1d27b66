//! Programs of loops and forks: each body runs once, while threads join and leave.

use super::{Counts, outside, pool, programs};
use crate::cancel::TokenSource;
use crate::query::prelude::*;
use crate::{join, parallel, task};
use manyhands_explore::compute;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

programs! {
    /// Both halves of each fork run, on whatever thread.
    joins_in_joins(NotNeeded) {
        fn sum(from: u64, to: u64) -> u64 {
            compute(5_000);
            if to - from == 1 {
                return from;
            }
            let middle = from.midpoint(to);
            let (a, b) = join(|| sum(from, middle), || sum(middle, to));
            a + b
        }
        let runtime = Arc::new(pool(3, 3));
        let inside = Arc::clone(&runtime);
        let other = outside(move || inside.install(|| sum(0, 6)));
        assert_eq!(runtime.install(|| sum(0, 8)), 28);
        assert_eq!(other.join().unwrap(), 15);
    }

    /// Helpers leave a loop for tasks, and no position is lost.
    loop_with_tasks_arriving(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let inside = Arc::clone(&runtime);
        let tasks = outside(move || {
            let _entered = inside.enter();
            let tasks: Vec<_> = (0..3)
                .map(|i| {
                    compute(20_000);
                    task::run(move || i)
                })
                .collect();
            tasks.into_iter().map(|task| task.join().unwrap()).sum::<u64>()
        });
        let ran = Counts::new(12);
        runtime.install(|| {
            parallel::for_each(0..12_usize, |i| {
                compute(40_000);
                ran.add(i);
            });
        });
        ran.assert_each_once();
        assert_eq!(tasks.join().unwrap(), 3);
    }

    /// A map returns everything that its bodies have written.
    map_into_memory(NotNeeded) {
        let runtime = Arc::new(pool(2, 3));
        let inside = Arc::clone(&runtime);
        let tasks = outside(move || {
            let _entered = inside.enter();
            for _ in 0..2 {
                compute(50_000);
                task::run(|| compute(10_000)).join().unwrap();
            }
        });
        let boxes = runtime.install(|| {
            parallel::map(0..10_u64, |i| {
                compute(40_000);
                Box::new(i)
            })
        });
        let numbers: Vec<u64> = boxes.into_iter().map(|number| *number).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
        tasks.join().unwrap();
    }

    /// A call at a place whose calls were short, which the monitor opens.
    a_short_call_that_goes_on(Needed) {
        let runtime = pool(2, 3);
        let ran = Counts::new(16);
        let call = |first: usize, nanos: u64| {
            parallel::for_each(first..first + 4, |i| {
                compute(nanos);
                ran.add(i);
            });
        };
        runtime.install(|| {
            call(0, 1);
            call(4, 1);
            call(8, 1_000_000);
            call(12, 1);
        });
        ran.assert_each_once();
    }

    /// A call at such a place of which the first closure waits for the second.
    a_short_invocation_that_waits(Needed) {
        let runtime = pool(2, 3);
        let call = |waits: bool| {
            let (completer, completion) = task::completion();
            parallel::invoke((
                move || waits.then(|| completion.wait_blocking().unwrap()),
                move || completer.complete(7),
            ))
        };
        runtime.install(|| {
            assert_eq!(call(false).0, None);
            assert_eq!(call(false).0, None);
            assert_eq!(call(true).0, Some(7));
            assert_eq!(call(true).0, Some(7));
        });
    }

    /// Loops in a loop's bodies.
    nested_loops(NotNeeded) {
        let runtime = pool(3, 3);
        let ran = Counts::new(12);
        runtime.install(|| {
            parallel::for_each(0..3_usize, |i| {
                compute(50_000);
                parallel::for_each(0..4_usize, |j| {
                    compute(50_000);
                    ran.add(4 * i + j);
                });
            });
        });
        ran.assert_each_once();
    }

    /// Two external threads and a task run loops on one pool.
    loops_of_several_callers(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let ran = Arc::new(Counts::new(18));
        let run = |first: usize| {
            let ran = Arc::clone(&ran);
            move || {
                parallel::for_each(first..first + 6, |i| {
                    compute(40_000);
                    ran.add(i);
                });
            }
        };
        let (mine, its, a_task_s) = (run(0), run(6), run(12));
        let inside = Arc::clone(&runtime);
        let other = outside(move || inside.install(its));
        runtime.install(|| {
            let task = task::run(a_task_s);
            mine();
            task.join().unwrap();
        });
        other.join().unwrap();
        ran.assert_each_once();
    }

    /// A cancelled loop ends, and no body runs twice.
    cancellation_of_a_loop(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let source = TokenSource::new();
        let token = source.token();
        let canceller = outside(move || {
            compute(100_000);
            source.cancel();
        });
        let ran = Counts::new(12);
        let outcome = runtime.install(|| {
            parallel::Options::new().cancellation(&token).for_each(0..12_usize, |i| {
                compute(30_000);
                ran.add(i);
            })
        });
        assert!(ran.to_vec().iter().all(|&count| count <= 1));
        if outcome.is_ok() {
            ran.assert_each_once();
        }
        canceller.join().unwrap();
    }

    /// A body panics; the loop ends, its items are dropped once, and the panic resumes in the caller.
    panics_in_bodies(NotNeeded) {
        let runtime = pool(3, 3);
        let items: Vec<Arc<()>> = (0..10).map(|_| Arc::new(())).collect();
        let kept = items.clone();
        let result = runtime.install(|| {
            catch_unwind(AssertUnwindSafe(|| {
                parallel::for_each(items, |item| {
                    compute(40_000);
                    if Arc::ptr_eq(&item, &kept[6]) {
                        resume_unwind(Box::new("blown"));
                    }
                });
            }))
        });
        assert!(result.is_err());
        let holders: Vec<usize> = kept.iter().map(Arc::strong_count).collect();
        assert_eq!(holders, [1; 10]);
    }

    /// The first of the matching items is returned.
    finds(NotNeeded) {
        let runtime = pool(2, 2);
        let found = runtime.install(|| {
            (0..14_u32).into_par_query().find(|i| {
                compute(30_000);
                *i % 5 == 4
            })
        });
        assert_eq!(found, Some(4));
    }

    /// A reduction in order.
    reductions(NotNeeded) {
        let runtime = pool(3, 3);
        let text = runtime.install(|| {
            parallel::map_reduce(
                0..8_u32,
                |i| {
                    compute(40_000);
                    i.to_string()
                },
                |a, b| a + &b,
            )
        });
        assert_eq!(text.as_deref(), Some("01234567"));
    }
}
