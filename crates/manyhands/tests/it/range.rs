//! Ranges: empty, reversed, at the ends of their types, whole spans, and covered once from many threads.

use crate::support::{busy_micros, counters, on_each_runtime, on_runtime, values, within};
use manyhands::Runtime;
use manyhands::cancel;
use manyhands::parallel::{self, Options, Source, from_iter};
use manyhands::query::prelude::*;
use std::fmt::Debug;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

fn never_runs<R: Source<Item: Debug + Send> + Clone>(range: R) {
    parallel::for_each(range.clone(), |i| panic!("ran {i:?}"));
    let outcome = Options::new().for_each_with_control(range.clone(), |i, _| panic!("ran {i:?}"));
    assert!(outcome.is_completed());
    assert!(!outcome.is_stopped());
    assert_eq!(outcome.lowest_break(), None);
    parallel::try_for_each(range.clone(), |i| Err::<(), _>(format!("{i:?}"))).unwrap();
    let mapped: Vec<()> = parallel::map(range.clone(), |i| panic!("ran {i:?}"));
    assert!(mapped.is_empty());
    let reduced = parallel::map_reduce(range, |i| panic!("ran {i:?}"), |(), ()| ());
    assert_eq!(reduced, None);
}

#[test]
#[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
fn an_empty_or_reversed_range_runs_nothing_and_is_completed() {
    within(60, || {
        never_runs(0..0_u8);
        never_runs(7..7_i8);
        never_runs(5..2_u16);
        never_runs(5..=4_i16);
        never_runs(i32::MAX..i32::MIN);
        never_runs(i32::MAX..=i32::MIN);
        never_runs(u32::MAX..0);
        never_runs(i64::MAX..i64::MIN);
        never_runs(i64::MIN..i64::MIN);
        never_runs(u64::MAX..u64::MAX);
        never_runs(u64::MAX..=0);
        never_runs(i128::MAX..i128::MIN);
        never_runs(u128::MAX..=0);
        never_runs(1..0_usize);
        never_runs(isize::MAX..=isize::MIN);
        let mut iterated = 0..=2_u8;
        assert!(iterated.by_ref().eq(0..3));
        never_runs(iterated);
    });
}

#[test]
fn empty_sources_run_nothing_and_are_completed() {
    within(60, || {
        let none: [u8; 0] = [];
        parallel::for_each(&none, |_| panic!("ran"));
        parallel::for_each(none, |_| panic!("ran"));
        parallel::for_each(&mut Vec::<u8>::new(), |_| panic!("ran"));
        parallel::for_each(Vec::<String>::new(), |_| panic!("ran"));
        parallel::for_each(from_iter(none), |_| panic!("ran"));
        parallel::for_each(from_iter(none).unbuffered(), |_| panic!("ran"));
        let outcome = Options::new().for_each_with_control(&none, |_, _| panic!("ran"));
        assert!(outcome.is_completed() && outcome.lowest_break().is_none());
        let outcome = Options::new().for_each_with_control(from_iter(none), |_, _| panic!("ran"));
        assert!(outcome.is_completed() && outcome.lowest_break().is_none());
        assert_eq!(Vec::<u32>::new().into_par_query().sum::<u32>(), 0);
        assert_eq!(none.par_query().min(), None);
        assert_eq!(from_iter(none).into_par_query().max(), None);
        assert_eq!(none.par_query().find_any(|_| true), None);
        assert_eq!(none.into_par_query().find(|_| true), None);
        assert_eq!(none.into_par_query().reduce(|a, _| a), None);
    });
}

fn covers<T, R>(range: R)
where
    T: Ord + Debug + Send,
    R: Source<Item = T> + Clone + IntoIterator<Item = T>,
{
    let expected: Vec<_> = range.clone().into_iter().collect();
    let seen = Mutex::new(Vec::new());
    parallel::for_each(range.clone(), |i| seen.lock().unwrap().push(i));
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, expected, "for_each");
    assert_eq!(parallel::map(range.clone(), |i| i), expected, "map");
    let outcome = Options::new().for_each_with_control(range, |_, _| {});
    assert!(outcome.is_completed());
}

