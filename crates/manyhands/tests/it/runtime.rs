//! Runtimes: sizes, configuration, threads and hooks. Their end is in `shutdown.rs`.

use crate::support::{of_threads, on, on_runtime, receive, wait_until, within};
use crate::which_runtime::{thread_name, where_tasks_run};
use manyhands::parallel::Options;
use manyhands::query::prelude::*;
use manyhands::task::Priority;
use manyhands::{BuildError, Runtime, RuntimeBuilder, join, scope, task};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

#[test]
fn pools_of_any_size_run_loops_joins_scopes_and_tasks() {
    for workers in [1, 3, 64, 1_024] {
        on_runtime(workers, move |runtime| {
            assert_eq!(runtime.workers(), workers);
            let sum: u64 = (0..100_000_u64).into_par_query().runtime(runtime).sum();
            assert_eq!(sum, 4_999_950_000);
            let squares = Options::new().runtime(runtime).map(0..2_000_u64, |i| {
                crate::support::busy_micros(5);
                i * i
            });
            assert!(squares.into_iter().eq((0..2_000).map(|i| i * i)));
            runtime.install(|| {
                assert_eq!(fibonacci(15), 610);
                let count = AtomicUsize::new(0);
                scope(|s| {
                    for _ in 0..2_000 {
                        s.spawn(|_| {
                            count.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                });
                assert_eq!(count.into_inner(), 2_000);
                let handles: Vec<_> = (0..2_000).map(|i| task::run(move || i)).collect();
                let sum: i32 = handles
                    .into_iter()
                    .map(|handle| handle.join().unwrap())
                    .sum();
                assert_eq!(sum, 1_999_000);
            });
        });
    }
}

fn fibonacci(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fibonacci(n - 1), || fibonacci(n - 2));
    a + b
}

#[test]
fn a_thousand_workers_can_all_run_at_once() {
    on_runtime(1_024, |runtime| {
        let barrier = Arc::new(Barrier::new(300));
        let handles: Vec<_> = runtime.install(|| {
            let start = || {
                let barrier = Arc::clone(&barrier);
                task::run(move || barrier.wait().is_leader())
            };
            (0..300).map(|_| start()).collect()
        });
        handles
            .into_iter()
            .for_each(|handle| assert!(handle.join().is_ok()));
        assert!(runtime.threads() >= 299);
    });
}

#[test]
fn a_new_runtime_has_no_threads_and_starts_them_when_needed() {
    on_runtime(2, |runtime| {
        assert_eq!(runtime.threads(), 0);
        runtime.install(where_tasks_run);
        assert!(runtime.threads() >= 1);
        assert_eq!(runtime.workers(), 2);
    });
}

#[test]
fn the_default_number_of_workers_is_at_least_one() {
    let runtime = Runtime::builder().build().unwrap();
    assert!(runtime.workers() >= 1);
    let available = thread::available_parallelism().unwrap().get();
    assert!(runtime.workers() <= available);
}

#[test]
fn impossible_configurations_are_refused() {
    let refused = |builder: RuntimeBuilder| builder.build().unwrap_err();
    let none = refused(Runtime::builder().workers(0));
    assert_eq!(none.to_string(), "a runtime needs at least one worker");
    let below = refused(Runtime::builder().workers(4).max_threads(3));
    assert_eq!(
        below.to_string(),
        "`max_threads` is 3, which is less than the 4 workers"
    );
    let many = refused(Runtime::builder().workers(100_000));
    assert!(many.to_string().contains("more than"), "{many}");
    refused(Runtime::builder().workers(usize::MAX));
    refused(Runtime::builder().workers(1).max_threads(usize::MAX));
    refused(Runtime::builder().workers(1).max_threads(0));
    assert_ne!(none, below);
    let error: Box<dyn std::error::Error + Send + Sync> = Box::new(BuildError::clone(&many));
    assert_eq!(error.to_string(), many.to_string());
}

#[test]
fn as_many_threads_as_workers_are_enough_to_allow() {
    let runtime = Runtime::builder()
        .workers(3)
        .max_threads(3)
        .build()
        .unwrap();
    on(runtime, |runtime| {
        let sum: u64 = (0..10_000_u64).into_par_query().runtime(runtime).sum();
        assert_eq!(sum, 49_995_000);
        runtime.install(|| assert!(where_tasks_run().starts_with("manyhands-")));
        assert!(runtime.threads() <= 3);
    });
}

#[test]
fn the_limit_of_threads_is_kept_when_all_of_them_block() {
    let runtime = Runtime::builder()
        .workers(2)
        .max_threads(4)
        .build()
        .unwrap();
    on(runtime, |runtime| {
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let (started, has_started) = mpsc::channel();
        let handles: Vec<_> = runtime.install(|| {
            let start = || {
                let (released, started) = (Arc::clone(&released), started.clone());
                task::run(move || {
                    started.send(()).unwrap();
                    released.lock().unwrap().recv().unwrap();
                })
            };
            (0..20).map(|_| start()).collect()
        });
        receive(&has_started);
        receive(&has_started);
        assert!(runtime.threads() <= 4);
        (0..20).for_each(|_| release.send(()).unwrap());
        handles
            .into_iter()
            .for_each(|handle| handle.join().unwrap());
        assert!(runtime.threads() <= 4);
    });
}

#[test]
fn threads_are_named_by_their_index() {
    let builder = Runtime::builder().workers(2);
    let runtime = builder
        .thread_name(|index| format!("crunch-{index}"))
        .build()
        .unwrap();
    on(runtime, |runtime| {
        let name = runtime.install(where_tasks_run);
        let index: usize = name.strip_prefix("crunch-").unwrap().parse().unwrap();
        assert!(index < 2 + 256);
    });
    on_runtime(2, |runtime| {
        let name = runtime.install(where_tasks_run);
        assert!(name.starts_with("manyhands-"), "{name}");
    });
}

#[test]
fn threads_are_named_by_who_builds_the_runtime() {
    let (name, named) = mpsc::channel();
    let builder = Runtime::builder().workers(1).max_threads(3);
    let builder = builder.thread_name(move |index| {
        task::spawn(async {}).join().unwrap();
        name.send((index, thread::current().id())).unwrap();
        format!("crunch-{index}")
    });
    let runtime = builder.build().unwrap();
    let here = thread::current().id();
    let all = [(0, here), (1, here), (2, here)];
    assert!(named.try_iter().eq(all));
    on(runtime, move |runtime| {
        assert_eq!(runtime.install(where_tasks_run), "crunch-0");
        assert!(named.try_recv().is_err(), "no thread asks again");
    });
}

#[test]
fn a_naming_function_that_fails_gets_the_default_name() {
    for bad in [
        |_| crate::support::blow("no name"),
        |_| String::from("nul\0name"),
    ] {
        let name: fn(usize) -> String = bad;
        let runtime = Runtime::builder()
            .workers(1)
            .thread_name(name)
            .build()
            .unwrap();
        on(runtime, |runtime| {
            assert!(runtime.install(where_tasks_run).starts_with("manyhands-"));
        });
    }
}

/// Uses at least a kilobyte of stack at each level.
fn deep(levels: u32) -> u32 {
    let room = [1_u8; 1024];
    let one = u32::from(black_box(&room)[7]);
    if levels == 0 {
        return one;
    }
    deep(levels - 1) + one - 1
}

#[test]
fn the_stack_size_is_honoured() {
    // Eight times the standard library's stack is used, so this would overflow without the option.
    let runtime = Runtime::builder()
        .workers(1)
        .stack_size(128 << 20)
        .build()
        .unwrap();
    on(runtime, |runtime| {
        let (sender, receiver) = mpsc::channel();
        runtime.install(|| drop(task::run(move || sender.send(deep(16 * 1024)).unwrap())));
        assert_eq!(receive(&receiver), 1);
    });
}

#[derive(Debug, Default)]
struct Hooks {
    started: Mutex<BTreeMap<usize, String>>,
    stopped: Mutex<BTreeMap<usize, String>>,
}

impl Hooks {
    fn note(threads: &Mutex<BTreeMap<usize, String>>, index: usize) {
        let before = threads
            .lock()
            .unwrap_or_else(|p| p.into_inner())
            .insert(index, thread_name());
        assert_eq!(before, None, "a hook ran twice");
    }

    fn builder(self: &Arc<Self>) -> RuntimeBuilder {
        let (starting, stopping) = (Arc::clone(self), Arc::clone(self));
        Runtime::builder()
            .on_thread_start(move |index| Self::note(&starting.started, index))
            .on_thread_stop(move |index| Self::note(&stopping.stopped, index))
    }
}

#[test]
fn hooks_run_once_on_each_thread_and_every_started_thread_stops() {
    within(60, || {
        let hooks = Arc::new(Hooks::default());
        let runtime = hooks.builder().workers(3).build().unwrap();
        let barrier = Arc::new(Barrier::new(3));
        let handles: Vec<_> = runtime.install(|| {
            let start = || {
                let barrier = Arc::clone(&barrier);
                task::run(move || barrier.wait().is_leader())
            };
            (0..3).map(|_| start()).collect()
        });
        for handle in handles {
            handle.join().unwrap();
        }
        assert!(hooks.stopped.lock().unwrap().is_empty());
        let threads = runtime.threads();
        runtime.shutdown_blocking();
        let (started, stopped) = (hooks.started.lock().unwrap(), hooks.stopped.lock().unwrap());
        assert!(started.len() >= 2, "the caller is the third at most");
        assert_eq!(started.len(), threads);
        assert_eq!(*started, *stopped);
        for (index, name) in &*started {
            assert_eq!(name, &format!("manyhands-{index}"));
        }
    });
}

#[test]
fn a_hook_that_panics_does_no_harm() {
    let builder = Runtime::builder().workers(2);
    let builder = builder.on_thread_start(|_| crate::support::blow("start"));
    let runtime = builder
        .on_thread_stop(|_| crate::support::blow("stop"))
        .build()
        .unwrap();
    on(runtime, |runtime| {
        assert!(runtime.install(where_tasks_run).starts_with("manyhands-"));
    });
}

#[test]
fn a_hook_may_use_the_runtime_it_runs_on() {
    let (sender, receiver) = mpsc::channel();
    let builder = Runtime::builder().workers(2);
    let runtime = builder.on_thread_start(move |_| {
        let (a, b) = join(|| 1, || 2);
        let sum: u32 = (0..100_u32).into_par_query().sum();
        let _ = sender.send((a, b, sum));
    });
    on(runtime.build().unwrap(), move |runtime| {
        runtime.install(where_tasks_run);
        assert_eq!(receive(&receiver), (1, 2, 4_950));
    });
}

#[test]
fn a_dump_says_what_every_thread_does() {
    on_runtime(2, |runtime| {
        assert!(format!("{runtime:?}").contains("2 workers"));
        runtime.install(|| {
            task::run(|| ()).join().unwrap();
            assert!(format!("{runtime:?}").contains("worker slot"));
        });
        Options::new().runtime(runtime).for_each(0..50, |_| {
            assert!(!format!("{runtime:?}").is_empty());
        });
    });
}

#[test]
fn a_dump_says_that_a_task_waits_whatever_its_priority() {
    for priority in [
        Priority::Interactive,
        Priority::Normal,
        Priority::Background,
    ] {
        on(of_threads(1), move |runtime| {
            let _entered = runtime.enter();
            let ((begin, begun), (let_go, gate)) = (mpsc::channel(), mpsc::channel::<()>());
            let busy = task::run(move || {
                begin.send(()).unwrap();
                gate.recv().unwrap_err();
            });
            receive(&begun);
            let waits = task::Builder::new().priority(priority).run(|| ());
            let dump = format!("{runtime:?}");
            drop(let_go);
            assert!(dump.contains("tasks from outside: waiting"), "{dump}");
            assert!(busy.join().is_ok() && waits.join().is_ok());
        });
    }
}

#[test]
fn many_runtimes_one_after_the_other_and_at_once() {
    within(60, || {
        for round in 0..60 {
            let runtime = Runtime::builder().workers(1 + round % 4).build().unwrap();
            let sum: u64 = (0..1_000_u64).into_par_query().runtime(&runtime).sum();
            assert_eq!(sum, 499_500);
            assert!(runtime.install(where_tasks_run).starts_with("manyhands-"));
        }
        let runtimes: Vec<_> = (0..30)
            .map(|_| Runtime::builder().workers(2).build().unwrap())
            .collect();
        for runtime in &runtimes {
            assert!(runtime.install(where_tasks_run).starts_with("manyhands-"));
        }
        thread::scope(|threads| {
            for runtime in &runtimes {
                threads.spawn(|| {
                    let sum: u64 = (0..10_000_u64).into_par_query().runtime(runtime).sum();
                    assert_eq!(sum, 49_995_000);
                });
            }
        });
    });
}

#[test]
fn more_external_threads_than_slots_still_get_their_loops_run() {
    // A call that finds no slot is its caller's alone; here all callers are inside at once.
    on_runtime(2, |runtime| {
        let (inside, count) = (AtomicUsize::new(0), 1_100);
        thread::scope(|threads| {
            for _ in 0..count {
                let small = thread::Builder::new().stack_size(256 << 10);
                let run = || {
                    runtime.install(|| {
                        inside.fetch_add(1, Ordering::SeqCst);
                        wait_until("all are inside", || inside.load(Ordering::SeqCst) == count);
                        let (a, b) = join(|| 1, || 2);
                        let sum: u32 = (0..100_u32).into_par_query().sum();
                        let mut spawned = 0;
                        scope(|s| s.spawn(|_| spawned = 1));
                        assert_eq!((a, b, sum, spawned), (1, 2, 4_950, 1));
                    });
                };
                small.spawn_scoped(threads, run).unwrap();
            }
        });
    });
}

#[test]
fn where_no_thread_can_be_started_callers_do_their_work_alone() {
    let runtime = Runtime::builder().workers(2).stack_size(1 << 60).build();
    within(60, || {
        let runtime = runtime.unwrap();
        runtime.install(|| {
            assert_eq!(fibonacci(15), 610);
            let sum: u64 = (0..100_000_u64).into_par_query().sum();
            assert_eq!(sum, 4_999_950_000);
            assert_eq!(task::run(|| 7).join().unwrap(), 7);
            let count = AtomicUsize::new(0);
            scope(|s| {
                for _ in 0..100 {
                    s.spawn(|_| {
                        count.fetch_add(1, Ordering::SeqCst);
                    });
                }
            });
            assert_eq!(count.into_inner(), 100);
            drop(task::run(|| ()));
        });
        // The monitor asks again and again; a thread counts while the system is asked for it.
        wait_until("no thread is asked for", || runtime.threads() == 0);
        assert_eq!(runtime.metrics().threads_started, 0);
        assert_eq!(runtime.shutdown_blocking().dropped, 1);
    });
}
