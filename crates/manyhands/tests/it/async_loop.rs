//! Async loops: their promises, ends, failures and cancellations.

use crate::support::{
    Counted, HighWater, Ledger, blow, counters, message_of, of_threads, on_each_runtime, panics_of,
    values, within,
};
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, AsyncOptions, for_each_async, from_stream, map_async};
use manyhands::simulation::Simulation;
use manyhands::{Runtime, channel, task, time};
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

fn simulate<F: Future>(seed: u64, future: F) -> F::Output {
    Simulation::new(seed).run(future).unwrap()
}

/// Says how often it was asked for an item.
fn watched_items(count: usize) -> (impl Iterator<Item = usize> + Send, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let items = (0..count).inspect(move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    (items, asked)
}

fn at_once(count: usize) -> AsyncOptions<'static> {
    AsyncOptions::new().degree_of_parallelism(count).unwrap()
}

#[test]
fn a_loop_that_is_cancelled_before_it_begins_takes_nothing_from_its_source() {
    let source = TokenSource::new();
    source.cancel();
    let token = source.token();
    let (items, asked) = watched_items(10);
    let options = AsyncOptions::new().cancellation(&token);
    let ended = simulate(1, options.for_each_async(items, |_| async { blow("run") }));
    assert_eq!(ended.unwrap_err().token(), &token);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_fixed_concurrency_is_reached_and_never_exceeded() {
    for count in [1, 2, 7] {
        let water = Arc::new(HighWater::default());
        let inside = Arc::clone(&water);
        simulate(count as u64, async move {
            let body = move |i: u64| {
                let inside = Arc::clone(&inside);
                async move {
                    let pass = inside.enter();
                    time::sleep(Duration::from_millis(i % 5 + 1)).await;
                    drop(pass);
                }
            };
            let options = at_once(count);
            options.for_each_async(0..100, body).await;
        });
        assert_eq!(water.highest(), count);
    }
}

#[test]
fn one_at_a_time_is_in_order() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&log);
    let body = move |i: usize| {
        let kept = Arc::clone(&kept);
        async move {
            task::yield_now().await;
            kept.lock().unwrap().push(i);
        }
    };
    let options = at_once(1);
    simulate(3, options.for_each_async(0..50, body));
    assert_eq!(*log.lock().unwrap(), (0..50).collect::<Vec<_>>());
}

#[test]
fn bodies_that_never_wait_run_as_tasks_and_no_items_end_at_once() {
    within(20, || {
        let caller = thread::current().id();
        let ran_on = map_async(0..20, |_| async { thread::current().id() });
        assert!(task::block_on(ran_on).iter().all(|id| *id != caller));
    });
    let mut empty = Box::pin(for_each_async(0..0, |_: i32| async {}));
    let mut context = Context::from_waker(Waker::noop());
    assert!(empty.as_mut().poll(&mut context).is_ready());
    #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
    let reversed = for_each_async(5..1, |_: i32| async { blow("run") });
    simulate(1, reversed);
}

#[test]
fn each_item_is_run_once() {
    on_each_runtime(|runtime| {
        let counts = Arc::new(counters(3_000));
        let seen = Arc::clone(&counts);
        let body = move |i: usize| {
            let seen = Arc::clone(&seen);
            async move {
                if i.is_multiple_of(3) {
                    task::yield_now().await;
                }
                seen[i].fetch_add(1, Ordering::SeqCst);
            }
        };
        let options = AsyncOptions::new().runtime(runtime);
        task::block_on(options.for_each_async(0..3_000, body));
        assert_eq!(values(&counts), vec![1; 3_000]);
    });
}

macro_rules! each_index_of {
    ($($integer:ty),*) => {$({
        let indices = simulate(1, map_async(100..=<$integer>::MAX.min(127), |i: $integer| async move { i }));
        assert_eq!(indices, (100..=<$integer>::MAX.min(127)).collect::<Vec<_>>());
        simulate(1, parallel::for_each_async(0..9 as $integer, |_| async {}));
        simulate(1, parallel::AsyncOptions::new().for_each_async(0..9 as $integer, |_| async {}));
    })*};
}

