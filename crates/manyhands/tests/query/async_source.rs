//! Queries over streams: items as they arrive, in order, on several workers, and however they end.

use crate::support::{Counted, Ledger, blow, panics, wait_until, within_limit};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use manyhands::query::Merge;
use manyhands::simulation::Simulation;
use manyhands::{Runtime, channel, query, query::prelude::*, task, time};
use std::collections::HashSet;
use std::hint;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

fn simulate<F: Future>(seed: u64, future: F) -> F::Output {
    Simulation::new(seed).run(future).expect("it can go on")
}

/// A stream of which each item takes some milliseconds, many of them none.
fn arriving<T: Send + 'static>(items: Vec<T>) -> BoxStream<'static, T> {
    let items = stream::iter(items.into_iter().enumerate());
    let slow = items.then(|(index, item)| async move {
        if index % 10 == 7 {
            time::sleep(Duration::from_millis(index as u64 % 3)).await;
        }
        item
    });
    slow.boxed()
}

#[test]
fn items_that_arrive_go_through_all_operators_in_order() {
    let expected: Vec<u64> = (0..500_u64)
        .filter(|n| n % 3 != 0)
        .flat_map(|n| [n, n + 1])
        .filter_map(|n| n.checked_sub(10))
        .map(|n| n * n)
        .collect();
    for seed in 0..10 {
        let seen = Arc::new(AtomicUsize::new(0));
        let seeing = Arc::clone(&seen);
        let source = arriving((0..500_u64).collect());
        let squares = query::from_stream(source)
            .filter(|n| n % 3 != 0)
            .flat_map(|n| [n, n + 1])
            .filter_map(|n| n.checked_sub(10))
            .map(|n| n * n)
            .inspect(move |_| {
                seeing.fetch_add(1, Ordering::SeqCst);
            });
        let given: Vec<u64> = simulate(seed, async { squares.stream().collect().await });
        assert_eq!(given, expected);
        assert_eq!(seen.load(Ordering::SeqCst), expected.len());
    }
}

#[test]
fn a_source_without_items_and_a_query_without_results_end() {
    simulate(1, async {
        let mut none = query::from_stream(stream::empty::<u8>())
            .map(|n| n)
            .stream();
        assert_eq!(none.next().await, None);
        assert_eq!(none.next().await, None);
        let source = arriving((0..10_000).collect());
        let filtered = query::from_stream(source).filter(|n: &i32| *n < 0).stream();
        assert_eq!(filtered.count().await, 0);
    });
}

#[test]
fn results_come_before_the_source_ends_and_no_thread_waits_for_it() {
    within_limit(|| {
        let one = Runtime::builder().workers(1).max_threads(1);
        let runtime = one.build().unwrap();
        let _entered = runtime.enter();
        let (sender, receiver) = channel::bounded(10);
        let mut doubled = query::from_stream(receiver.into_stream())
            .map(|n| 2 * n)
            .stream();
        for n in 0..5 {
            sender.send_blocking(n).unwrap();
            assert_eq!(task::block_on(doubled.next()), Some(2 * n));
            // The only thread is free while the query waits.
            assert_eq!(task::run(move || n).join().unwrap(), n);
        }
        drop(sender);
        assert_eq!(task::block_on(doubled.next()), None);
    });
}

#[test]
fn items_that_are_there_together_are_run_by_several_workers() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let _entered = runtime.enter();
        let threads = Arc::new(Mutex::new(HashSet::new()));
        wait_until("two threads ran items", || {
            let seen = Arc::clone(&threads);
            let noting = query::from_stream(stream::iter(0..64)).map(move |n| {
                seen.lock().unwrap().insert(thread::current().id());
                time::sleep_blocking(Duration::from_millis(1));
                n
            });
            let given: Vec<i32> = task::block_on(noting.stream().collect());
            assert!(given.into_iter().eq(0..64));
            threads.lock().unwrap().len() > 1
        });
        let alone = Arc::new(AtomicUsize::new(0));
        let inside = Arc::clone(&alone);
        let numbers = query::from_stream(stream::iter(0..64)).degree_of_parallelism(1);
        let numbers = numbers.unwrap().map(move |n| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
            time::sleep_blocking(Duration::from_millis(1));
            inside.fetch_sub(1, Ordering::SeqCst);
            n
        });
        assert_eq!(task::block_on(numbers.stream().count()), 64);
    });
}