#[test]
fn ranges_at_both_ends_of_every_type_are_covered() {
    within(60, || {
        covers(0..=u8::MAX);
        covers(i8::MIN..=i8::MAX);
        covers(i8::MIN..i8::MAX);
        covers(u16::MAX - 300..=u16::MAX);
        covers(i16::MIN..=i16::MIN + 300);
        covers(u32::MAX - 300..=u32::MAX);
        covers(i32::MAX - 300..=i32::MAX);
        covers(i32::MIN..i32::MIN + 300);
        covers(-150..=150_i64);
        covers(i64::MIN..=i64::MIN + 300);
        covers(i64::MAX - 300..=i64::MAX);
        covers(u64::MAX - 300..=u64::MAX);
        covers(u64::MAX - 300..u64::MAX);
        covers(i128::MIN..i128::MIN + 300);
        covers(i128::MAX - 300..=i128::MAX);
        covers(u128::MAX - 300..=u128::MAX);
        covers(u128::from(u64::MAX) - 150..u128::from(u64::MAX) + 150);
        covers(usize::MAX - 300..=usize::MAX);
        covers(isize::MIN..=isize::MIN + 300);
        covers(u64::MAX..=u64::MAX);
        covers(i128::MIN..=i128::MIN);
    });
}

#[test]
fn whole_spans_of_small_types_are_covered_when_shared() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let bytes = counters(256);
        options.for_each(0..=u8::MAX, |i| {
            busy_micros(10);
            bytes[usize::from(i)].fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(values(&bytes), [1; 256]);
        let signed = counters(256);
        options.for_each(i8::MIN..=i8::MAX, |i| {
            busy_micros(10);
            signed[usize::from(i.cast_unsigned())].fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(values(&signed), [1; 256]);
        let words = counters(65_536);
        options.for_each(0..=u16::MAX, |i| {
            words[usize::from(i)].fetch_add(1, Ordering::SeqCst);
        });
        assert!(values(&words).iter().all(|&count| count == 1));
        let words = counters(65_536);
        options.for_each(i16::MIN..=i16::MAX, |i| {
            words[usize::from(i.cast_unsigned())].fetch_add(1, Ordering::SeqCst);
        });
        assert!(values(&words).iter().all(|&count| count == 1));
    });
}

/// A range far too long to be run ends when it is broken at some index, and when it is stopped there.
fn ends_early<R>(runtime: &Runtime, range: &R, index: impl Fn(i32) -> R::Item + Sync)
where
    R: Source<Item: Ord + Send + Sync> + Clone,
{
    let options = Options::new().runtime(runtime);
    for (at, micros) in [(0, 0), (1, 0), (1_000, 0), (100_000, 0), (500, 10)] {
        let (place, below) = (index(at), AtomicUsize::new(0));
        let outcome = options.for_each_with_control(range.clone(), |i, control| {
            busy_micros(micros);
            if i < place {
                below.fetch_add(1, Ordering::SeqCst);
            } else if i == place {
                control.break_at_current();
            }
        });
        assert_eq!(outcome.lowest_break(), Some(u64::try_from(at).unwrap()));
        assert_eq!(below.into_inner(), usize::try_from(at).unwrap());
        let outcome = options.for_each_with_control(range.clone(), |i, control| {
            busy_micros(micros);
            if i >= place {
                control.stop();
            }
        });
        assert!(outcome.is_stopped() && !outcome.is_completed());
        assert_eq!(outcome.lowest_break(), None);
    }
}

#[test]
fn endless_ranges_can_be_broken_and_stopped() {
    on_each_runtime(|runtime| {
        ends_early(runtime, &(0..=u64::MAX), |i| u64::from(i.unsigned_abs()));
        ends_early(runtime, &(0..u64::MAX), |i| u64::from(i.unsigned_abs()));
        ends_early(runtime, &(i64::MIN..=i64::MAX), |i| i64::MIN + i64::from(i));
        ends_early(runtime, &(0..=u128::MAX), |i| u128::from(i.unsigned_abs()));
        ends_early(runtime, &(i128::MIN..=i128::MAX), |i| {
            i128::MIN + i128::from(i)
        });
        ends_early(runtime, &(i128::MIN..i128::MAX), |i| {
            i128::MIN + i128::from(i)
        });
    });
}

#[test]
fn endless_ranges_can_be_cancelled_searched_and_fail() {
    on_each_runtime(|runtime| {
        let options = Options::new().runtime(runtime);
        let source = cancel::TokenSource::new();
        let token = source.token();
        let cancelled = options.cancellation(&token).for_each(0..=u64::MAX, |i| {
            if i == 10_000 {
                source.cancel();
            }
        });
        assert!(cancelled.is_err());
        let found = (i128::MIN..=i128::MAX)
            .into_par_query()
            .runtime(runtime)
            .find(|&i| i >= i128::MIN + 70_000);
        assert_eq!(found, Some(i128::MIN + 70_000));
        let found = (0..=u64::MAX)
            .into_par_query()
            .runtime(runtime)
            .find_any(|&i| i % 10_007 == 10_006);
        assert_eq!(found.unwrap() % 10_007, 10_006);
        let failures =
            options.try_for_each(0..u64::MAX, |i| if i == 9_999 { Err(i) } else { Ok(()) });
        assert_eq!(failures.unwrap_err().errors().next(), Some((9_999, &9_999)));
    });
}

#[test]
fn an_endless_deterministic_reduction_can_be_cancelled() {
    on_each_runtime(|runtime| {
        let source = cancel::TokenSource::new();
        let token = source.token();
        let query = (0..=u64::MAX).into_par_query().runtime(runtime);
        let units = query.deterministic().cancellation(&token).map(|i| {
            if i == 10_000 {
                source.cancel();
            }
        });
        let cancelled = units.reduce(|(), ()| ());
        assert_eq!(cancelled.unwrap_err().token(), &token);
    });
}

#[test]
fn spans_are_covered_once_when_many_threads_loop_at_once() {
    on_runtime(3, |runtime| {
        let span = 3_000;
        std::thread::scope(|threads| {
            for thread in 0..8 {
                threads.spawn(move || {
                    for round in 0..20 {
                        let len = span - usize::try_from(thread * 20 + round).unwrap();
                        let ran = counters(len);
                        let start = -1_000 * thread;
                        Options::new().runtime(runtime).for_each(
                            start..start + i64::try_from(len).unwrap(),
                            |i| {
                                let index = usize::try_from(i - start).unwrap();
                                ran[index].fetch_add(1, Ordering::SeqCst);
                                if i % 64 == 0 {
                                    busy_micros(3);
                                }
                            },
                        );
                        assert!(values(&ran).iter().all(|&count| count == 1));
                    }
                });
            }
        });
    });
}

#[test]
fn one_counter_counts_every_index_of_eight_threads() {
    within(60, || {
        let sum = AtomicU64::new(0);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..20 {
                        parallel::for_each(0..10_000_u64, |i| {
                            sum.fetch_add(i, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 8 * 20 * 49_995_000);
    });
}

#[test]
#[cfg_attr(debug_assertions, ignore = "adds up more than 2^31 numbers")]
fn a_loop_driven_in_several_goes_runs_every_index() {
    // Loops of more than 2^31 positions are.
    on_runtime(2, |runtime| {
        let end = (1_u64 << 31) + 12_345;
        let sum: u64 = (0..end).into_par_query().runtime(runtime).sum();
        assert_eq!(sum, end * (end - 1) / 2);
    });
}

#[test]
fn a_loop_over_one_index_starts_no_thread() {
    on_runtime(2, |runtime| {
        runtime.install(|| {
            for _ in 0..500 {
                parallel::for_each(0..1_u32, |_| busy_micros(40));
            }
        });
        assert_eq!(runtime.metrics().threads_started, 0);
    });
}
