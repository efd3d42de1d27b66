//! Scopes: borrowing spawns, nesting, panics.

use crate::support::{
    Ledger, blow, busy_micros, message_of, of_threads, on, on_each_runtime, on_runtime, panics_of,
    receive, wait_until,
};
use manyhands::{Runtime, Scope, join, parallel, scope, task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

#[test]
fn every_spawned_closure_has_ended_when_the_scope_ends() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for count in [0, 1, 2, 100, 3_000] {
                let ended = AtomicUsize::new(0);
                let returned = scope(|s| {
                    for _ in 0..count {
                        s.spawn(|_| {
                            ended.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                    "returned"
                });
                assert_eq!((returned, ended.into_inner()), ("returned", count));
            }
        });
    });
}

#[test]
fn closures_may_write_to_what_they_borrow() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let mut squares: Vec<u64> = (0..500).collect();
            let mut text = String::new();
            scope(|s| {
                for square in &mut squares {
                    s.spawn(move |_| {
                        busy_micros(2);
                        *square *= *square;
                    });
                }
                s.spawn(|_| text.push_str("borrowed"));
            });
            assert!(squares.into_iter().eq((0..500).map(|i| i * i)));
            assert_eq!(text, "borrowed");
        });
    });
}

fn spawn_tree<'scope>(s: &Scope<'scope>, depth: u32, count: &'scope AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
    for _ in 0..3 {
        if depth > 0 {
            s.spawn(move |s| spawn_tree(s, depth - 1, count));
        }
    }
}

#[test]
fn spawned_closures_may_spawn() {
    on_each_runtime(|runtime| {
        let count = AtomicUsize::new(0);
        runtime.install(|| scope(|s| spawn_tree(s, 6, &count)));
        assert_eq!(count.into_inner(), (3_usize.pow(7) - 1) / 2);
    });
}

#[test]
fn a_chain_of_spawns_does_not_deepen_the_stack() {
    fn chain<'scope>(s: &Scope<'scope>, left: u32, count: &'scope AtomicUsize) {
        count.fetch_add(1, Ordering::SeqCst);
        if left > 0 {
            s.spawn(move |s| chain(s, left - 1, count));
        }
    }
    on_each_runtime(|runtime| {
        let count = AtomicUsize::new(0);
        runtime.install(|| scope(|s| chain(s, 30_000, &count)));
        assert_eq!(count.into_inner(), 30_001);
    });
}

#[test]
fn several_threads_may_spawn_into_one_scope() {
    on_each_runtime(|runtime| {
        let count = AtomicUsize::new(0);
        runtime.install(|| {
            scope(|s| {
                thread::scope(|threads| {
                    for _ in 0..4 {
                        threads.spawn(|| {
                            for _ in 0..200 {
                                s.spawn(|_| {
                                    count.fetch_add(1, Ordering::SeqCst);
                                });
                            }
                        });
                    }
                });
                parallel::for_each(0..200, |_| {
                    busy_micros(2);
                    s.spawn(|_| {
                        count.fetch_add(1, Ordering::SeqCst);
                    });
                });
            });
        });
        assert_eq!(count.into_inner(), 1_000);
    });
}

#[test]
fn scopes_nest_deeper_than_a_slot_can_hold_open() {
    fn nest(depth: u32, count: &AtomicUsize) {
        count.fetch_add(1, Ordering::SeqCst);
        if depth == 0 {
            return;
        }
        scope(|s| {
            s.spawn(|s| {
                s.spawn(|_| {
                    count.fetch_add(1, Ordering::SeqCst);
                });
                nest(depth - 1, count);
            });
            s.spawn(|_| busy_micros(5));
            // The body, not only a closure, is deep too.
            if depth == 20 {
                deep_body(20, count);
            }
        });
    }
    fn deep_body(depth: u32, count: &AtomicUsize) {
        if depth == 0 {
            return;
        }
        scope(|s| {
            s.spawn(|_| {
                count.fetch_add(1, Ordering::SeqCst);
            });
            deep_body(depth - 1, count);
        });
    }
    on_each_runtime(|runtime| {
        for _ in 0..20 {
            let count = AtomicUsize::new(0);
            runtime.install(|| nest(20, &count));
            assert_eq!(count.into_inner(), 21 + 20 + 20);
        }
    });
}

#[test]
fn loops_and_joins_nest_deeper_than_a_slot_can_hold_open() {
    fn nest(depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let sum: u64 = parallel::map(0..2_u32, |_| {
            busy_micros(10);
            nest(depth - 1)
        })
        .into_iter()
        .sum();
        let (a, b) = join(|| sum, || 0);
        a + b
    }
    on_each_runtime(|runtime| {
        runtime.install(|| assert_eq!(nest(11), 2_048));
    });
}

#[test]
fn a_panic_goes_on_after_every_closure_has_run() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let ran = AtomicUsize::new(0);
            let payloads = panics_of(|| {
                scope(|s| {
                    for i in 0..100 {
                        let ran = &ran;
                        s.spawn(move |_| {
                            ran.fetch_add(1, Ordering::SeqCst);
                            if i == 50 {
                                blow("fifty");
                            }
                        });
                    }
                });
            });
            assert_eq!(
                payloads.iter().map(message_of).collect::<Vec<_>>(),
                ["fifty"]
            );
            assert_eq!(ran.into_inner(), 100);
        });
    });
}