#[test]
fn an_async_loop_runs_over_indices_of_every_integer_type() {
    each_index_of!(
        i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, isize, usize
    );
}

#[test]
fn bodies_run_on_the_runtime_that_was_given() {
    within(20, || {
        let named = Runtime::builder()
            .workers(2)
            .thread_name(|_| "chosen".into());
        let runtime = named.build().unwrap();
        let body = |_| async { thread::current().name() == Some("chosen") };
        let names = AsyncOptions::new().runtime(&runtime).map_async(0..50, body);
        assert!(task::block_on(names).iter().all(|is_chosen| *is_chosen));
    });
}

#[test]
fn a_failure_ends_the_items_that_run_and_begins_no_more() {
    for seed in 0..20 {
        let ledger = Ledger::new(1_000);
        let items = ledger.make_all();
        let body = |item: Counted| async move {
            if item.id == 3 {
                time::sleep(Duration::from_millis(1)).await;
                return Err(item.id);
            }
            pending().await
        };
        let failed = simulate(seed, parallel::try_for_each_async(items, body));
        let failures = failed.unwrap_err();
        assert_eq!(failures.errors().collect::<Vec<_>>(), [(3, &3)]);
        assert!(failures.cancelled().is_none());
        ledger.assert_settled();
    }
}

#[test]
fn every_failure_is_kept_and_a_cancellation_beside_them() {
    within(20, || {
        let runtime = of_threads(1);
        let source = TokenSource::new();
        let token = source.token();
        // The only worker runs all three before the caller, who holds it, looks at any.
        let (gate, opened) = channel::bounded::<()>(1);
        let body = move |i: u32| {
            let opened = opened.clone();
            async move {
                match i {
                    0 => opened.recv_blocking().map(drop).map_err(|_| i),
                    1 => blow("one"),
                    _ => Err(i),
                }
            }
        };
        let options = AsyncOptions::new().runtime(&runtime).cancellation(&token);
        let mut looping = Box::pin(options.try_for_each_async(0..4, body));
        let mut context = Context::from_waker(Waker::noop());
        // A long poll ends early.
        while looping.handle().begun() < 4 {
            assert!(looping.as_mut().poll(&mut context).is_pending());
        }
        gate.try_send(()).unwrap();
        while runtime.metrics().completed < 4 {
            thread::yield_now();
        }
        source.cancel();
        let failures = task::block_on(looping).unwrap_err();
        assert_eq!(failures.cancelled().unwrap().token(), &token);
        assert_eq!(failures.errors().collect::<Vec<_>>(), [(2, &2), (3, &3)]);
        let panics = failures.panics().map(|(i, panic)| (i, panic.message()));
        assert_eq!(panics.collect::<Vec<_>>(), [(1, Some("one"))]);
    });
}

#[test]
fn a_panic_of_the_source_resumes_from_the_loop() {
    let items = (0..10).inspect(|i| {
        if *i == 4 {
            blow("source");
        }
    });
    let ledger = Ledger::new(4);
    let kept = Arc::clone(&ledger);
    let looping = parallel::try_for_each_async(items, move |i: usize| {
        let item = kept.make(i);
        async move {
            pending::<()>().await;
            drop(item);
            Ok::<(), ()>(())
        }
    });
    let failures = simulate(1, looping).unwrap_err();
    let panics: Vec<_> = failures
        .panics()
        .map(|(at, panic)| (at, panic.message()))
        .collect();
    assert_eq!(panics, [(4, Some("source"))]);
    ledger.assert_settled();
}