#[test]
fn a_stream_that_is_dropped_anywhere_ends_its_source_and_drops_each_item_once() {
    for taken in (0..60).step_by(7) {
        let ledger = Arc::new(Ledger::default());
        let items = ledger.make_all(100);
        simulate(taken, async {
            // It never ends by itself.
            let source = arriving(items).chain(stream::pending());
            let mut given = query::from_stream(source).map(|item| item).stream();
            for number in 0..taken {
                let item: Counted = given.next().await.unwrap();
                assert_eq!(item.number as u64, number);
            }
            drop(given);
            time::sleep(Duration::from_secs(1)).await;
            ledger.assert_settled("dropped while it waits or runs");
        });
    }
}

#[test]
fn a_query_takes_no_more_from_its_source_than_a_few_steps() {
    simulate(1, async {
        let asked = Arc::new(AtomicUsize::new(0));
        let asking = Arc::clone(&asked);
        let source = stream::iter(0..).inspect(move |_| {
            asking.fetch_add(1, Ordering::SeqCst);
        });
        let mut given = query::from_stream(source).stream();
        assert_eq!(given.next().await, Some(0));
        time::sleep(Duration::from_secs(1)).await;
        let ahead = asked.load(Ordering::SeqCst);
        time::sleep(Duration::from_secs(1)).await;
        assert_eq!(asked.load(Ordering::SeqCst), ahead);
        assert_eq!(given.next().await, Some(1));
    });
}

#[test]
fn a_panic_of_an_operator_or_of_the_source_comes_through_the_stream() {
    for (in_source, in_operator) in [(30, 1_000), (1_000, 30)] {
        let ledger = Arc::new(Ledger::default());
        let items = ledger.make_all(100);
        simulate(1, async {
            let source = arriving(items).inspect(move |item| {
                if item.number == in_source {
                    blow();
                }
            });
            let passed = query::from_stream(source).map(move |item| {
                if item.number == in_operator {
                    blow();
                }
                item
            });
            let mut given = passed.stream();
            let mut count = 0;
            let ended = loop {
                let next = AssertUnwindSafe(given.next());
                match futures::FutureExt::catch_unwind(next).await {
                    Ok(Some(_)) => count += 1,
                    ended => break ended,
                }
            };
            assert!(ended.is_err() && count <= 30);
            assert!(given.next().await.is_none());
        });
        ledger.assert_settled("after a panic");
    }
}

#[test]
fn a_stream_whose_runtime_is_shut_down_does_not_look_complete() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _ = runtime.install(|| task::run(|| ()).join());
        let (sender, receiver) = channel::bounded(1);
        let arriving = runtime.install(|| query::from_stream(receiver.into_stream()).stream());
        sender.send_blocking(1).unwrap();
        let mut arriving = arriving.into_iter();
        assert_eq!(arriving.next(), Some(1));
        drop(runtime);
        let ended = catch_unwind(AssertUnwindSafe(|| arriving.next()));
        let payload = ended.expect_err("its end was not reached");
        assert!(
            payload
                .downcast_ref::<&str>()
                .unwrap()
                .contains("shut down")
        );
        assert!(!panics(|| assert_eq!(arriving.next(), None)));

        let runtime = Runtime::builder()
            .workers(1)
            .max_threads(1)
            .build()
            .unwrap();
        let (begun, begins) = std::sync::mpsc::channel();
        let (go, goes) = std::sync::mpsc::channel::<()>();
        runtime.install(|| {
            task::run_detached(move || {
                begun.send(()).unwrap();
                let _ = goes.recv();
            });
        });
        begins.recv().unwrap();
        let queued = runtime.install(|| (0..10).into_par_query().stream());
        let ending = thread::spawn(move || drop(runtime));
        // The runtime drops what waits, or the worker begins it before.
        drop(go);
        ending.join().unwrap();
        let given = catch_unwind(AssertUnwindSafe(|| queued.into_iter().count()));
        assert!(given.is_err() || given.is_ok_and(|count| count == 10));
    });
}

#[test]
fn a_source_that_always_has_another_item_keeps_no_result_back() {
    within_limit(|| {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let source = stream::iter(0_u64..).inspect(move |_| {
            let _held = &held;
            (0..1_000).for_each(|_| hint::spin_loop());
        });
        let mut numbers = query::from_stream(source)
            .merge(Merge::FullyBuffered)
            .stream();
        assert_eq!(task::block_on(numbers.next()), Some(0));
        drop(numbers);
        wait_until("the source's end", || Arc::strong_count(&alive) == 1);
    });
}
