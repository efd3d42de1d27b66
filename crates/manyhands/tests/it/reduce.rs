//! Reductions: order, ties, and results that repeat bit for bit.

use crate::support::{
    Board, WORKERS, blow, busy_micros, on_each_runtime, on_runtime, panics_of, random_below, within,
};
use manyhands::Runtime;
use manyhands::cancel::TokenSource;
use manyhands::parallel::{self, Options, from_iter};
use manyhands::query::{ExecutionMode, prelude::*};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

fn concatenated(n: usize) -> Option<String> {
    (0..n).map(|i| format!("{i},")).reduce(|a, b| a + &b)
}

#[test]
fn a_reduction_that_does_not_commute_keeps_the_order_for_every_length() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let add = |a: String, b: String| a + &b;
        let named = |i| format!("{i},");
        for n in (0..200).chain([1_000, 1_023, 1_024, 1_025, 2_049, 5_000]) {
            let expected = concatenated(n);
            let numbers: Vec<usize> = (0..n).collect();
            assert_eq!(options.map_reduce(0..n, named, add), expected, "{n}");
            assert_eq!(
                options.map_reduce(numbers.clone(), named, add),
                expected,
                "{n}"
            );
            assert_eq!(
                options.map_reduce(from_iter(0..n), named, add),
                expected,
                "{n}"
            );
            let named = || {
                numbers
                    .par_query()
                    .runtime(runtime)
                    .map(|i| format!("{i},"))
            };
            assert_eq!(named().reduce(add), expected, "{n}");
            assert_eq!(named().deterministic().reduce(add), expected, "{n}");
            let iterated = from_iter(0..n)
                .into_par_query()
                .runtime(runtime)
                .map(|i| format!("{i},"));
            assert_eq!(iterated.deterministic().reduce(add), expected, "{n}");
        }
    });
}

#[test]
fn a_reduction_that_does_not_commute_keeps_the_order_when_shared() {
    on_each_runtime(|runtime| {
        let expected = concatenated(1_200);
        let options = Options::new().runtime(runtime);
        let add = |a: String, b: String| a + &b;
        let slow = |i: usize| {
            busy_micros(random_below(i as u64, 12));
            format!("{i},")
        };
        assert_eq!(options.map_reduce(0..1_200, slow, add), expected);
        assert_eq!(options.map_reduce(from_iter(0..1_200), slow, add), expected);
        let unbuffered = from_iter(0..1_200).unbuffered();
        assert_eq!(options.map_reduce(unbuffered, slow, add), expected);
        let query = (0..1_200).into_par_query().runtime(runtime).map(slow);
        assert_eq!(query.deterministic().reduce(add), expected);
        let query = from_iter(0..1_200)
            .into_par_query()
            .runtime(runtime)
            .map(slow);
        assert_eq!(query.deterministic().reduce(add), expected);
    });
}

#[test]
fn sum_min_and_max_agree_with_the_standard_library() {
    on_each_runtime(|runtime| {
        for n in [0, 1, 2, 10, 999, 20_000] {
            let numbers: Vec<i64> = (0..n)
                .map(|i| i64::try_from(random_below(i, 2_001)).unwrap() - 1_000)
                .collect();
            let borrowed = || numbers.par_query().runtime(runtime);
            let owned = || numbers.clone().into_par_query().runtime(runtime);
            let iterated = || from_iter(numbers.iter()).into_par_query().runtime(runtime);
            let sum: i64 = numbers.iter().sum();
            assert_eq!(borrowed().sum::<i64>(), sum);
            assert_eq!(owned().sum::<i64>(), sum);
            assert_eq!(iterated().sum::<i64>(), sum);
            assert_eq!(borrowed().min(), numbers.iter().min());
            assert_eq!(borrowed().max(), numbers.iter().max());
            assert_eq!(owned().min(), numbers.iter().copied().min());
            assert_eq!(iterated().max(), numbers.iter().max());
        }
        let bits = |numbers: Vec<f64>| {
            let sum: f64 = numbers.into_par_query().runtime(runtime).sum();
            sum.to_bits()
        };
        assert_eq!(bits(Vec::new()), [].iter().sum::<f64>().to_bits());
        assert_eq!(bits(vec![-0.0]), [-0.0_f64].iter().sum::<f64>().to_bits());
    });
}

