//! Endless sources, sources with less than one item for an operator, and sources with more items than can be counted.

use crate::support::{Ledger, few_settings, panics, settings, wait_until, within_limit};
use manyhands::query::{ExecutionMode, Merge, Pipeline, Query, prelude::*};
use manyhands::{Runtime, parallel};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn of_an_endless_source_no_more_is_read_than_is_needed() {
    within_limit(|| {
        for setting in settings() {
            let numbers = || setting.set(parallel::from_iter(0_u64..).into_par_query());
            assert_eq!(numbers().position(|n| n == 999), Some(999), "{setting:?}");
            let sifted = numbers().flat_map(|n| (0..n % 3).map(move |_| n));
            assert_eq!(sifted.position(|n| n > 100), Some(100), "{setting:?}");
            assert_eq!(numbers().skip(70).first(), Some(70));
            assert_eq!(numbers().skip(7).element_at(3), Some(10));
            assert_eq!(numbers().map(|n| n + 1).enumerate().first(), Some((0, 1)));
            assert_eq!(numbers().zip([5, 6]).to_vec(), [(0, 5), (1, 6)]);
            assert_eq!(
                setting.set([5, 6].into_par_query()).zip(numbers()).count(),
                2
            );
            assert_eq!(numbers().chunks(3).first(), Some(vec![0, 1, 2]));
            let failed: Option<Vec<_>> = numbers().map(|n| (n < 80).then_some(n)).collect();
            assert_eq!(failed, None);
            assert!(
                numbers()
                    .try_map(|n| if n < 80 { Ok(n) } else { Err(n) })
                    .is_err()
            );
        }
    });
}

#[test]
fn a_position_counts_the_items_and_not_the_sources_positions() {
    within_limit(|| {
        for setting in settings() {
            for wanted in [0, 1, 299, 499, 500] {
                let items = setting
                    .set((0..1_000_u32).into_par_query())
                    .filter(|n| n % 2 == 1);
                let found = items.position(|n| n == 2 * wanted + 1);
                assert_eq!(
                    found,
                    (wanted < 500).then_some(wanted as usize),
                    "{setting:?}"
                );
            }
        }
    });
}

#[test]
fn the_first_of_a_sort_is_the_first_of_equal_ones() {
    within_limit(|| {
        for setting in settings() {
            let items = setting.set((0..3_000_u32).into_par_query());
            let smallest = items.order_by(|n| n.abs_diff(1_500) / 7);
            assert_eq!(smallest.first(), Some(1_494), "{setting:?}");
        }
        assert_eq!(Vec::<u8>::new().into_par_query().order().first(), None);
    });
}

/// All steps after the last item taken would have been made.
#[test]
fn an_iteration_ends_when_no_more_may_be_taken() {
    within_limit(|| {
        for setting in few_settings() {
            let numbers = || setting.set((0..u64::MAX).into_par_query()).unordered();
            assert_eq!(numbers().take_any(5).into_iter().count(), 5);
            assert_eq!(numbers().take_any(0).into_iter().count(), 0);
            assert_eq!(numbers().take_any(300).stream().into_iter().count(), 300);
            assert_eq!(numbers().take_any(5).with_iter(|items| items.count()), 5);
            let chained = numbers().take_any(5).chain(0..3);
            assert_eq!(chained.into_iter().count(), 8);
        }
    });
}

#[test]
fn a_slice_shorter_than_a_window_has_none() {
    let (three, two) = ([1, 2, 3], [8, 9]);
    for setting in few_settings() {
        let windows = |size| setting.set(three.par_windows(size));
        let none = || two.par_windows(3);
        for size in [4, 5, usize::MAX] {
            assert_eq!(windows(size).count(), 0);
            assert_eq!(windows(size).rev().to_vec(), [[0; 0]; 0]);
            assert_eq!(windows(size).chain(windows(3)).to_vec(), [three]);
            assert_eq!(windows(size).default_if_empty(&two).rev().to_vec(), [two]);
        }
        assert_eq!(windows(2).chain(none()).to_vec(), [[1, 2], [2, 3]]);
        assert_eq!(windows(2).chain(none()).rev().to_vec(), [[2, 3], [1, 2]]);
    }
    let most = [(); usize::MAX];
    assert_eq!(most.par_windows(usize::MAX).count(), 1);
}

