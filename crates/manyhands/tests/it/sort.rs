//! Sorts and prefix sums of slices against the standard library's, with failures at every call.

use crate::support::{Ledger, blow, busy_micros, on_each_runtime, panics_of, random_below};
use manyhands::{cancel, parallel};
use std::cmp::Ordering as Order;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers in several shapes, each with its place.
fn inputs() -> Vec<Vec<(u64, usize)>> {
    let mut inputs = Vec::new();
    for len in [0, 1, 2, 300, 5_000, 40_000_u64] {
        let shapes: [&dyn Fn(u64) -> u64; 6] = [
            &|i| random_below(i, u64::MAX),
            &|i| random_below(i, 4),
            &|i| i,
            &|i| len - i,
            &|i| i % 1_000,
            &|i| if i % 50 == 0 { random_below(i, len) } else { i },
        ];
        for shape in shapes {
            inputs.push((0..len).map(shape).zip(0..).collect());
        }
    }
    inputs
}

/// So dear that it pays to share a sort of a few thousand items.
fn slowly(left: u64, right: u64) -> Order {
    busy_micros(1);
    left.cmp(&right)
}

#[test]
fn sorts_give_what_the_standard_library_gives() {
    on_each_runtime(|runtime| {
        for input in inputs() {
            let mut expected = input.clone();
            expected.sort_by_key(|item| item.0);
            for degree in [1, 2, 3, 16] {
                let options = parallel::Options::new()
                    .runtime(runtime)
                    .degree_of_parallelism(degree)
                    .unwrap();
                let mut items = input.clone();
                options.sort_by_key(&mut items, |item| item.0);
                assert!(items == expected);
                items.clone_from(&input);
                options.sort_by_cached_key(&mut items, |item| item.0);
                assert!(items == expected);
                items.clone_from(&input);
                options.sort_unstable(&mut items);
                assert!(items == expected, "the places make all items differ");
            }
        }
    });
}

#[test]
fn scans_give_all_sums_in_order() {
    on_each_runtime(|runtime| {
        for len in [0, 1, 2, 1_024, 1_025, 60_000_usize] {
            for degree in [1, 2, 3, 16] {
                let options = parallel::Options::new()
                    .runtime(runtime)
                    .degree_of_parallelism(degree)
                    .unwrap();
                // Not commutative: the first of the one and the last of the other.
                let items: Vec<_> = (0..len).map(|i| (i, i)).collect();
                let add = |a: &(usize, usize), b: &(usize, usize)| {
                    if a.1 != usize::MAX {
                        assert_eq!(a.1 + 1, b.0, "neighbours are added");
                    }
                    std::hint::black_box((0..20).sum::<u32>());
                    (a.0, b.1)
                };
                let mut sums = items.clone();
                options.inclusive_scan(&mut sums, add);
                assert!(sums.iter().copied().eq((0..len).map(|i| (0, i))));
                let mut sums = items;
                let all = options.exclusive_scan(&mut sums, (7, usize::MAX), add);
                let before = (0..len).map(|i| (7, i.wrapping_sub(1)));
                assert!(sums.iter().copied().eq(before));
                assert_eq!(all, (7, len.wrapping_sub(1)));
            }
        }
    });
}

#[test]
fn a_scan_of_few_items_that_take_long_leaves_none_out() {
    on_each_runtime(|runtime| {
        let options = parallel::Options::new().runtime(runtime);
        let add = |a: &u64, b: &u64| {
            busy_micros(300);
            a + b
        };
        for len in 1..=6 {
            let mut sums: Vec<_> = (1..=len).collect();
            options.inclusive_scan(&mut sums, add);
            let expected = (1..=len).map(|count| count * (count + 1) / 2);
            assert!(sums.iter().copied().eq(expected), "{sums:?}");
            let mut sums = vec![1; sums.len()];
            let all = options.exclusive_scan(&mut sums, 0, add);
            assert!(sums.into_iter().eq(0..len));
            assert_eq!(all, len);
        }
    });
}

#[test]
fn a_comparison_that_panics_loses_and_doubles_nothing() {
    on_each_runtime(|runtime| {
        const LEN: usize = 600;
        for calls in (0..12_000).step_by(397) {
            for stable in [true, false] {
                let ledger = Ledger::new(LEN);
                let mut items: Vec<_> = (0..LEN)
                    .map(|place| (random_below(place as u64, 1_000), ledger.make(place)))
                    .collect();
                let left = AtomicUsize::new(calls);
                let compare = |a: &(u64, _), b: &(u64, _)| {
                    if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                        blow("compared");
                    }
                    slowly(a.0, b.0)
                };
                let options = parallel::Options::new().runtime(runtime);
                let panics = panics_of(|| {
                    if stable {
                        options.sort_by(&mut items, compare);
                    } else {
                        options.sort_unstable_by(&mut items, compare);
                    }
                });
                assert!(panics.len() <= 1);
                if panics.is_empty() {
                    assert!(items.is_sorted_by_key(|item| item.0));
                }
                assert_eq!(ledger.count_dropped(), 0);
                drop(items);
                ledger.assert_settled();
            }
        }
    });
}

