//! Async loops as streams: order, bounds, ends.

use crate::support::{Counted, HighWater, Ledger, blow, message_of, panics_of, within};
use manyhands::cancel::TokenSource;
use manyhands::simulation::Simulation;
use manyhands::{parallel, task, time};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

fn simulate<F: Future>(seed: u64, future: F) -> F::Output {
    Simulation::new(seed).run(future).unwrap()
}

async fn slow(i: u64) -> u64 {
    time::sleep(Duration::from_millis(i * 7 % 13)).await;
    i
}

#[test]
fn results_are_given_in_the_order_of_the_source() {
    for seed in 0..10 {
        let given = simulate(seed, async {
            let mut results = parallel::AsyncOptions::new().stream_async(0..200, slow);
            let mut given = Vec::new();
            while let Some(result) = results.next().await {
                given.push(result);
            }
            assert_eq!(results.next().await, None);
            given
        });
        assert_eq!(given, (0..200).collect::<Vec<_>>());
    }
}

#[test]
fn a_slow_source_does_not_fill_all_room_in_one_poll() {
    let asked = Arc::new(AtomicUsize::new(0));
    let asking = Arc::clone(&asked);
    let source = std::iter::repeat_with(move || {
        crate::support::busy_micros(2_000);
        asking.fetch_add(1, Ordering::SeqCst)
    });
    let options = parallel::AsyncOptions::new()
        .degree_of_parallelism(100)
        .unwrap();
    let mut results = std::pin::pin!(options.stream_async_unordered(source, |n| async move { n }));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for polls in 1..=3 {
        let _ = futures_core::Stream::poll_next(results.as_mut(), &mut context);
        assert_eq!(asked.load(Ordering::SeqCst), polls);
    }
}

/// Panics with itself when it is dropped as a result.
struct Blows(u64);

impl Drop for Blows {
    fn drop(&mut self) {
        blow(self.0);
    }
}

#[test]
fn a_result_whose_drop_panics_hides_no_panic_of_an_item() {
    let payloads = panics_of(|| {
        simulate(1, async {
            let body = |item| async move {
                if item == 0 {
                    time::sleep(Duration::from_millis(1)).await;
                    blow(item);
                }
                Blows(item)
            };
            let mut results = parallel::AsyncOptions::new().stream_async(0..2, body);
            results.next().await.map(std::mem::forget)
        })
    });
    let items: Vec<_> = payloads.iter().map(|it| it.downcast_ref()).collect();
    assert_eq!(items, [Some(&0_u64), Some(&1)]);
}

#[test]
fn results_are_given_as_items_end() {
    simulate(1, async {
        let body = |millis: u64| async move {
            time::sleep(Duration::from_millis(millis)).await;
            millis
        };
        let mut results = parallel::AsyncOptions::new().stream_async_unordered([30, 10, 20], body);
        let start = time::now();
        for expected in [10, 20, 30] {
            assert_eq!(results.next().await, Some(expected));
            assert_eq!(time::now() - start, Duration::from_millis(expected));
        }
        assert_eq!(results.next().await, None);
    });
}

#[test]
fn results_that_are_not_taken_keep_new_items_from_beginning() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&begun);
    let body = move |i: u64| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            // The first one holds all others up.
            time::sleep(Duration::from_millis(if i == 0 { 1_000 } else { 1 })).await;
            i
        }
    };
    simulate(1, async {
        let options = parallel::AsyncOptions::new()
            .degree_of_parallelism(5)
            .unwrap();
        let mut results = options.stream_async(0..100, body);
        assert_eq!(results.next().await, Some(0));
        let begun_while_it_ran = begun.load(Ordering::SeqCst);
        assert!(begun_while_it_ran <= 10, "{begun_while_it_ran}");
        for i in 1..100 {
            assert_eq!(results.next().await, Some(i));
        }
    });
}

#[test]
fn a_stream_that_is_dropped_cancels_its_items() {
    for taken in 0..20 {
        let ledger = Ledger::new(100);
        let items = ledger.make_all();
        simulate(taken, async {
            let body = |item: Counted| async move {
                time::sleep(Duration::from_millis(1 + item.id as u64 % 3)).await;
                item
            };
            let options = parallel::AsyncOptions::new()
                .degree_of_parallelism(8)
                .unwrap();
            let mut results = options.stream_async(items, body);
            for _ in 0..taken {
                assert!(results.next().await.is_some());
            }
        });
        ledger.assert_settled();
    }
}

#[test]
fn a_panic_comes_through_the_stream_and_ends_it() {
    for seed in 0..10 {
        let mut results =
            parallel::AsyncOptions::new().stream_async_unordered(0..50, |i: u64| async move {
                time::sleep(Duration::from_millis(i)).await;
                if i == 20 {
                    blow("twenty");
                }
                i
            });
        let panics = panics_of(|| {
            simulate(seed, async { while results.next().await.is_some() {} });
        });
        assert_eq!(
            panics.iter().map(message_of).collect::<Vec<_>>(),
            ["twenty"]
        );
    }
}

