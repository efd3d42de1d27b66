//! Results in order, and nested loops.

use crate::support::{busy_micros, on_each_runtime, on_runtime, within};
use manyhands::parallel::{self, Options, from_iter};
use manyhands::query::prelude::*;
use manyhands::task;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn map_keeps_the_order_for_every_length() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        for n in (0..200).chain([1_000, 1_023, 1_024, 1_025, 10_000]) {
            let expected: Vec<_> = (0..n).map(|i| i.to_string()).collect();
            let numbers: Vec<usize> = (0..n).collect();
            assert_eq!(options.map(0..n, |i| i.to_string()), expected);
            assert_eq!(options.map(&numbers, ToString::to_string), expected);
            assert_eq!(options.map(numbers, |i| i.to_string()), expected);
            assert_eq!(options.map(from_iter(0..n), |i| i.to_string()), expected);
        }
    });
}

#[test]
fn map_keeps_the_order_when_shared() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let body = |i: u64| {
            busy_micros(i % 10);
            Box::new(i)
        };
        for n in [100, 777, 1_500] {
            let expected: Vec<_> = (0..n).map(Box::new).collect();
            assert_eq!(options.map(0..n, body), expected);
            assert_eq!(options.map(from_iter(0..n), body), expected);
            assert_eq!(options.map(from_iter(0..n).unbuffered(), body), expected);
            let tried = options.try_map(0..n, |i| Ok::<_, ()>(body(i)));
            assert_eq!(tried.unwrap(), expected);
        }
    });
}

#[test]
fn map_to_nothing_and_to_large_things() {
    within(60, || {
        assert_eq!(parallel::map(0..1_000_u16, |_| ()).len(), 1_000);
        let large = parallel::map(0..200_u64, |i| [i; 512]);
        assert!(
            large
                .iter()
                .enumerate()
                .all(|(i, large)| large == &[i as u64; 512])
        );
    });
}

#[test]
fn a_million_results_are_in_order() {
    within(60, || {
        let squares = parallel::map(0..1_000_000_u64, |i| i * i);
        assert!(
            squares
                .iter()
                .zip(0_u64..)
                .all(|(&square, i)| square == i * i)
        );
    });
}

#[test]
fn loops_nest_three_deep() {
    on_each_runtime(|runtime| {
        let cells = crate::support::counters(8 * 9 * 10);
        Options::new().runtime(runtime).for_each(0..8_usize, |a| {
            parallel::for_each(0..9_usize, |b| {
                parallel::for_each(0..10_usize, |c| {
                    busy_micros(2);
                    cells[(a * 9 + b) * 10 + c].fetch_add(1, Ordering::SeqCst);
                });
            });
        });
        assert!(
            crate::support::values(&cells)
                .iter()
                .all(|&count| count == 1)
        );
    });
}

#[test]
fn loops_nest_inside_tasks_and_iterators_inside_loops() {
    on_each_runtime(|runtime| {
        let handles: Vec<_> = runtime.install(|| {
            (0..16_u64)
                .map(|n| {
                    task::run(move || {
                        let rows = parallel::map(0..20_u64, |a| {
                            let row = from_iter((0..20).map(move |b| a * b)).into_par_query();
                            row.sum::<u64>()
                        });
                        rows.par_query().sum::<u64>() + n
                    })
                })
                .collect()
        });
        for (n, handle) in handles.into_iter().enumerate() {
            assert_eq!(handle.join().unwrap(), 190 * 190 + n as u64);
        }
    });
}

#[test]
fn loops_from_eight_outside_threads_at_once() {
    on_runtime(2, |runtime| {
        let sum = AtomicUsize::new(0);
        thread::scope(|threads| {
            for thread in 0..8 {
                let sum = &sum;
                threads.spawn(move || {
                    for round in 0..20 {
                        let mapped = Options::new().runtime(runtime).map(0..300_usize, |i| {
                            busy_micros(2);
                            i * thread + round
                        });
                        let expected = (0..300).map(|i| i * thread + round);
                        assert!(mapped.into_iter().eq(expected));
                        sum.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 160);
    });
}

#[test]
fn short_loops_in_quick_succession_are_right() {
    on_each_runtime(|runtime| {
        runtime.install(|| {
            for round in 0..2_000_u64 {
                let n = round % 60;
                let sum: u64 = (0..n).into_par_query().sum();
                assert_eq!(sum, n * n.saturating_sub(1) / 2);
            }
        });
    });
}
