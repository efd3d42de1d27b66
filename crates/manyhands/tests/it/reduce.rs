//! Reductions: order, ties, and results that repeat bit for bit.

use crate::support::{WORKERS, busy_micros, on_each_runtime, on_runtime, random_below, within};
use manyhands::Runtime;
use manyhands::parallel::{self, Options, from_iter, options};

fn concatenated(n: usize) -> Option<String> {
    (0..n).map(|i| format!("{i},")).reduce(|a, b| a + &b)
}

fn concat<S: parallel::Source<Item = usize>>(options: &Options<'_>, source: S) -> Option<String> {
    options.map_reduce(source, |i| format!("{i},"), |a, b| a + &b)
}

#[test]
fn a_reduction_that_does_not_commute_keeps_the_order_for_every_length() {
    on_each_runtime(|runtime| {
        for grouped in [options(), options().deterministic()] {
            let options = grouped.runtime(runtime);
            for n in (0..200).chain([1_000, 1_023, 1_024, 1_025, 2_049, 5_000]) {
                let expected = concatenated(n);
                let numbers: Vec<usize> = (0..n).collect();
                assert_eq!(concat(&options, 0..n), expected, "{n}");
                assert_eq!(concat(&options, numbers.clone()), expected, "{n}");
                assert_eq!(concat(&options, from_iter(0..n)), expected, "{n}");
                let text: Vec<_> = numbers.iter().map(|i| format!("{i},")).collect();
                assert_eq!(options.reduce(text, |a, b| a + &b), expected, "{n}");
            }
        }
    });
}

#[test]
fn a_reduction_that_does_not_commute_keeps_the_order_when_shared() {
    on_each_runtime(|runtime| {
        let expected = concatenated(1_200);
        for grouped in [options(), options().deterministic()] {
            let options = grouped.runtime(runtime);
            let slow = |i: usize| {
                busy_micros(random_below(i as u64, 12));
                format!("{i},")
            };
            let reduced = options.map_reduce(0..1_200_usize, slow, |a, b| a + &b);
            assert_eq!(reduced, expected);
            let source = from_iter(0..1_200);
            assert_eq!(options.map_reduce(source, slow, |a, b| a + &b), expected);
            let source = from_iter(0..1_200).unbuffered();
            assert_eq!(options.map_reduce(source, slow, |a, b| a + &b), expected);
        }
    });
}

#[test]
fn sum_min_and_max_agree_with_the_standard_library() {
    on_each_runtime(|runtime| {
        let options = options().runtime(runtime);
        for n in [0, 1, 2, 10, 999, 20_000] {
            let numbers: Vec<i64> = (0..n)
                .map(|i| i64::try_from(random_below(i, 2_001)).unwrap() - 1_000)
                .collect();
            let sum: i64 = numbers.iter().sum();
            assert_eq!(options.sum::<_, i64>(&numbers), sum);
            assert_eq!(options.sum::<_, i64>(numbers.clone()), sum);
            assert_eq!(options.sum::<_, i64>(from_iter(numbers.iter())), sum);
            assert_eq!(options.min(&numbers), numbers.iter().min());
            assert_eq!(options.max(&numbers), numbers.iter().max());
            assert_eq!(options.min(numbers.clone()), numbers.iter().copied().min());
            assert_eq!(
                options.max(from_iter(numbers.clone())),
                numbers.iter().copied().max()
            );
        }
        let bits = |x: f64| x.to_bits();
        assert_eq!(
            bits(options.sum(Vec::<f64>::new())),
            bits(Vec::<f64>::new().iter().sum())
        );
        assert_eq!(
            bits(options.sum(vec![-0.0_f64])),
            bits([-0.0_f64].iter().sum())
        );
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
        for grouped in [options(), options().deterministic()] {
            let options = grouped.runtime(runtime);
            let ranked: Vec<_> = (0..2_000)
                .map(|i| Ranked(random_below(i as u64, 5), i))
                .collect();
            let first = ranked.iter().min().unwrap().1;
            let last = ranked.iter().max().unwrap().1;
            assert_eq!(options.min(&ranked).unwrap().1, first);
            assert_eq!(options.max(&ranked).unwrap().1, last);
            assert_eq!(
                options.min(from_iter(ranked.iter().copied())).unwrap().1,
                first
            );
            assert_eq!(options.max(ranked).unwrap().1, last);
        }
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
                let options = options().runtime(runtime).deterministic();
                let slow = |x: &f64| {
                    if n <= 5_000 {
                        busy_micros(1);
                    }
                    *x
                };
                let add = |a, b| a + b;
                let by_slice: f64 = options.sum(&numbers);
                let by_vector: f64 = options.sum(numbers.clone());
                let by_degree: f64 = options.degree_of_parallelism(2).sum(&numbers);
                let reduced = options.map_reduce(&numbers, slow, add).unwrap_or(0.0);
                let iterated: f64 = options.sum(from_iter(numbers.iter()));
                let unbuffered: f64 = options.sum(from_iter(numbers.iter()).unbuffered());
                let iterated_slowly = options
                    .map_reduce(from_iter(&numbers), slow, add)
                    .unwrap_or(0.0);
                assert_eq!(by_slice.to_bits(), by_vector.to_bits());
                assert_eq!(by_slice.to_bits(), by_degree.to_bits());
                assert_eq!(iterated.to_bits(), unbuffered.to_bits());
                [by_slice, reduced, iterated, iterated_slowly].map(f64::to_bits)
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