const MOST: usize = usize::MAX;

fn check_places<P: Pipeline<Item = i32>>(query: impl Fn() -> Query<'static, P>) {
    assert_eq!(query().step_by(MOST).to_vec(), [0]);
    assert_eq!(
        query().chunks(MOST).map(|chunk| chunk.len()).to_vec(),
        [100]
    );
    assert_eq!(query().take(MOST).skip(MOST).take(MOST).count(), 0);
    assert_eq!(query().skip_last(MOST).count(), 0);
    assert_eq!(query().take_last(MOST).count(), 100);
    assert_eq!(query().element_at(MOST), None);
}

fn check_others<P: Pipeline<Item = i32>>(query: impl Fn() -> Query<'static, P>) {
    assert_eq!(query().order_descending().take(MOST - 1).first(), Some(99));
    assert_eq!(query().unordered().take_any(MOST).count(), 100);
    assert_eq!(query().unordered().skip_any(MOST).count(), 0);
}

#[test]
fn sizes_and_counts_may_be_as_large_as_they_can_be() {
    for setting in few_settings() {
        let known = || setting.set((0..100).into_par_query());
        let sifted = || known().filter(|_| true);
        check_places(known);
        check_places(sifted);
        check_others(known);
        check_others(sifted);
    }
}

#[test]
fn sources_may_be_as_long_as_they_can_be() {
    let most = || {
        (0..MOST)
            .into_par_query()
            .map(|_| 7)
            .skip(MOST - 2)
            .chain(vec![8])
    };
    assert_eq!(most().rev().to_vec(), [8, 7, 7]);
    let nothings = vec![(); MOST].into_par_query().skip(MOST - 3);
    assert_eq!(nothings.rev().to_vec().len(), 3);
}

#[test]
fn the_last_items_that_can_be_counted_are_numbered() {
    let last = u64::MAX - 1;
    let numbered = (0..=last).into_par_query().enumerate();
    let lasts = numbered.skip(usize::MAX - 2).to_vec();
    let places = lasts.into_iter().map(|(place, n)| (place as u64, n));
    assert!(places.eq([(last - 1, last - 1), (last, last)]));
}

/// Where a source is cut, its last items would be the wrong ones.
#[test]
fn what_has_more_items_than_can_be_counted_has_no_end_to_count_from() {
    let endless = || (0..=u64::MAX).into_par_query();
    let refused = |query: &dyn Fn() -> Option<u64>| {
        panics(|| {
            query();
        })
    };
    assert!(refused(&|| endless().rev().first()) && refused(&|| endless().last()));
    assert!(refused(&|| endless().take_last(2).first()));
    assert!(refused(&|| endless().skip_last(2).first()));
    let two = || (0..u64::MAX).into_par_query().chain(5..10);
    assert!(refused(&|| two().rev().first()));
    assert_eq!(two().skip(3).first(), Some(3));
    let almost = (1..u64::MAX).into_par_query();
    assert_eq!(almost.rev().first(), Some(u64::MAX - 1));
    assert_eq!(
        (i128::MIN..=i128::MAX).into_par_query().first(),
        Some(i128::MIN)
    );
}

#[test]
fn items_behind_more_than_can_be_counted_are_dropped() {
    for setting in few_settings() {
        let ledger = Arc::new(Ledger::default());
        let numbers = || setting.set((0..u64::MAX).into_par_query());
        let made = || numbers().map(|_| ledger.make(0));
        let chained = || made().chain(ledger.make_all(9));
        assert_eq!(chained().take(5).to_vec().len(), 5);
        assert_eq!(chained().take_while(|_| false).count(), 0);
        assert_eq!(chained().enumerate().into_iter().take(5).count(), 5);
        let longer = setting.set((1..u64::MAX - 5).into_par_query());
        let longer = longer.map(|_| ledger.make(0)).chain(ledger.make_all(9));
        assert_eq!(longer.take(5).to_vec().len(), 5);
        ledger.assert_settled("chain");
    }
}

