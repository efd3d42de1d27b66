//! The handles of runtimes and of tasks that others keep, an end that does not wait for ever, and the tracker of tasks.

use crate::support::{Ledger, loop_until, of_threads, receive, wait_until, within};
use manyhands::task::{self, AbortHandle, TaskGroup, TaskTracker};
use manyhands::{Handle, Runtime};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

/// Starts a closure on `runtime` that blocks undeclared until the sender is dropped, and returns when it has begun.
fn block(runtime: &Runtime) -> (mpsc::Sender<()>, task::JoinHandle<()>) {
    let (begin, begun) = mpsc::channel();
    let (let_go, gate) = mpsc::channel::<()>();
    let blocked = runtime.handle().run(move || {
        begin.send(()).expect("the test waits");
        let _ = gate.recv();
    });
    receive(&begun);
    (let_go, blocked)
}

#[test]
fn a_handle_brings_tasks_from_any_thread_to_its_runtime() {
    within(60, || {
        let (ours, other) = (of_threads(2), of_threads(1));
        let handle = ours.handle();
        let name = |runtime: &Runtime| runtime.worker_index().is_some();
        let ours = Arc::new(ours);
        let where_it_runs = {
            let (handle, ours) = (handle.clone(), Arc::clone(&ours));
            move || {
                let here = Arc::clone(&ours);
                let closure = handle.block_on(handle.run(move || name(&here)));
                let here = Arc::clone(&ours);
                let future = handle.block_on(handle.spawn(async move { name(&here) }));
                [
                    closure.expect("it only looks"),
                    future.expect("it only looks"),
                ]
            }
        };
        let outside = thread::spawn(where_it_runs.clone());
        assert_eq!(outside.join().expect("nothing fails"), [true; 2]);
        for runtime in [&*ours, &other] {
            let inside = runtime.install(|| task::run(where_it_runs.clone()));
            assert_eq!(inside.join().expect("nothing fails"), [true; 2]);
        }
        assert_eq!(handle.metrics().expect("it runs").workers, 2);
    });
}

#[test]
fn the_current_handle_is_that_of_the_runtime_that_runs_the_caller() {
    within(60, || {
        let runtime = Runtime::builder()
            .workers(3)
            .build()
            .expect("the number is right");
        let inside = runtime.install(|| task::run(Handle::current)).join();
        let inside = inside.expect("it only looks");
        assert_eq!(inside.metrics().expect("it runs").workers, 3);
        let entered = inside.enter();
        let current = Handle::try_current().expect("one is entered");
        assert_eq!(current.metrics().expect("it runs").workers, 3);
        drop(entered);
    });
}

#[test]
fn what_a_handle_spawns_after_the_end_is_dropped_and_cancelled() {
    within(60, || {
        let runtime = of_threads(1);
        let handle = runtime.handle();
        drop(runtime);
        let ledger = Ledger::new(2);
        let mut things = ledger.make_all().into_iter();
        let (first, second) = (things.next(), things.next());
        let future = handle.spawn(async move { drop(first) });
        assert!(future.join().unwrap_err().is_cancelled());
        let closure = handle.run(move || drop(second));
        assert!(closure.join().unwrap_err().is_cancelled());
        ledger.assert_settled();
        assert!(handle.metrics().is_none());
        assert_eq!(handle.block_on(async { 7 }), 7);
        drop(handle.enter());
    });
}

#[test]
fn a_handle_keeps_nothing_of_its_runtime() {
    within(60, || {
        let kept = Arc::new(());
        let hook = Arc::clone(&kept);
        let builder = Runtime::builder().workers(1);
        let runtime = builder
            .on_thread_start(move |_| drop(Arc::clone(&hook)))
            .build();
        let runtime = runtime.expect("the number is right");
        let handle = runtime.handle();
        handle.run(|| ()).join().expect("it does nothing");
        assert_eq!(Arc::strong_count(&kept), 2);
        runtime.shutdown_blocking();
        assert_eq!(Arc::strong_count(&kept), 1);
        drop(handle);
    });
}

