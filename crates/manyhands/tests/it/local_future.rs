//! Futures that stay on the worker they were spawned on.

use crate::support::{
    Ledger, blow, message_of, on_each_runtime, panics_of, receive, wait_until, within,
};
use manyhands::{Runtime, task};
use std::cell::Cell;
use std::future::pending;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;

/// Says on which thread it is dropped.
struct Dropped(mpsc::Sender<thread::ThreadId>, PhantomData<Rc<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.send(thread::current().id()).unwrap();
    }
}

#[test]
fn a_local_future_is_polled_and_dropped_on_its_worker_only() {
    on_each_runtime(|runtime| {
        let tasks: Vec<_> = runtime.install(|| {
            (0..20)
                .map(|_| {
                    task::spawn(async {
                        let (sender, receiver) = mpsc::channel();
                        let (registry, local) = {
                            let dropped = Dropped(sender, PhantomData);
                            let local = task::spawn_local(async move {
                                let registry = thread::current().id();
                                for _ in 0..50 {
                                    task::yield_now().await;
                                    assert_eq!(thread::current().id(), registry);
                                }
                                // Woken from elsewhere, it comes back.
                                task::spawn(async { task::yield_now().await })
                                    .await
                                    .unwrap();
                                assert_eq!(thread::current().id(), registry);
                                drop(dropped);
                                registry
                            });
                            (thread::current().id(), local)
                        };
                        assert_eq!(local.await.unwrap(), registry);
                        assert_eq!(receive(&receiver), registry);
                    })
                })
                .collect()
        });
        for handle in tasks {
            handle.join().unwrap();
        }
    });
}

#[test]
fn a_local_future_is_woken_and_cancelled_from_outside() {
    on_each_runtime(|runtime| {
        let (sender, receiver) = mpsc::channel();
        let (completer, completion) = task::completion::<u32>();
        let handles = runtime.install(|| {
            let spawning = task::spawn(async move {
                let registry = thread::current().id();
                let dropped = Dropped(sender, PhantomData);
                let waiting = task::spawn_local(async move {
                    let shared = Rc::new(Cell::new(1));
                    shared.set(completion.await.unwrap());
                    (shared.get(), thread::current().id() == registry)
                });
                let cancelled = task::spawn_local(async move {
                    let _dropped = dropped;
                    pending::<()>().await;
                });
                (registry, waiting, cancelled)
            });
            spawning.join().unwrap()
        });
        let (registry, waiting, cancelled) = handles;
        completer.complete(5);
        assert_eq!(waiting.join().unwrap(), (5, true));
        cancelled.abort();
        assert!(cancelled.join().unwrap_err().is_cancelled());
        assert_eq!(receive(&receiver), registry);
    });
}

#[test]
fn a_local_future_that_is_cancelled_before_its_first_poll_is_dropped_on_its_worker() {
    on_each_runtime(|runtime| {
        let spawning = runtime.install(|| {
            task::spawn(async {
                let (sender, receiver) = mpsc::channel();
                let dropped = Dropped(sender, PhantomData);
                let local = task::spawn_local(async move {
                    let _dropped = dropped;
                    unreachable!("it was cancelled before");
                });
                // The worker is here, so it has not polled.
                let canceller = thread::spawn(move || {
                    local.abort();
                    local
                });
                let local = canceller.join().unwrap();
                (thread::current().id(), local, receiver)
            })
        });
        let (registry, local, receiver) = spawning.join().unwrap();
        assert!(local.join().unwrap_err().is_cancelled());
        assert_eq!(receive(&receiver), registry);
    });
}