/// Long enough that a step of them would be handed to a worker.
fn work(n: u64) -> u64 {
    (0..10_000).fold(n, |n, _| black_box(n))
}

#[test]
fn the_iterating_thread_runs_a_sequential_query() {
    within_limit(|| {
        let caller = thread::current().id();
        let query = || {
            let numbers = (0..1_000_u64).into_par_query();
            numbers.map(move |n| {
                assert_eq!(thread::current().id(), caller);
                work(n)
            })
        };
        let check = |items: &mut dyn Iterator<Item = u64>| assert!(items.map(work).eq(0..1_000));
        let sequential = || query().execution_mode(ExecutionMode::Sequential);
        check(&mut query().degree_of_parallelism(1).unwrap().into_iter());
        check(&mut sequential().into_iter());
        query()
            .degree_of_parallelism(1)
            .unwrap()
            .with_iter(|mut items| check(&mut items));
        sequential().with_iter(|mut items| check(&mut items));
    });
}

#[test]
fn without_a_buffer_no_more_is_made_at_once_than_there_are_workers() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let made = AtomicUsize::new(0);
    let numbers = (0..1_000).into_par_query().runtime(&runtime).inspect(|_| {
        made.fetch_add(1, Ordering::SeqCst);
    });
    let mut items = numbers
        .merge(Merge::NotBuffered)
        .degree_of_parallelism(usize::MAX)
        .unwrap()
        .into_iter();
    for (item, number) in items.by_ref().take(100).zip(0..) {
        assert_eq!(item, number);
        assert!(made.load(Ordering::SeqCst) <= number + 2);
    }
}

/// A match that is dropped because another one came before it.
struct Find<'a> {
    number: usize,
    events: &'a Events,
}

#[derive(Default)]
struct Events {
    begun: AtomicUsize,
    is_returned: AtomicUsize,
    is_last_dropping: AtomicUsize,
    is_middle_dropped: AtomicUsize,
}

fn happened(event: &AtomicUsize) -> bool {
    event.load(Ordering::SeqCst) == 1
}

impl Drop for Find<'_> {
    fn drop(&mut self) {
        if self.number == 2 {
            self.events.is_last_dropping.store(1, Ordering::SeqCst);
            wait_until("the middle find's end", || {
                happened(&self.events.is_middle_dropped)
            });
        } else if self.number == 1 {
            self.events.is_middle_dropped.store(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn an_unwanted_match_is_dropped_where_it_blocks_no_other_runner() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        let events = Events::default();
        let numbers = (0..3_usize).into_par_query().runtime(&runtime);
        let found = numbers
            .execution_mode(ExecutionMode::Parallel)
            .find_map(|number| {
                match number {
                    0 => wait_until("the last find's end", || happened(&events.is_last_dropping)),
                    1 => wait_until("the last find", || happened(&events.begun)),
                    _ => {
                        events.begun.store(1, Ordering::SeqCst);
                        wait_until("the middle find", || happened(&events.is_returned));
                        // Usually, the middle one is kept before this one.
                        (0..1_000).for_each(|_| thread::yield_now());
                    }
                }
                if number == 1 {
                    events.is_returned.store(1, Ordering::SeqCst);
                }
                Some(Find {
                    number,
                    events: &events,
                })
            });
        assert_eq!(found.map(|find| find.number), Some(0));
    });
}

#[test]
fn sizes_of_zero_are_refused() {
    let three = [1, 2, 3];
    assert!(panics(|| drop(three.par_query().chunks(0))));
    assert!(panics(|| drop(three.par_query().step_by(0))));
    assert!(panics(|| drop(three.par_windows(0))));
}