#[test]
fn what_handles_spawn_while_the_runtime_ends_is_run_or_dropped() {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 300 };
    within(120, || {
        for round in 0..ROUNDS {
            let runtime = of_threads(1 + round % 3);
            let handle = runtime.handle();
            let begun = Arc::new(AtomicUsize::new(0));
            let spawners = [0, 1].map(|_| {
                let (handle, begun) = (handle.clone(), Arc::clone(&begun));
                thread::spawn(move || {
                    let spawn = |n| {
                        begun.fetch_add(1, Ordering::SeqCst);
                        if n % 2 == 0 {
                            handle.run(move || n)
                        } else {
                            handle.spawn(async move { n })
                        }
                    };
                    let tasks: Vec<_> = (0..40).map(spawn).collect();
                    for (n, task) in tasks.into_iter().enumerate() {
                        assert!(
                            task.join()
                                .map_or_else(|error| error.is_cancelled(), |m| m == n)
                        );
                    }
                })
            });
            wait_until("some are spawned", || {
                begun.load(Ordering::SeqCst) > round % 80
            });
            drop(runtime);
            for spawner in spawners {
                spawner.join().expect("each task ends");
            }
        }
    });
}

/// Says that it is dropped, and waits meanwhile.
struct Waits(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.0.send(());
        receive(&self.1);
    }
}

#[test]
fn an_end_waits_for_its_workers_and_for_nobody_who_drops_what_came_too_late() {
    within(60, || {
        let runtime = of_threads(1);
        let handle = runtime.handle();
        let (keeps, _kept) = block(&runtime);
        let closes = thread::spawn(move || runtime.shutdown_blocking());
        // Nothing begins, because the worker is kept.
        wait_until("the end has begun", || handle.run(|| ()).is_finished());
        let (say, said) = mpsc::channel();
        let (let_go, gate) = mpsc::channel();
        let waits = Waits(say, gate);
        let brings = thread::spawn(move || drop(handle.run(move || drop(waits))));
        receive(&said);
        drop(keeps);
        let report = closes.join().expect("it ends");
        assert_eq!(report.threads, 0);
        let_go.send(()).expect("it waits");
        brings.join().expect("it only brings a task");
    });
}

#[test]
fn an_abort_handle_cancels_a_task_that_somebody_else_awaits() {
    within(60, || {
        let runtime = of_threads(1);
        let _entered = runtime.enter();
        let waits = task::Builder::new()
            .name("waits")
            .spawn(std::future::pending::<()>());
        let abort = waits.abort_handle().clone();
        assert_eq!((abort.id(), abort.name()), (waits.id(), Some("waits")));
        assert_eq!(abort.location(), waits.location());
        assert!(!abort.is_finished());
        let waiter = thread::spawn(|| waits.join());
        abort.abort();
        let outcome = waiter.join().expect("nothing panics");
        assert!(outcome.unwrap_err().is_cancelled() && abort.is_finished());
    });
}

#[test]
fn a_detached_task_ends_by_its_abort_handle_and_without_it() {
    within(60, || {
        let runtime = of_threads(1);
        let _entered = runtime.enter();
        let ledger = Ledger::new(4);
        let mut things = ledger.make_all().into_iter();
        let mut thing = || things.next();
        // A future that waits, one that ends, a closure that has not begun, and one that has ended.
        let (waits, ends, queued, result) = (thing(), thing(), thing(), thing());
        let waits = task::spawn(async move {
            let _kept = waits;
            std::future::pending::<()>().await;
        });
        let ends = task::spawn(async move { drop(ends) });
        let ended = task::run(move || result);
        let (let_go, blocked) = block(&runtime);
        let queued = task::run(move || drop(queued));
        let aborts = [
            waits.abort_handle(),
            ends.abort_handle(),
            ended.abort_handle(),
            queued.abort_handle(),
        ];
        drop((waits, ends, ended, queued));
        aborts.iter().for_each(AbortHandle::abort);
        drop(let_go);
        blocked.join().expect("it only waits");
        wait_until("all have ended", || {
            aborts.iter().all(AbortHandle::is_finished)
        });
        drop(aborts);
        wait_until("all are dropped", || ledger.count_dropped() == 4);
        ledger.assert_settled();
    });
}

#[test]
fn abort_handles_and_handles_of_many_tasks_end_in_any_order() {
    const TASKS: usize = if cfg!(miri) { 20 } else { 20_000 };
    within(120, || {
        let runtime = of_threads(2);
        let _entered = runtime.enter();
        let ledger = Ledger::new(TASKS);
        let (bring, brought) = mpsc::channel::<AbortHandle>();
        let aborter = thread::spawn(move || {
            for (n, abort) in brought.into_iter().enumerate() {
                if n % 3 == 0 {
                    abort.abort();
                }
                drop(abort.clone());
            }
        });
        for (n, thing) in ledger.make_all().into_iter().enumerate() {
            let task = match n % 2 {
                0 => task::run(move || thing),
                _ => task::spawn(async move {
                    task::yield_now().await;
                    thing
                }),
            };
            bring.send(task.abort_handle()).expect("it takes all");
            if n % 5 == 0 {
                drop(task.join());
            }
        }
        drop(bring);
        aborter.join().expect("nothing panics");
        wait_until("all are dropped", || ledger.count_dropped() == TASKS);
        ledger.assert_settled();
    });
}

