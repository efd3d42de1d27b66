//! Metrics: each number counts what it says.

use crate::support::{Board, on, on_runtime, wait_until};
use manyhands::cancel::TokenSource;
use manyhands::diagnostics::Metrics;
use manyhands::parallel::{Options, from_iter};
use manyhands::{Handle, Runtime, join, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Waits until the metrics are as they should be; returns what they are then.
fn wait_for(runtime: &Runtime, what: &str, condition: impl Fn(&Metrics) -> bool) -> Metrics {
    wait_until(what, || condition(&runtime.metrics()));
    runtime.metrics()
}

#[test]
fn a_new_runtime_has_done_nothing() {
    on_runtime(3, |runtime| {
        let metrics = runtime.metrics();
        assert_eq!(metrics.workers, 3);
        let now = [
            metrics.threads,
            metrics.working,
            metrics.searching,
            metrics.asleep,
            metrics.blocked,
            metrics.detected_blocked,
        ];
        assert_eq!(now, [0; 6]);
        let totals = [
            metrics.steals,
            metrics.parks,
            metrics.threads_started,
            metrics.completed,
            metrics.contentions,
        ];
        assert_eq!(totals, [0; 5]);
    });
}

#[test]
fn totals_do_not_come_from_an_earlier_runtime() {
    for _ in 0..3 {
        on_runtime(2, |runtime| {
            let before = runtime.metrics();
            assert_eq!((before.completed, before.parks), (0, 0));
            runtime.install(|| task::run(|| ())).join().unwrap();
            wait_for(runtime, "one task completed", |now| now.completed == 1);
        });
    }
}

#[test]
fn every_task_is_completed_once() {
    on_runtime(2, |runtime| {
        let _entered = runtime.enter();
        let tasks: Vec<_> = (0..1_000).map(|i| task::run(move || i)).collect();
        for (i, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), i);
        }
        let metrics = wait_for(runtime, "all are completed", |now| now.completed >= 1_000);
        assert_eq!(metrics.completed, 1_000);
    });
}

#[test]
fn threads_that_run_are_working_and_those_without_work_are_asleep() {
    on_runtime(2, |runtime| {
        let events = Arc::new(Board::new(2));
        let is_over = Arc::new(AtomicBool::new(false));
        let tasks = [0, 1].map(|number| {
            let (events, is_over) = (Arc::clone(&events), Arc::clone(&is_over));
            let work = move || {
                events.happens(number);
                // Computes: for a thread that blocks, another would be started.
                wait_until("it is over", || is_over.load(Ordering::SeqCst));
            };
            runtime.install(|| task::run(work))
        });
        events.wait_for(0);
        events.wait_for(1);
        let busy = wait_for(runtime, "both work", |now| now.working == 2);
        assert_eq!((busy.threads, busy.threads_started), (2, 2));
        assert_eq!(busy.asleep, 0);
        is_over.store(true, Ordering::SeqCst);
        for task in tasks {
            task.join().unwrap();
        }
        // A thread is asleep a moment before its park is counted.
        let idle = wait_for(runtime, "both are asleep", |now| {
            now.asleep == 2 && now.parks >= 2
        });
        assert_eq!((idle.threads, idle.working, idle.searching), (2, 0, 0));
        assert_eq!(idle.threads_started, 2);
    });
}

#[test]
fn an_outside_caller_works_while_it_takes_part() {
    on_runtime(2, |runtime| {
        let inside = runtime.install(|| runtime.metrics());
        assert_eq!((inside.working, inside.threads), (1, 0));
        assert_eq!(runtime.metrics().working, 0);
    });
}

#[test]
fn a_worker_without_work_searches_before_it_sleeps() {
    on_runtime(1, |runtime| {
        runtime.install(|| task::run(|| ())).join().unwrap();
        // It sleeps soon; each task gives another chance to see it.
        wait_until("somebody searches", || {
            runtime.install(|| drop(task::run(|| ())));
            runtime.metrics().searching == 1
        });
    });
}