#[test]
fn a_panic_of_a_source_that_is_dropped_early_is_reported_beside_what_failed() {
    let brittle = BrittleItems;
    let items = (0..9).map(move |i| (i, &brittle).0);
    let options = at_once(1);
    let looping = options.try_for_each_async(items, |i: u64| async move { Err(i) });
    let failures = simulate(1, looping).unwrap_err();
    assert_eq!(failures.errors().collect::<Vec<_>>(), [(0, &0)]);
    let panics = failures.panics().map(|(at, panic)| (at, panic.message()));
    assert_eq!(panics.collect::<Vec<_>>(), [(1, Some("not closed"))]);
}

/// Panics when it is made an iterator, or when that is dropped.
struct Brittle {
    breaks_at_the_end: bool,
}

impl IntoIterator for Brittle {
    type Item = u8;
    type IntoIter = BrittleItems;

    fn into_iter(self) -> BrittleItems {
        assert!(self.breaks_at_the_end, "not opened");
        BrittleItems
    }
}

struct BrittleItems;

impl Iterator for BrittleItems {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        None
    }
}

impl Drop for BrittleItems {
    fn drop(&mut self) {
        blow("not closed");
    }
}

#[test]
fn the_call_that_makes_the_loop_does_not_panic() {
    for (breaks_at_the_end, message) in [(false, "not opened"), (true, "not closed")] {
        let looping = for_each_async(Brittle { breaks_at_the_end }, |_| async {});
        let panics = panics_of(|| simulate(1, looping));
        assert_eq!(panics.iter().map(message_of).collect::<Vec<_>>(), [message]);
    }
}

#[test]
fn a_panic_goes_on_in_the_task_that_awaits_the_loop() {
    let body = |i: u32| async move {
        if i == 7 {
            blow("seven");
        }
    };
    let panics = panics_of(|| simulate(1, for_each_async(0..100, body)));
    assert_eq!(panics.iter().map(message_of).collect::<Vec<_>>(), ["seven"]);
}

#[test]
fn a_loop_can_be_cancelled_at_every_point() {
    for at in 0..60 {
        let ledger = Ledger::new(100);
        let items = ledger.make_all();
        let ended = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ended);
        let body = move |item: Counted| {
            let counter = Arc::clone(&counter);
            async move {
                time::sleep(Duration::from_millis(1 + item.id as u64 % 10)).await;
                counter.fetch_add(1, Ordering::SeqCst);
            }
        };
        let source = TokenSource::new();
        let token = source.token();
        let result = simulate(at, async {
            source.cancel_after(Duration::from_millis(at));
            let options = AsyncOptions::new()
                .cancellation(&token)
                .degree_of_parallelism(20)
                .unwrap();
            let result = options.for_each_async(items, body).await;
            let then = ended.load(Ordering::SeqCst);
            time::sleep(Duration::from_millis(100)).await;
            assert_eq!(
                ended.load(Ordering::SeqCst),
                then,
                "nothing runs after the end"
            );
            result
        });
        let all_ended = ended.load(Ordering::SeqCst) == 100;
        assert!(result.is_err() || all_ended, "cancelled after {at} ms");
        ledger.assert_settled();
    }
}

#[test]
fn a_loop_that_is_dropped_at_any_point_cancels_its_items() {
    for at in 0..40 {
        let ledger = Ledger::new(100);
        let items = ledger.make_all();
        let polls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&polls);
        let body = move |item: Counted| {
            let counter = Arc::clone(&counter);
            async move {
                for _ in 0..=item.id % 5 {
                    counter.fetch_add(1, Ordering::SeqCst);
                    time::sleep(Duration::from_millis(2)).await;
                }
            }
        };
        simulate(at, async {
            let looping = at_once(20).for_each_async(items, body);
            let _ = time::timeout(Duration::from_millis(at), looping).await;
            task::yield_now().await;
            let then = polls.load(Ordering::SeqCst);
            time::sleep(Duration::from_millis(100)).await;
            assert_eq!(polls.load(Ordering::SeqCst), then, "dropped after {at} ms");
        });
        ledger.assert_settled();
    }
}

