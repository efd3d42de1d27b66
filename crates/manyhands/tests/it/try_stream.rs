//! Async loops as streams that end at the first error.

use crate::support::{Board, Counted, Ledger, blow, message_of, of_threads, panics_of, within};
use futures::FutureExt;
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, AsyncOptions};
use manyhands::simulation::Simulation;
use manyhands::{task, time};
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn simulate<F: Future>(seed: u64, future: F) -> F::Output {
    Simulation::new(seed).run(future).unwrap()
}

fn at_once(count: usize) -> AsyncOptions<'static> {
    AsyncOptions::new().degree_of_parallelism(count).unwrap()
}

async fn slow(i: usize) -> usize {
    time::sleep(Duration::from_millis(i as u64 * 7 % 13)).await;
    i
}

#[test]
fn the_results_before_the_error_are_given_then_the_error_and_nothing_more() {
    for seed in 0..20 {
        for failing in [0, 1, 20, 99] {
            let ledger = Ledger::new(100);
            let items = ledger.make_all();
            let body = move |item: Counted| async move {
                let id = slow(item.id).await;
                // Items behind it fail, too, and some of them earlier.
                if id < failing { Ok(item) } else { Err(id) }
            };
            simulate(seed, async {
                let mut results = at_once(8).try_stream_async(items, body);
                for id in 0..failing {
                    assert_eq!(results.next().await.unwrap().unwrap().id, id);
                }
                assert_eq!(results.next().await.unwrap().unwrap_err(), failing);
                assert!(results.next().await.is_none());
                assert!(results.next().await.is_none());
                // The end comes after the last item.
                ledger.assert_settled();
            });
        }
    }
}

/// Panics when it is dropped as a result.
struct Blows;

impl Drop for Blows {
    fn drop(&mut self) {
        blow("a result is dropped");
    }
}

#[test]
fn a_result_behind_the_error_whose_drop_panics_hides_neither_the_error_nor_results_before_it() {
    simulate(1, async {
        let body = |item: u64| async move {
            // The last one ends first.
            time::sleep(Duration::from_millis(3 - item)).await;
            match item {
                1 => Err("failed"),
                2 => Ok(Some(Blows)),
                _ => Ok(None),
            }
        };
        let mut results = at_once(3).try_stream_async(0..3_u64, body);
        let next = AssertUnwindSafe(results.next()).catch_unwind();
        assert!(next.await.is_err());
        assert!(matches!(results.next().await, Some(Ok(None))));
        assert!(matches!(results.next().await, Some(Err("failed"))));
        assert!(results.next().await.is_none());
    });
}

#[test]
fn an_error_is_dropped_once_although_a_result_before_it_panics_when_it_is_dropped_for_it() {
    let ledger = Ledger::new(2);
    let errors = Arc::clone(&ledger);
    let body = move |item| {
        let result = if item == 0 {
            Ok(Blows)
        } else {
            Err(errors.make(item))
        };
        async move { result }
    };
    let panics = panics_of(|| {
        let results = at_once(1).try_stream_async(0..2, body);
        simulate(1, results.try_to_vec())
    });
    let messages: Vec<_> = panics.iter().map(message_of).collect();
    assert_eq!(messages, ["a result is dropped"]);
    ledger.assert_settled();
}

#[test]
fn items_before_the_one_that_fails_still_run_and_those_behind_it_are_cancelled() {
    let ledger = Ledger::new(3);
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let source = ledger.make_all().into_iter().chain((0..).map({
        let ledger = Arc::clone(&ledger);
        move |_| ledger.make(2)
    }));
    let source = source.inspect(move |_| {
        asking.fetch_add(1, Ordering::SeqCst);
    });
    let body = |item: Counted| async move {
        let item = item; // all of it
        match item.id {
            0 => time::sleep(Duration::from_millis(100)).await,
            1 => {
                time::sleep(Duration::from_millis(1)).await;
                return Err("second");
            }
            _ => pending().await,
        }
        Ok(0)
    };
    simulate(1, async {
        let start = time::now();
        let mut results = at_once(4).try_stream_async(source, body);
        let waited = time::timeout(Duration::from_millis(2), results.next()).await;
        assert!(waited.is_err());
        // All but the first are gone already, and no other has begun.
        assert_eq!(asked.load(Ordering::SeqCst), 4);
        assert_eq!(ledger.count_dropped(), 3);
        assert_eq!(results.next().await, Some(Ok(0)));
        assert_eq!(time::now() - start, Duration::from_millis(100));
        assert_eq!(results.next().await, Some(Err("second")));
        assert_eq!(results.next().await, None);
        assert_eq!(time::now() - start, Duration::from_millis(100));
    });
    ledger.assert_settled();
}