/// Compares by its first part alone.
#[derive(Debug, Clone, Copy)]
struct Ranked(u64, usize);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        busy_micros(1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

#[test]
fn of_equal_items_min_gives_the_first_and_max_the_last() {
    on_each_runtime(|runtime| {
        let ranked: Vec<_> = (0..2_000)
            .map(|i| Ranked(random_below(i as u64, 5), i))
            .collect();
        let first = ranked.iter().min().unwrap().1;
        let last = ranked.iter().max().unwrap().1;
        let borrowed = || ranked.par_query().runtime(runtime);
        let iterated = || {
            from_iter(ranked.iter().copied())
                .into_par_query()
                .runtime(runtime)
        };
        assert_eq!(borrowed().min().unwrap().1, first);
        assert_eq!(borrowed().max().unwrap().1, last);
        assert_eq!(borrowed().deterministic().min().unwrap().1, first);
        assert_eq!(iterated().min().unwrap().1, first);
        assert_eq!(iterated().deterministic().max().unwrap().1, last);
        assert_eq!(
            ranked
                .clone()
                .into_par_query()
                .runtime(runtime)
                .max()
                .unwrap()
                .1,
            last
        );
    });
}

/// Numbers whose sum depends on the order of the additions.
fn uneven(n: u64) -> Vec<f64> {
    #[expect(clippy::cast_precision_loss, reason = "any number will do")]
    let number = |i| (random_below(i, 1 << 40) as f64 - 5e11) * 10_f64.powi((i % 19) as i32 - 9);
    (0..n).map(number).collect()
}

#[test]
fn deterministic_sums_repeat_bit_for_bit_on_any_runtime() {
    within(60, || {
        for n in [0, 1, 3, 1_023, 1_025, 5_000, 50_000] {
            let numbers = uneven(n);
            let sums = |runtime: &Runtime| {
                let slow = |x: &f64| {
                    if n <= 5_000 {
                        busy_micros(1);
                    }
                    *x
                };
                let add = |a, b| a + b;
                let borrowed = || numbers.par_query().runtime(runtime).deterministic();
                let owned = numbers
                    .clone()
                    .into_par_query()
                    .runtime(runtime)
                    .deterministic();
                let iterated = || {
                    from_iter(&numbers)
                        .into_par_query()
                        .runtime(runtime)
                        .deterministic()
                };
                let by_slice: f64 = borrowed().sum();
                let by_vector: f64 = owned.sum();
                let by_degree: f64 = borrowed().degree_of_parallelism(2).unwrap().sum();
                let reduced = borrowed().map(slow).reduce(add).unwrap_or(0.0);
                let by_iterator: f64 = iterated().sum();
                let iterated_slowly = iterated().map(slow).reduce(add).unwrap_or(0.0);
                assert_eq!(by_slice.to_bits(), by_vector.to_bits());
                assert_eq!(by_slice.to_bits(), by_degree.to_bits());
                [by_slice, reduced, by_iterator, iterated_slowly].map(f64::to_bits)
            };
            let single = Runtime::builder().workers(1).build().unwrap();
            let expected = sums(&single);
            for workers in WORKERS {
                let runtime = Runtime::builder().workers(workers).build().unwrap();
                for _ in 0..3 {
                    assert_eq!(sums(&runtime), expected, "{n} items on {workers} workers");
                }
            }
        }
    });
}

#[test]
fn nothing_is_combined_across_an_item_that_panics() {
    on_runtime(3, |runtime| {
        for deterministic in [false, true] {
            // So each item is the only one of its runner.
            let begun = Board::new(3);
            let combined = AtomicUsize::new(0);
            let panics = panics_of(|| {
                let query = (0..3_usize).into_par_query().runtime(runtime);
                let query = query.execution_mode(ExecutionMode::Parallel).map(|i| {
                    begun.happens(i);
                    begun.wait_for_all();
                    if i == 1 {
                        blow("burst");
                    }
                    i
                });
                let reduce = |a: usize, b: usize| {
                    combined.fetch_add(1, Ordering::SeqCst);
                    a + b
                };
                if deterministic {
                    query.deterministic().reduce(reduce)
                } else {
                    query.reduce(reduce)
                }
            });
            assert_eq!(panics.len(), 1);
            assert_eq!(combined.into_inner(), 0, "deterministic: {deterministic}");
        }
    });
}

#[test]
fn a_cancelled_reduction_combines_neighbours_only() {
    on_each_runtime(|runtime| {
        for at in [0, 1, 30, 250, 499] {
            for kind in 0..3 {
                let source = TokenSource::new();
                let token = source.token();
                let options = Options::new().runtime(runtime).cancellation(&token);
                let part = |i: usize| {
                    busy_micros(2);
                    if i == at {
                        source.cancel();
                    }
                    i..i + 1
                };
                let join = |left: Range<usize>, right: Range<usize>| {
                    assert_eq!(left.end, right.start, "these are no neighbours");
                    left.start..right.end
                };
                let query = (0..500_usize).into_par_query().runtime(runtime);
                let joined = match kind {
                    0 => options.map_reduce(0..500_usize, part, join),
                    1 => options.map_reduce(from_iter(0..500_usize), part, join),
                    _ => query.cancellation(&token).map(part).reduce(join),
                };
                assert!(joined.is_err(), "cancelled at {at}");
            }
        }
    });
}

#[test]
fn reductions_nest_and_run_in_tasks() {
    on_runtime(2, |runtime| {
        let handle = runtime.install(|| {
            manyhands::task::run(|| {
                parallel::map_reduce(
                    0..50_u64,
                    |a| parallel::map_reduce(0..50_u64, |b| a * b, |x, y| x + y).unwrap_or(0),
                    |x, y| x + y,
                )
            })
        });
        assert_eq!(handle.join().unwrap(), Some(1_225 * 1_225));
    });
}