#[test]
fn an_end_with_a_limit_names_what_still_runs_and_goes_on() {
    within(60, || {
        let kept = Arc::new(());
        let hook = Arc::clone(&kept);
        let builder = Runtime::builder()
            .workers(2)
            .on_thread_stop(move |_| drop(Arc::clone(&hook)));
        let runtime = builder.build().expect("the number is right");
        let stop = Arc::new(AtomicBool::new(false));
        let (begin, begun) = mpsc::channel();
        let endless = {
            let (stop, begin) = (Arc::clone(&stop), begin.clone());
            move || {
                begin.send(()).expect("the test waits");
                loop_until(&stop, || ());
            }
        };
        let entered = runtime.enter();
        let named = task::Builder::new().name("never ends").run(endless);
        receive(&begun);
        let (let_go, gate) = mpsc::channel::<()>();
        let asleep = task::run(move || {
            begin.send(()).expect("the test waits");
            let _ = gate.recv();
        });
        let queued = task::spawn(std::future::pending::<()>());
        drop(entered);
        receive(&begun);
        let report = runtime.shutdown_timeout_blocking(Duration::from_millis(20));
        assert!(queued.join().unwrap_err().is_cancelled());
        let unfinished = |place: u32| {
            let mut all = report.unfinished.iter();
            all.find(|work| work.task.is_some_and(|task| task.line() == place))
        };
        let first = unfinished(named.location().line()).expect("it runs");
        assert_eq!(first.name.as_deref(), Some("never ends"));
        assert!(first.to_string().contains("the task `never ends` of "));
        let second = unfinished(asleep.location().line()).expect("it runs");
        assert_eq!((&second.name, asleep.is_finished()), (&None, false));
        // What still runs ends as ever, and then the runtime does.
        stop.store(true, Ordering::SeqCst);
        drop(let_go);
        asleep.join().expect("it only waits");
        named.join().expect("it was stopped");
        wait_until("the runtime is gone", || Arc::strong_count(&kept) == 1);
    });
}

#[test]
fn an_end_in_the_background_waits_for_nobody() {
    within(60, || {
        let runtime = of_threads(1);
        let (let_go, blocked) = block(&runtime);
        let report = runtime.shutdown_background();
        assert_eq!(report.unfinished.len(), 1);
        assert!(!blocked.is_finished());
        drop(let_go);
        blocked.join().expect("it only waits");
    });
}

#[test]
fn an_end_with_a_limit_returns_before_it_if_nothing_runs() {
    within(60, || {
        let runtime = of_threads(2);
        runtime
            .install(|| task::run(|| ()))
            .join()
            .expect("it does nothing");
        let report = runtime.shutdown_timeout_blocking(Duration::MAX);
        assert!(report.unfinished.is_empty());
    });
}

#[test]
fn a_closed_tracker_waits_for_all_tasks_and_keeps_none_of_them() {
    within(60, || {
        let runtime = of_threads(2);
        let _entered = runtime.enter();
        let tracker = TaskTracker::new();
        let ledger = Ledger::new(100);
        for (n, thing) in ledger.make_all().into_iter().enumerate() {
            let task = match n % 3 {
                0 => tracker.spawn(async move { drop(thing) }),
                1 => tracker.run(move || drop(thing)),
                _ => {
                    let task = tracker.spawn(async move {
                        let _kept = thing;
                        std::future::pending::<()>().await;
                    });
                    task.abort();
                    task
                }
            };
            drop(task);
        }
        let token = tracker.token();
        let mut ended = std::pin::pin!(tracker.wait());
        let mut context = Context::from_waker(Waker::noop());
        assert!(ended.as_mut().poll(&mut context).is_pending());
        tracker.close();
        assert!(ended.as_mut().poll(&mut context).is_pending());
        drop(token);
        task::block_on(ended);
        ledger.assert_settled();
        assert_eq!(tracker.len(), 0);
        task::block_on(tracker.wait());
        // Nobody is left who could close this one.
        let unclosed = TaskTracker::new().wait();
        task::block_on(unclosed);
    });
}