#[test]
fn the_stolen_half_of_a_join_is_a_steal_and_its_waiter_is_blocked() {
    on_runtime(2, |runtime| {
        let before = runtime.metrics();
        let (stolen, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        runtime.install(|| {
            join(
                || {
                    wait_until("the second half is stolen", || {
                        stolen.load(Ordering::SeqCst)
                    });
                },
                || {
                    stolen.store(true, Ordering::SeqCst);
                    // The first half has ended by now or soon, and its caller waits for this one.
                    wait_for(runtime, "only the thief works", |now| {
                        now.blocked == 1 && now.working == 1
                    });
                    seen.store(true, Ordering::SeqCst);
                },
            )
        });
        assert!(seen.into_inner());
        let after = runtime.metrics();
        assert_eq!((before.steals, after.steals), (0, 1));
        assert_eq!(after.blocked, 0);
    });
}

#[test]
fn undeclared_blocking_is_detected() {
    let runtime = Runtime::builder().workers(1).max_threads(2).build();
    on(runtime.unwrap(), |runtime| {
        let events = Arc::new(Board::new(1));
        // The third stays visible while the first two block, because no third thread is allowed.
        let tasks = [(); 3].map(|()| {
            let events = Arc::clone(&events);
            runtime.install(|| task::run(move || events.wait_for(0)))
        });
        // The counts are read one after the other, so a sample may see a thread on its way between two of them.
        let metrics = wait_for(runtime, "both are detected", |now| {
            now.detected_blocked == 2 && now.working == 0
        });
        assert_eq!(metrics.threads_started, 2);
        events.happens(0);
        for task in tasks {
            task.join().unwrap();
        }
        wait_for(runtime, "none is blocked", |now| now.detected_blocked == 0);
    });
}

#[test]
fn runners_that_meet_at_an_iterator_are_contentions() {
    on_runtime(2, |runtime| {
        // The first item is not given before another runner has come for one.
        let items = (0..10).inspect(|item| {
            if *item == 0 {
                wait_for(runtime, "another runner comes", |now| now.contentions > 0);
            }
        });
        let loop_options = Options::new().runtime(runtime);
        loop_options.for_each(from_iter(items).unbuffered(), |_| {});
        assert!(runtime.metrics().contentions > 0);
    });
}

/// Whether the runtime has a thread that has declared that it blocks.
fn is_blocked(runtime: &Handle) -> bool {
    runtime.metrics().is_some_and(|now| now.blocked == 1)
}

#[test]
fn a_thread_that_waits_for_a_callback_of_a_cancellation_is_blocked() {
    on_runtime(1, |runtime| {
        let (source, waiting) = (TokenSource::new(), runtime.handle());
        let begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&begun);
        let registration = source.token().register(move || {
            begins.store(true, Ordering::SeqCst);
            wait_until("its thread is blocked", || is_blocked(&waiting));
        });
        let canceller = thread::spawn(move || source.cancel());
        wait_until("the callback runs", || begun.load(Ordering::SeqCst));
        let dropped = runtime.handle().run(move || drop(registration));
        dropped.join().unwrap();
        canceller.join().unwrap();
    });
}

#[test]
fn a_thread_that_ends_another_runtime_is_blocked_meanwhile() {
    for limit in [None, Some(Duration::from_secs(3_600))] {
        on_runtime(1, move |runtime| {
            let ended = Runtime::builder().workers(1).build().unwrap();
            let (waiting, begun) = (runtime.handle(), Arc::new(AtomicBool::new(false)));
            let begins = Arc::clone(&begun);
            let working = ended.handle().run(move || {
                begins.store(true, Ordering::SeqCst);
                wait_until("the other thread is blocked", || is_blocked(&waiting));
            });
            wait_until("it works", || begun.load(Ordering::SeqCst));
            let ends = runtime.handle().run(move || match limit {
                Some(limit) => ended.shutdown_timeout_blocking(limit),
                None => ended.shutdown_blocking(),
            });
            assert!(ends.join().unwrap().unfinished.is_empty());
            working.join().unwrap();
        });
    }
}