#[test]
fn all_panics_are_collected_the_bodys_first() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            let payloads = panics_of(|| {
                scope(|s| {
                    for i in 0..10 {
                        s.spawn(move |s| {
                            s.spawn(move |_| blow(i + 10));
                            blow(i);
                        });
                    }
                    blow(-1);
                })
            });
            let mut numbers: Vec<_> = payloads
                .iter()
                .map(|payload| *payload.downcast_ref::<i32>().unwrap())
                .collect();
            assert_eq!(numbers[0], -1);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(-1..20));
        });
    });
}

#[test]
fn what_closures_own_is_dropped_once() {
    on_each_runtime(|runtime| {
        let ledger = Ledger::new(400);
        runtime.install(|| {
            panics_of(|| {
                scope(|s| {
                    for thing in ledger.make_all() {
                        s.spawn(move |_| {
                            if thing.id % 10 == 0 {
                                blow(thing);
                            }
                        });
                    }
                });
            });
        });
        ledger.assert_settled();
    });
}

#[test]
fn closures_start_in_the_order_of_their_spawning_where_there_is_one_thread() {
    on(of_threads(1), |runtime| {
        let order = Mutex::new(Vec::new());
        runtime.install(|| {
            scope(|s| {
                for i in 0..100 {
                    let order = &order;
                    s.spawn(move |_| order.lock().unwrap().push(i));
                }
            });
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..100));
    });
}

#[test]
fn scopes_in_tasks_and_tasks_in_scopes() {
    on_runtime(2, |runtime| {
        runtime.install(|| {
            let handles: Vec<_> = (0..40_usize)
                .map(|i| {
                    task::run(move || {
                        let mut sums = [0; 4];
                        scope(|s| {
                            for sum in &mut sums {
                                s.spawn(move |_| *sum = task::run(move || i).join().unwrap());
                            }
                        });
                        sums.iter().sum::<usize>()
                    })
                })
                .collect();
            let total: usize = handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .sum();
            assert_eq!(total, 4 * 780);
        });
    });
}

#[test]
fn a_scope_waits_for_its_own_closures_only() {
    on_runtime(2, |runtime| {
        let (release, released) = mpsc::channel();
        let handle = runtime.install(|| {
            let handle = task::run(move || receive(&released));
            let mut done = false;
            scope(|s| s.spawn(|_| done = true));
            assert!(done);
            handle
        });
        release.send(()).unwrap();
        handle.join().unwrap();
    });
}

/// Runs `closure` in a scope, on the only worker that is left: the owner sleeps by then, the other worker is
/// away, and no thread may be added.
fn while_the_owner_sleeps(
    closure: impl for<'scope> FnOnce(&Scope<'scope>, &Runtime) + Send + 'static,
) {
    let builder = Runtime::builder().workers(2).max_threads(2);
    on(builder.on_stall(|_| ()).build().unwrap(), |runtime| {
        let (come_back, released) = mpsc::channel::<()>();
        let (left, away) = mpsc::channel();
        let _entered = runtime.enter();
        task::run_detached(move || {
            left.send(()).unwrap();
            task::blocking(|| receive(&released));
        });
        receive(&away);
        let (began, begun) = mpsc::channel();
        scope(|s| {
            s.spawn(move |s| {
                began.send(()).unwrap();
                wait_until("the owner sleeps", || runtime.metrics().blocked == 2);
                closure(s, runtime);
            });
            receive(&begun);
        });
        come_back.send(()).unwrap();
    });
}

#[test]
fn an_owner_that_sleeps_runs_what_a_helper_leaves_behind() {
    fn chain<'scope>(s: &Scope<'scope>, left: usize, ran: Arc<AtomicUsize>, end: mpsc::Sender<()>) {
        ran.fetch_add(1, Ordering::SeqCst);
        if left > 1 {
            s.spawn(move |s| chain(s, left - 1, ran, end));
        } else {
            end.send(()).unwrap();
        }
    }
    let ran = Arc::new(AtomicUsize::new(0));
    while_the_owner_sleeps({
        let ran = Arc::clone(&ran);
        move |s, _| {
            let (end, ended) = mpsc::channel();
            // The helper leaves for this task, which waits for the rest of the chain.
            task::run_detached(move || receive(&ended));
            chain(s, 500, ran, end);
        }
    });
    assert_eq!(ran.load(Ordering::SeqCst), 500);
}

#[test]
fn an_owner_that_sleeps_runs_what_is_spawned_by_a_closure_that_then_waits_for_it() {
    while_the_owner_sleeps(|s, _| {
        let (end, ended) = mpsc::channel();
        s.spawn(move |_| end.send(()).unwrap());
        receive(&ended);
    });
}

#[test]
fn an_owner_that_sleeps_runs_what_is_spawned_where_another_runtime_is_current() {
    while_the_owner_sleeps(|s, _| {
        let other = Runtime::builder().workers(1).build().unwrap();
        let (end, ended) = mpsc::channel();
        thread::scope(|threads| {
            threads.spawn(|| {
                let _entered = other.enter();
                s.spawn(move |_| end.send(()).unwrap());
            });
        });
        receive(&ended);
    });
}