#[test]
fn a_group_is_made_of_futures_and_extended_by_them() {
    within(60, || {
        let runtime = of_threads(1);
        let _entered = runtime.enter();
        let mut group: TaskGroup<u8> = (0..3).map(|n| async move { n }).collect();
        group.extend((3..5).map(|n| async move { n }));
        let values = task::block_on(group.wait()).into_iter().map(Result::unwrap);
        assert!(values.eq(0..5));
    });
}

#[test]
fn a_tracked_task_counts_until_it_is_dropped_although_it_never_began() {
    struct Looks(mpsc::Sender<usize>, TaskTracker);
    impl Drop for Looks {
        fn drop(&mut self) {
            let _ = self.0.send(self.1.len());
        }
    }
    within(60, || {
        let runtime = of_threads(1);
        let _entered = runtime.enter();
        let (let_go, blocked) = block(&runtime);
        let tracker = TaskTracker::new();
        let (say, seen) = mpsc::channel();
        let (first, second) = (
            Looks(say.clone(), tracker.clone()),
            Looks(say, tracker.clone()),
        );
        let future = tracker.spawn(async move { drop(first) });
        future.abort();
        drop(future);
        drop(let_go);
        blocked.join().expect("it only waits");
        assert_eq!(receive(&seen), 1);
        let (let_go, blocked) = block(&runtime);
        let closure = tracker.run(move || drop(second));
        closure.abort();
        drop(let_go);
        blocked.join().expect("it only waits");
        assert!(closure.join().unwrap_err().is_cancelled());
        assert_eq!(receive(&seen), 1);
    });
}

#[test]
fn an_end_with_a_limit_waits_for_no_destructor_of_a_thread() {
    struct Waits(mpsc::Receiver<()>);
    impl Drop for Waits {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }
    thread_local! {
        static WAITS: std::cell::RefCell<Option<Waits>> = const { std::cell::RefCell::new(None) };
    }
    within(60, || {
        for ends in [
            (|runtime: Runtime| runtime.shutdown_background()) as fn(Runtime) -> _,
            |runtime| runtime.shutdown_timeout_blocking(Duration::from_millis(50)),
            |runtime| runtime.shutdown_timeout_blocking(Duration::MAX),
        ] {
            let (let_go, gate) = mpsc::channel();
            let runtime = of_threads(1);
            let waits = runtime.handle().run(|| WAITS.set(Some(Waits(gate))));
            runtime
                .handle()
                .block_on(waits)
                .expect("it only sets a value");
            ends(runtime);
            drop(let_go);
        }
    });
}

#[test]
fn what_a_thread_spawns_that_takes_part_in_an_ended_runtime_is_dropped_at_once() {
    within(60, || {
        let runtime = of_threads(1);
        let handle = runtime.handle();
        let (end, ends) = mpsc::channel();
        let (ended, wait) = mpsc::channel();
        let outside = thread::spawn(move || {
            let _entered = handle.enter();
            manyhands::scope(|_| {
                end.send(()).expect("the test waits");
                receive(&wait);
                let tasks = [handle.run(|| ()), handle.spawn(async {}), task::run(|| ())];
                // Another thread waits, so this one does not run them in place.
                let wait = |task: task::JoinHandle<()>| thread::spawn(|| task.join());
                let outcomes = tasks
                    .map(wait)
                    .map(|waiter| waiter.join().expect("nothing panics"));
                assert!(outcomes.iter().all(|outcome| outcome.is_err()));
            });
        });
        receive(&ends);
        runtime.shutdown_background();
        ended.send(()).expect("the thread waits");
        outside.join().expect("all are dropped");
    });
}

#[test]
fn the_name_and_the_line_of_unfinished_work_belong_together() {
    within(60, || {
        let runtime = of_threads(1);
        let (begin, begun) = mpsc::channel();
        let (let_go, gate) = mpsc::channel::<()>();
        let outer = runtime.handle().run(move || {
            let inner = task::Builder::new().name("inner").run(move || {
                begin.send(()).expect("the test waits");
                let _ = gate.recv();
            });
            let line = inner.location().line();
            // In place.
            inner.join().expect("it only waits");
            line
        });
        receive(&begun);
        let report = runtime.shutdown_background();
        drop(let_go);
        let line = outer.join().expect("it only waits");
        let unfinished = &report.unfinished[0];
        assert_eq!(unfinished.name.as_deref(), Some("inner"));
        assert_eq!(unfinished.task.map(|task| task.line()), Some(line));
        assert_eq!(report.threads, 1);
    });
}