#[test]
fn a_loop_that_was_never_polled_runs_nothing() {
    let (items, asked) = watched_items(10);
    drop(for_each_async(items, |_| async { blow("run") }));
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn results_are_in_the_order_of_the_source() {
    for seed in 0..10 {
        let body = |i: u64| async move {
            time::sleep(Duration::from_millis(i * 7 % 13)).await;
            i * i
        };
        let squares = simulate(seed, map_async(0..200, body));
        assert_eq!(squares, (0..200).map(|i| i * i).collect::<Vec<_>>());
    }
}

#[test]
fn a_failed_map_drops_its_results() {
    let ledger = Ledger::new(50);
    let body = |item: Counted| async move {
        time::sleep(Duration::from_millis(item.id as u64)).await;
        if item.id == 25 { Err("half") } else { Ok(item) }
    };
    let failed = simulate(2, parallel::try_map_async(ledger.make_all(), body));
    assert_eq!(
        failed.unwrap_err().errors().collect::<Vec<_>>(),
        [(25, &"half")]
    );
    ledger.assert_settled();
}

#[test]
fn items_of_a_stream_begin_as_they_come() {
    simulate(1, async {
        let (sender, receiver) = channel::unbounded();
        let results = task::spawn(map_async(
            from_stream(receiver.into_stream()),
            |i: u64| async move {
                time::sleep(Duration::from_millis(10)).await;
                (i, time::now())
            },
        ));
        let start = time::now();
        for i in 0..5 {
            sender.try_send(i).unwrap();
            time::sleep(Duration::from_millis(3)).await;
        }
        drop(sender);
        for (i, ended) in results.await.unwrap() {
            assert_eq!(ended - start, Duration::from_millis(3 * i + 10));
        }
    });
}

#[test]
fn limits_are_changed_while_the_loop_runs() {
    simulate(1, async {
        let water = Arc::new(HighWater::default());
        let inside = Arc::clone(&water);
        let looping = at_once(2).for_each_async(0..100, move |_| {
            let inside = Arc::clone(&inside);
            async move {
                let pass = inside.enter();
                time::sleep(Duration::from_millis(10)).await;
                drop(pass);
            }
        });
        let handle = looping.handle();
        assert_eq!(
            (
                handle.degree_of_parallelism(),
                handle.running(),
                handle.begun()
            ),
            (0, 0, 0)
        );
        let running = task::spawn(looping);
        time::sleep(Duration::from_millis(5)).await;
        assert_eq!(
            (
                handle.degree_of_parallelism(),
                handle.running(),
                water.now()
            ),
            (2, 2, 2)
        );
        handle.set_degree_of_parallelism(10).unwrap();
        time::sleep(Duration::from_millis(1)).await;
        assert_eq!((handle.running(), water.now()), (10, 10));
        handle.set_degree_of_parallelism(1..=3).unwrap();
        time::sleep(Duration::from_millis(20)).await;
        assert!(water.now() <= 3);
        running.await.unwrap();
        assert_eq!((handle.running(), handle.begun()), (0, 100));
        assert_eq!(water.highest(), 10);
    });
}

#[test]
fn a_loop_whose_runtime_is_shut_down_says_so() {
    within(20, || {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let entered = runtime.enter();
        let mut looping = Box::pin(for_each_async(0..3, |_| pending()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(looping.as_mut().poll(&mut context).is_pending());
        drop(entered);
        runtime.shutdown_blocking();
        let panics = panics_of(|| task::block_on(looping));
        assert!(message_of(&panics[0]).contains("shut down"));
    });
}

#[test]
fn loops_run_inside_loops() {
    let sums = map_async(0..10_u64, |i| async move {
        let inner = map_async(0..i, |k| async move {
            time::sleep(Duration::from_millis(k)).await;
            k
        });
        inner.await.into_iter().sum::<u64>()
    });
    let expected: Vec<_> = (0..10_u64).map(|i| (0..i).sum::<u64>()).collect();
    assert_eq!(simulate(1, sums), expected);
}
