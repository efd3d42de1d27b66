//! Programs of scopes: each closure runs once, and the owner is never left asleep.

use super::{Counts, Gate, outside, pool, programs};
use crate::sync::{Mutex, lock};
use crate::{Scope, scope, task};
use manyhands_explore::{below, compute};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

fn chain<'s>(scope: &Scope<'s>, ran: &'s Counts, left: usize) {
    compute(5_000);
    ran.add(left - 1);
    if left > 1 {
        scope.spawn(move |scope| chain(scope, ran, left - 1));
    }
}

programs! {
    /// A helper leaves a scope for a task that waits for something that the scope's owner holds, and no thread may be
    /// added: the owner itself runs the rest.
    scope_with_leaving_helpers(NotNeeded) {
        let runtime = Arc::new(pool(2, 2));
        let held = Arc::new(Mutex::new(()));
        let gate = Gate::default();
        let _entered = runtime.enter();
        let its_gate = gate.clone();
        let away = task::run(move || task::blocking(|| its_gate.wait()));
        let ran = Counts::new(12);
        let guard = lock(&held);
        let arriving = scope(|scope| {
            let ran = &ran;
            let began = Gate::default();
            let has_begun = began.clone();
            scope.spawn(move |scope| {
                began.open();
                // Long enough for the owner to fall asleep meanwhile.
                (0..100).for_each(|_| compute(1_000));
                chain(scope, ran, 12);
            });
            // The other worker runs it.
            has_begun.wait();
            let (inside, wanted) = (Arc::clone(&runtime), Arc::clone(&held));
            outside(move || {
                let _entered = inside.enter();
                (0..below(200)).for_each(|_| compute(1_000));
                task::run(move || drop(lock(&wanted)))
            })
        });
        drop(guard);
        ran.assert_each_once();
        arriving.join().unwrap().join().unwrap();
        gate.open();
        away.join().unwrap();
    }

    /// Closures spawn closures, on several workers.
    scope_that_grows(NotNeeded) {
        let runtime = pool(3, 3);
        let ran = Counts::new(12);
        runtime.install(|| {
            scope(|scope| {
                let ran = &ran;
                for i in 0..3 {
                    scope.spawn(move |scope| {
                        compute(10_000);
                        ran.add(4 * i);
                        for j in 1..4 {
                            scope.spawn(move |_| {
                                compute(10_000);
                                ran.add(4 * i + j);
                            });
                        }
                    });
                }
            });
        });
        ran.assert_each_once();
    }

    /// A scope in a scope's closure, and closures that panic.
    scopes_in_scopes_with_panics(NotNeeded) {
        let runtime = pool(2, 3);
        let ran = Counts::new(6);
        let result = runtime.install(|| {
            catch_unwind(AssertUnwindSafe(|| {
                scope(|outer| {
                    let ran = &ran;
                    for i in 0..2 {
                        outer.spawn(move |_| {
                            scope(|inner| {
                                for j in 0..3 {
                                    inner.spawn(move |_| {
                                        compute(10_000);
                                        ran.add(3 * i + j);
                                        if j == 1 {
                                            resume_unwind(Box::new("blown"));
                                        }
                                    });
                                }
                            });
                        });
                    }
                });
            }))
        });
        assert!(result.is_err());
        ran.assert_each_once();
    }
}
