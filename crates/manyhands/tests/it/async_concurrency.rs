//! How many items of an async loop run at once: by the virtual clock, against synthetic servers.

use crate::support::{random_below, within};
use manyhands::simulation::Simulation;
use manyhands::{parallel, time};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What one run took, and how many calls were in flight at most, at all and in its second half.
#[derive(Debug, Clone, Copy)]
struct Run {
    millis: u128,
    highest: usize,
    highest_later: usize,
}

/// A server: what a call takes, in milliseconds, given its number and how many are in flight with it.
type Server = fn(u64, u64, usize) -> u64;

/// Runs `count` calls, with a fixed concurrency or an adaptive one.
fn run(server: Server, calls: u64, fixed: Option<usize>, seed: u64) -> Run {
    within(60, move || {
        let run = Simulation::new(seed).run(async move {
            let in_flight = Arc::new(AtomicUsize::new(0));
            let log = Arc::new(Mutex::new(Vec::new()));
            let options = match fixed {
                Some(count) => parallel::AsyncOptions::new()
                    .degree_of_parallelism(count)
                    .unwrap(),
                None => parallel::AsyncOptions::new(),
            };
            let (counter, noted) = (Arc::clone(&in_flight), Arc::clone(&log));
            let start = time::now();
            options
                .for_each_async(0..calls, move |call| {
                    let (counter, noted) = (Arc::clone(&counter), Arc::clone(&noted));
                    async move {
                        let now = counter.fetch_add(1, Ordering::SeqCst) + 1;
                        noted.lock().unwrap().push(now);
                        time::sleep(millis(server(seed, call, now))).await;
                        counter.fetch_sub(1, Ordering::SeqCst);
                    }
                })
                .await;
            let log = log.lock().unwrap();
            let later = &log[log.len() / 2..];
            Run {
                millis: (time::now() - start).as_millis(),
                highest: log.iter().copied().max().unwrap_or(0),
                highest_later: later.iter().copied().max().unwrap_or(0),
            }
        });
        run.unwrap()
    })
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 10 to 50 ms, whatever else is in flight.
fn independent(seed: u64, call: u64, _in_flight: usize) -> u64 {
    10 + random_below(seed * 1_000 + call, 41)
}

/// 20 ms up to 16 calls at once; above that, no more gets done.
fn saturates(_seed: u64, _call: u64, in_flight: usize) -> u64 {
    20 * in_flight.max(16) as u64 / 16
}

/// As `saturates`, with calls that differ by a fifth.
fn saturates_unevenly(seed: u64, call: u64, in_flight: usize) -> u64 {
    (80 + random_below(seed * 1_000 + call, 41)) * 20 * in_flight.max(16) as u64 / 1_600
}

/// 20 ms up to 16 calls at once; above that, less gets done.
fn collapses(_seed: u64, _call: u64, in_flight: usize) -> u64 {
    20 * (in_flight.max(16) as u64).pow(2) / 256
}

/// 30 ms, whatever else is in flight.
fn even(_seed: u64, _call: u64, _in_flight: usize) -> u64 {
    30
}

/// Two processors' worth of work: each call takes 5 ms of one.
fn computes(_seed: u64, _call: u64, in_flight: usize) -> u64 {
    5 * in_flight.max(2) as u64 / 2
}

#[test]
fn calls_that_do_not_interfere_run_almost_all_at_once() {
    let mut late = 0;
    for seed in 0..40 {
        let found = run(independent, 100, None, seed);
        let at_once = run(independent, 100, Some(100), seed);
        assert!(at_once.millis <= 51, "the longest call rules: {at_once:?}");
        late += usize::from(found.millis * 10 > at_once.millis * 13);
        assert!(
            found.millis * 10 <= at_once.millis * 15,
            "seed {seed}: {found:?}"
        );
    }
    // Nothing is known before the first calls end; if those end late by chance, the others start late.
    assert!(late <= 6, "{late} of 40 took more than 1.3 times as long");
}

#[test]
fn many_calls_that_do_not_interfere_reach_the_highest_concurrency() {
    for server in [independent, even] {
        let found = run(server, 6_000, None, 1);
        assert_eq!(found.highest, 1_024);
        let fixed = run(server, 6_000, Some(1_024), 1);
        assert!(
            found.millis * 10 <= fixed.millis * 25,
            "{found:?}, {fixed:?}"
        );
    }
}

#[test]
fn a_server_that_saturates_gets_no_more_than_twice_what_it_takes() {
    for calls in [100, 200, 2_000] {
        for seed in 0..4 {
            let found = run(saturates, calls, None, seed);
            let best = best_fixed(saturates, calls, seed);
            assert!(found.millis * 10 <= best * 12, "{calls}: {found:?}, {best}");
            assert!(found.highest <= 32, "{calls}: {found:?}");
        }
    }
}

#[test]
fn a_server_that_saturates_unevenly_gets_no_more_than_twice_what_it_takes_once_that_is_known() {
    for seed in 0..8 {
        let found = run(saturates_unevenly, 2_000, None, seed);
        let best = best_fixed(saturates_unevenly, 2_000, seed);
        assert!(
            found.millis * 10 <= best * 12,
            "seed {seed}: {found:?}, {best}"
        );
        assert!(found.highest_later <= 32, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_server_that_collapses_is_spared() {
    let found = run(collapses, 2_000, None, 1);
    let best = best_fixed(collapses, 2_000, 1);
    assert!(found.millis * 10 <= best * 12, "{found:?}, {best}");
    assert!(
        found.highest <= 32 && found.highest_later <= 20,
        "{found:?}"
    );
}

#[test]
fn what_computes_stays_at_about_the_number_of_processors() {
    let found = run(computes, 1_000, None, 1);
    let best = best_fixed(computes, 1_000, 1);
    assert!(found.millis * 10 <= best * 12, "{found:?}, {best}");
    assert!(found.highest_later <= 4, "{found:?}");
}

/// What the best fixed concurrency takes.
fn best_fixed(server: Server, calls: u64, seed: u64) -> u128 {
    let fixed = [2, 8, 12, 16, 20, 24, 32, 64];
    let all = fixed.map(|count| run(server, calls, Some(count), seed).millis);
    all.into_iter().min().unwrap()
}

#[test]
fn runs_repeat_exactly() {
    let runs = [0, 1].map(|_| format!("{:?}", run(saturates_unevenly, 500, None, 7)));
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn limits_may_be_as_high_as_numbers_go() {
    let run = Simulation::new(1).run(async {
        let body = |i: u64| async move {
            time::sleep(millis(i * 7 % 41)).await;
            i
        };
        let limits = [
            parallel::AsyncOptions::new()
                .degree_of_parallelism(usize::MAX)
                .unwrap(),
            parallel::AsyncOptions::new()
                .degree_of_parallelism(1..=usize::MAX)
                .unwrap(),
            parallel::AsyncOptions::new()
                .degree_of_parallelism(usize::MAX / 2..=usize::MAX)
                .unwrap(),
        ];
        for options in limits {
            assert!(options.map_async(0..200, body).await.into_iter().eq(0..200));
            let mut results = options.stream_async(0..200, body);
            for i in 0..200 {
                assert_eq!(results.next().await, Some(i));
            }
        }
    });
    run.unwrap();
}