#[test]
fn local_futures_are_dropped_on_their_worker_when_the_runtime_ends() {
    for workers in [1, 2, 8] {
        for _ in 0..20 {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let (sender, receiver) = mpsc::channel();
            let (registry, handles) = runtime.install(|| {
                let spawning = task::spawn(async move {
                    let spawn = |_| {
                        let dropped = Dropped(sender.clone(), PhantomData);
                        task::spawn_local(async move {
                            let _dropped = dropped;
                            pending::<()>().await;
                        })
                    };
                    let handles: Vec<_> = (0..10).map(spawn).collect();
                    (thread::current().id(), handles)
                });
                spawning.join().unwrap()
            });
            within(20, move || drop(runtime));
            for handle in handles {
                assert!(handle.join().unwrap_err().is_cancelled());
                assert_eq!(receive(&receiver), registry);
            }
        }
    }
}

#[test]
fn a_local_future_elsewhere_is_refused_with_a_sentence() {
    on_each_runtime(|runtime| {
        let refused = || {
            let ledger = Ledger::new(1);
            let thing = ledger.make(0);
            let panics = panics_of(|| task::spawn_local(async move { drop(thing) }));
            assert_eq!(
                message_of(&panics[0]),
                "`spawn_local` was called on a thread that is no worker of the current runtime: \
                 call it inside a task"
            );
            ledger.assert_settled();
        };
        refused();
        runtime.install(refused);
    });
}

#[test]
fn a_worker_that_joins_a_local_future_of_its_own_panics_and_others_may_join_it() {
    on_each_runtime(|runtime| {
        let (send, local) = mpsc::channel();
        let outer = runtime.install(|| {
            task::spawn(async move {
                let spawn = || task::Builder::new().name("own").spawn_local(async { 3 });
                let refused = spawn();
                let panics = panics_of(|| drop(refused.join()));
                let ended = spawn();
                while !ended.is_finished() {
                    task::yield_now().await;
                }
                send.send(spawn()).unwrap();
                (message_of(&panics[0]), ended.join().unwrap())
            })
        });
        let joined = receive(&local).join().unwrap();
        let (message, ended) = outer.join().unwrap();
        assert_eq!((joined, ended), (3, 3));
        assert_eq!(
            message,
            "`join` was called on the worker that alone can run this local task: await the handle instead"
        );
    });
}

#[test]
fn a_panic_of_a_local_future_goes_to_its_handle() {
    on_each_runtime(|runtime| {
        let outcome = runtime.install(|| {
            task::spawn(async {
                let local = task::spawn_local(async {
                    task::yield_now().await;
                    blow("local")
                });
                let error = local.await.map(|never: ()| never).unwrap_err();
                message_of(&error.try_into_panic().unwrap())
            })
        });
        assert_eq!(outcome.join().unwrap(), "local");
    });
}

#[test]
fn local_and_other_tasks_of_a_worker_take_turns() {
    let runtime = Runtime::builder()
        .workers(1)
        .max_threads(1)
        .build()
        .unwrap();
    let (completer, completion) = task::completion::<()>();
    let handle = runtime.install(|| {
        task::spawn(async move {
            let until = completion.clone();
            let local = task::spawn_local(async move {
                while !until.is_completed() {
                    task::yield_now().await;
                }
            });
            let other = task::spawn(async move {
                while !completion.is_completed() {
                    task::yield_now().await;
                }
            });
            for _ in 0..1_000 {
                task::yield_now().await;
            }
            completer.complete(());
            local.await.unwrap();
            other.await.unwrap();
        })
    });
    wait_until("all have ended", || handle.is_finished());
    handle.join().unwrap();
    within(20, move || drop(runtime));
}

#[test]
fn a_local_future_that_has_entered_another_runtime_comes_back_to_its_worker() {
    on_each_runtime(|runtime| {
        let outcome = runtime.install(|| {
            task::spawn(async {
                task::spawn_local(async {
                    let registry = thread::current().id();
                    let other = Runtime::builder().workers(1).build().unwrap();
                    let entered = other.enter();
                    for _ in 0..100 {
                        task::yield_now().await;
                    }
                    let elsewhere = task::run(|| thread::current().id()).await.unwrap();
                    assert_eq!(thread::current().id(), registry);
                    drop(entered);
                    elsewhere != registry
                })
                .await
                .unwrap()
            })
        });
        assert!(outcome.join().unwrap());
    });
}
