//! Searches.

use crate::support::{busy_micros, on_each_runtime, random_below};
use manyhands::cancel::TokenSource;
use manyhands::parallel::from_iter;
use manyhands::query::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn find_gives_the_lowest_of_many() {
    on_each_runtime(|runtime| {
        for round in 0..60 {
            let n = 1 + random_below(round, 1_500);
            let first = random_below(round + 77, n + 20);
            let micros = round % 3;
            let matches = |i: &u64| {
                busy_micros(micros);
                *i >= first && (*i - first).is_multiple_of(3)
            };
            let expected = (first < n).then_some(first);
            let numbers: Vec<_> = (0..n).collect();
            assert_eq!(
                (0..n).into_par_query().runtime(runtime).find(matches),
                expected
            );
            assert_eq!(
                numbers
                    .par_query()
                    .runtime(runtime)
                    .find(|i| matches(i))
                    .copied(),
                expected
            );
            assert_eq!(
                numbers.into_par_query().runtime(runtime).find(matches),
                expected
            );
            assert_eq!(
                from_iter(0..n)
                    .into_par_query()
                    .runtime(runtime)
                    .find(matches),
                expected
            );
        }
    });
}

#[test]
fn find_any_gives_some_match_if_there_is_one() {
    on_each_runtime(|runtime| {
        for n in [0, 1, 50, 2_000] {
            let found = (0..n)
                .into_par_query()
                .runtime(runtime)
                .find_any(|&i| i % 10 == 7);
            assert_eq!(found.is_some(), n > 7);
            assert!(found.is_none_or(|i| i % 10 == 7 && i < n));
            let found = from_iter(0..n)
                .into_par_query()
                .runtime(runtime)
                .find_any(|&i| {
                    busy_micros(1);
                    i % 10 == 7
                });
            assert_eq!(found.is_some(), n > 7);
            assert_eq!(
                (0..n).into_par_query().runtime(runtime).find_any(|_| false),
                None
            );
            assert_eq!(
                (0..n).into_par_query().runtime(runtime).find(|_| false),
                None
            );
        }
    });
}

#[test]
fn a_search_stops_looking_once_it_has_found() {
    on_each_runtime(|runtime| {
        let looked = AtomicUsize::new(0);
        let found = (0..1_000_000)
            .into_par_query()
            .runtime(runtime)
            .find_any(|&i| {
                looked.fetch_add(1, Ordering::SeqCst);
                i == 5
            });
        assert_eq!(found, Some(5));
        assert!(looked.into_inner() < 1_000_000);
        let looked = AtomicUsize::new(0);
        let found = from_iter(0..1_000_000)
            .into_par_query()
            .runtime(runtime)
            .find(|&i| {
                looked.fetch_add(1, Ordering::SeqCst);
                i == 5
            });
        assert_eq!(found, Some(5));
        assert!(looked.into_inner() < 1_000_000);
    });
}

#[test]
fn a_cancelled_search_finds_nothing() {
    on_each_runtime(|runtime| {
        let source = TokenSource::new();
        let token = source.token();
        assert_eq!(
            (0..100)
                .into_par_query()
                .runtime(runtime)
                .cancellation(&token)
                .find(|&i| i == 50)
                .unwrap(),
            Some(50)
        );
        let cancelled = (0..100_000)
            .into_par_query()
            .runtime(runtime)
            .cancellation(&token)
            .find(|&i| {
                if i == 50 {
                    source.cancel();
                }
                i == 99_999
            });
        assert_eq!(cancelled.unwrap_err().token(), &token);
        (0..100)
            .into_par_query()
            .runtime(runtime)
            .cancellation(&token)
            .find_any(|_| true)
            .unwrap_err();
    });
}