#[test]
fn a_cancelled_stream_ends_with_the_error() {
    let source = TokenSource::new();
    let token = source.token();
    simulate(1, async {
        let options = parallel::AsyncOptions::new().cancellation(&token);
        let mut results = options.stream_async(0..50, |i: u64| async move {
            time::sleep(Duration::from_millis(10 * i)).await;
            i
        });
        for i in 0..3 {
            assert_eq!(results.next().await, Some(Ok(i)));
        }
        source.cancel();
        let last = results.next().await.unwrap();
        assert_eq!(last.unwrap_err().token(), &token);
        assert_eq!(results.next().await, None);
    });
}

#[test]
fn the_error_of_a_cancellation_between_two_results_is_the_last_thing_that_a_stream_gives() {
    within(60, || {
        for round in 0..2_000 {
            let (source, taken) = (TokenSource::new(), AtomicUsize::new(0));
            let token = source.token();
            let options = parallel::AsyncOptions::new().cancellation(&token);
            let mut results = options.stream_async(0..100, |n| async move { n });
            thread::scope(|scope| {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < round % 100 {
                        spin_loop();
                    }
                    source.cancel();
                });
                task::block_on(async {
                    while let Some(Ok(_)) = results.next().await {
                        taken.fetch_add(1, Ordering::SeqCst);
                    }
                    taken.store(100, Ordering::SeqCst);
                    assert!(results.next().await.is_none());
                });
            });
        }
    });
}

#[test]
fn each_stage_of_a_pipeline_keeps_its_limit_and_the_order_of_the_items() {
    for seed in 0..10 {
        let stages = [0, 1, 2].map(|_| Arc::new(HighWater::default()));
        let [first, second, third] = stages.clone().map(|stage| {
            move |n| {
                let stage = Arc::clone(&stage);
                async move {
                    let _pass = stage.enter();
                    slow(n).await + 1
                }
            }
        });
        let results = parallel::pipeline(0..100).stage(7, first).stage(1, second);
        let given = simulate(seed, results.stage(3, third).to_vec());
        assert!(given.into_iter().eq(3..103));
        let [first, second, third] = stages.map(|stage| stage.highest());
        assert!((first, second) == (7, 1) && (1..=3).contains(&third));
    }
}

#[test]
fn a_pipeline_whose_results_are_not_taken_stops_beginning_items() {
    simulate(1, async {
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let first = move |n: u64| {
            count.fetch_add(1, Ordering::SeqCst);
            slow(n)
        };
        let mut results = parallel::pipeline(0..1_000)
            .stage_unordered(5, first)
            .stage(2, slow);
        for _ in 0..3 {
            assert!(results.next().await.is_some());
            time::sleep(Duration::from_secs(1)).await;
        }
        // Twice as many as may run at once in each stage, and those that were given.
        assert!(begun.load(Ordering::SeqCst) <= 2 * 5 + 2 * 2 + 3);
    });
}

#[test]
fn the_first_error_of_a_stage_ends_the_pipeline() {
    for seed in 0..10 {
        let ledger = Ledger::new(50);
        let things = ledger.make_all().into_iter().enumerate();
        let converted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&converted);
        let results = parallel::pipeline(things)
            .try_stage(8, |(n, thing): (usize, Counted)| async move {
                slow(n as u64).await;
                if n == 20 { Err(n) } else { Ok((n, thing)) }
            })
            .try_stage(4, move |(n, thing)| {
                count.fetch_add(1, Ordering::SeqCst);
                async move {
                    slow(n as u64).await;
                    if n == 30 { Err(n) } else { Ok(thing) }
                }
            })
            .try_to_vec();
        let error = simulate(seed, results).expect_err("one fails in each stage");
        assert_eq!(error, 20);
        assert!(converted.load(Ordering::SeqCst) >= 20);
        ledger.assert_settled();
    }
}

#[test]
fn a_panic_in_a_stage_comes_to_who_takes_the_results() {
    let panics = panics_of(|| {
        let first = |n| async move { if n == 5 { blow("first stage") } else { n } };
        let results = parallel::pipeline(0..20).stage(4, first).stage(2, slow);
        simulate(1, results.to_vec())
    });
    assert!(panics.iter().map(message_of).eq(["first stage"]));
}

#[test]
fn a_stage_of_no_item_at_once_is_refused() {
    let stage = || drop(parallel::pipeline(0..3).stage(0, slow));
    assert_eq!(panics_of(stage).len(), 1);
}