#[test]
fn of_an_unordered_stream_the_first_error_cancels_all_others() {
    let body = |millis: u64| async move {
        time::sleep(Duration::from_millis(millis)).await;
        if millis == 20 {
            Err(millis)
        } else {
            Ok(millis)
        }
    };
    simulate(1, async {
        let start = time::now();
        let times = [50, 10, 20, 40, 1_000];
        let mut results = at_once(5).try_stream_async_unordered(times, body);
        assert_eq!(results.next().await, Some(Ok(10)));
        assert_eq!(results.next().await, Some(Err(20)));
        assert_eq!(results.next().await, None);
        assert_eq!(time::now() - start, Duration::from_millis(20));
    });
}

#[test]
fn a_panic_before_the_error_comes_instead_of_it() {
    for seed in 0..10 {
        let mut results = at_once(8).try_stream_async(0..50, |n| async move {
            match n {
                10 => {
                    time::sleep(Duration::from_millis(1)).await;
                    Err("ten")
                }
                5 => {
                    time::sleep(Duration::from_millis(9)).await;
                    blow("five")
                }
                _ => Ok(n),
            }
        });
        let panics = panics_of(|| {
            simulate(seed, async {
                while let Some(result) = results.next().await {
                    assert!(result.unwrap() < 5);
                }
            });
        });
        assert!(panics.iter().map(message_of).eq(["five"]));
    }
}

#[test]
fn a_cancellation_ends_a_stream_of_bodies_that_fail() {
    let source = TokenSource::new();
    let token = source.token();
    simulate(1, async {
        let options = AsyncOptions::new().cancellation(&token);
        let mut results = options.try_stream_async(0..50, |n| async move {
            time::sleep(Duration::from_millis(10 * n)).await;
            if n < 20 { Ok(n) } else { Err(n) }
        });
        assert_eq!(results.next().await, Some(Ok(Ok(0))));
        source.cancel();
        assert!(results.next().await.unwrap().is_err());
        assert_eq!(results.next().await, None);
    });
}

#[test]
fn a_cancellation_after_the_error_was_given_adds_nothing() {
    let source = TokenSource::new();
    let token = source.token();
    let ended = simulate(1, async {
        let body = |item| async move { if item < 2 { Ok(item) } else { Err(item) } };
        let mut results = at_once(4).cancellation(&token).try_stream_async(0..9, body);
        let mut given = Vec::new();
        while given.len() < 3 {
            given.push(results.next().await.unwrap().unwrap());
        }
        source.cancel();
        (given, results.next().await.is_none())
    });
    assert_eq!(ended, (vec![Ok(0), Ok(1), Err(2)], true));
}

#[test]
fn a_stream_that_is_dropped_anywhere_drops_each_item_once() {
    for taken in 0..=21 {
        let ledger = Ledger::new(100);
        let items = ledger.make_all();
        simulate(taken, async {
            let body = |item: Counted| async move {
                if slow(item.id).await == 20 {
                    Err(item)
                } else {
                    Ok(item)
                }
            };
            let mut results = at_once(8).try_stream_async(items, body);
            for _ in 0..taken {
                assert!(results.next().await.is_some());
            }
        });
        ledger.assert_settled();
    }
}

#[test]
fn an_error_of_a_late_stage_cancels_the_stages_before_it() {
    for seed in 0..10 {
        let ledger = Ledger::new(60);
        let things = ledger.make_all();
        simulate(seed, async {
            let first = |thing: Counted| async move {
                if thing.id > 40 {
                    // Never ends by itself.
                    pending::<()>().await;
                }
                Ok(thing)
            };
            let second = |thing: Counted| async move {
                if slow(thing.id).await == 30 {
                    Err(thing.id)
                } else {
                    Ok(thing)
                }
            };
            let mut results = parallel::pipeline(things)
                .try_stage(16, first)
                .try_stage(4, second);
            for id in 0..30 {
                assert_eq!(results.next().await.unwrap().unwrap().id, id);
            }
            assert_eq!(results.next().await.unwrap().unwrap_err(), 30);
            assert!(results.next().await.is_none());
            time::sleep(Duration::from_millis(1)).await;
            ledger.assert_settled();
        });
    }
}

#[test]
fn an_item_that_is_lost_in_a_shutdown_is_no_end_of_the_stream() {
    within(20, || {
        let runtime = of_threads(1);
        let failed = Arc::new(Board::new(1));
        let fails = Arc::clone(&failed);
        let mut results = at_once(2).try_stream_async(0..2, move |n| {
            let fails = Arc::clone(&fails);
            async move {
                if n == 0 {
                    return pending().await;
                }
                fails.happens(0);
                Err::<(), _>("second")
            }
        });
        runtime.install(|| {
            let polled = task::block_on(async {
                let next = results.next();
                time::timeout(Duration::from_millis(1), next).await
            });
            assert!(polled.is_err());
            failed.wait_for(0);
        });
        drop(runtime);
        let panics = panics_of(|| task::block_on(results.next()));
        assert!(message_of(&panics[0]).contains("shut down"));
    });
}