#[test]
fn a_cancelled_sort_leaves_every_item_in_the_slice() {
    on_each_runtime(|runtime| {
        for calls in [0, 100, 5_000, 9_000, 11_000] {
            let source = cancel::TokenSource::new();
            let token = source.token();
            let left = AtomicUsize::new(calls);
            let mut items: Vec<u64> = (0..1_500).map(|i| i * 7_919 % 1_500).collect();
            let options = parallel::Options::new()
                .runtime(runtime)
                .cancellation(&token);
            let sorted = options.sort_by(&mut items, |a, b| {
                if left.fetch_sub(1, Ordering::Relaxed) == 0 {
                    source.cancel();
                }
                slowly(*a, *b)
            });
            assert_eq!(sorted.is_ok(), !token.is_cancelled());
            items.sort_unstable();
            assert!(items.into_iter().eq(0..1_500));
        }
    });
}

#[test]
fn a_comparison_without_order_keeps_every_item() {
    on_each_runtime(|runtime| {
        let options = parallel::Options::new().runtime(runtime);
        let calls = AtomicUsize::new(0);
        let disorder = |a: &u64, _: &u64| {
            let call = calls.fetch_add(1, Ordering::Relaxed) as u64;
            slowly(random_below(call, 3), a % 3)
        };
        for _ in 0..5 {
            let mut items: Vec<u64> = (0..3_000).collect();
            // The standard library may panic.
            panics_of(|| options.sort_by(&mut items, disorder));
            panics_of(|| options.sort_unstable_by(&mut items, disorder));
            items.sort_unstable();
            assert!(items.into_iter().eq(0..3_000));
        }
    });
}

/// Counts how often it is cloned.
struct Summand<'a>(u64, &'a AtomicUsize);

impl Clone for Summand<'_> {
    fn clone(&self) -> Self {
        self.1.fetch_add(1, Ordering::Relaxed);
        Self(self.0, self.1)
    }
}

#[test]
fn scans_clone_few_items_of_many() {
    on_each_runtime(|runtime| {
        let options = parallel::Options::new().runtime(runtime);
        let clones = AtomicUsize::new(0);
        let add = |a: &Summand<'_>, b: &Summand<'_>| {
            slowly(a.0, b.0);
            Summand(a.0.wrapping_add(b.0), &clones)
        };
        let mut items: Vec<_> = (0..3_000).map(|n| Summand(n, &clones)).collect();
        options.inclusive_scan(&mut items, add);
        assert_eq!(items[2_999].0, 2_999 * 1_500);
        options.exclusive_scan(&mut items, Summand(0, &clones), add);
        let count = clones.load(Ordering::Relaxed);
        assert!(count < 100, "{count} clones");
    });
}

#[test]
fn a_sort_or_a_scan_that_is_cancelled_before_calls_nothing() {
    on_each_runtime(|runtime| {
        let source = cancel::TokenSource::new();
        source.cancel();
        let token = source.token();
        let options = parallel::Options::new()
            .runtime(runtime)
            .cancellation(&token);
        for len in [2, 300, 2_000_u64] {
            let mut items: Vec<_> = (0..len).map(|i| random_below(i, len)).collect();
            let before = items.clone();
            let compare = |_: &u64, _: &u64| -> Order { blow("compared") };
            let add = |_: &u64, _: &u64| -> u64 { blow("added") };
            options.sort_by(&mut items, compare).unwrap_err();
            options.sort_unstable_by(&mut items, compare).unwrap_err();
            options.inclusive_scan(&mut items, add).unwrap_err();
            options.exclusive_scan(&mut items, 0, add).unwrap_err();
            assert_eq!(items, before);
        }
        let clones = AtomicUsize::new(0);
        let add = |_: &Summand<'_>, _: &Summand<'_>| -> Summand<'_> { blow("added") };
        let mut items = [1, 2].map(|n| Summand(n, &clones));
        options.inclusive_scan(&mut items, add).unwrap_err();
        assert_eq!(clones.into_inner(), 0, "clones");
    });
}
