//! The results of queries: collections, single values, failures; empty inputs and the limits of types.

use crate::support::{blow, few_settings, settings, wait_until, within_limit};
use manyhands::query::{ExecutionMode, Partitioned, SingleError, prelude::*};
use manyhands::{Runtime, cancel, channel, parallel};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
fn seeds_are_combined_one_time_less_than_they_are_made() {
    for setting in settings() {
        let (seeds, combined) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let sum = setting
            .set((0..500_u64).into_par_query())
            .filter(|n| n % 2 == 0)
            .fold(
                || {
                    seeds.fetch_add(1, Ordering::SeqCst);
                    0
                },
                |sum, n| sum + n,
                |a, b| {
                    combined.fetch_add(1, Ordering::SeqCst);
                    a + b
                },
            );
        assert_eq!(sum, (0..500).filter(|n| n % 2 == 0).sum::<u64>());
        assert_eq!(seeds.into_inner(), combined.into_inner() + 1);
    }
}

/// An accumulator that counts how many there are.
struct Alive<'a>(u64, &'a HighWater);

#[derive(Default)]
struct HighWater {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl HighWater {
    fn rise(&self) -> Alive<'_> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        Alive(0, self)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.1.now.fetch_sub(1, Ordering::SeqCst);
    }
}

fn plus(mut sum: Alive<'_>, more: u64) -> Alive<'_> {
    sum.0 += more;
    sum
}

#[test]
fn a_fold_over_an_iterator_keeps_few_accumulators_however_many_items_it_has() {
    within_limit(|| {
        for setting in few_settings() {
            let accumulators = HighWater::default();
            let begun: Vec<_> = (0..2_000).map(|_| AtomicUsize::new(0)).collect();
            // Every two neighbours run at once, on two runners.
            let meet = |n: usize| {
                begun[n].store(1, Ordering::SeqCst);
                let other = &begun[n ^ 1];
                while setting.degree > 1 && other.load(Ordering::SeqCst) == 0 {
                    thread::yield_now();
                }
            };
            let items = parallel::from_iter(0..begun.len())
                .into_par_query()
                .runtime(setting.runtime());
            let items = items.degree_of_parallelism(setting.degree).unwrap();
            let items = items.execution_mode(ExecutionMode::Parallel);
            let sum = items.fold(
                || accumulators.rise(),
                |sum, n| {
                    meet(n);
                    plus(sum, 1)
                },
                |left, right| plus(left, right.0),
            );
            assert_eq!(sum.0, 2_000);
            let most = accumulators.most.load(Ordering::SeqCst);
            assert!(most <= 100, "{most} at once with {setting:?}");
        }
    });
}

#[test]
fn a_deterministic_fold_over_an_iterator_keeps_few_accumulators() {
    let accumulators = HighWater::default();
    let items = parallel::from_iter(0..100_000_u64)
        .into_par_query()
        .degree_of_parallelism(1)
        .unwrap();
    let sum = items.deterministic().fold(
        || accumulators.rise(),
        plus,
        |left, right| plus(left, right.0),
    );
    assert_eq!(sum.0, (0..100_000).sum::<u64>());
    let most = accumulators.most.load(Ordering::SeqCst);
    assert!(most <= 4, "{most} at once");
}

#[test]
fn for_each_sees_each_item_once() {
    for setting in settings() {
        let seen: Vec<AtomicUsize> = (0..300).map(|_| AtomicUsize::new(0)).collect();
        setting.set((0..300_usize).into_par_query()).for_each(|n| {
            seen[n].fetch_add(1, Ordering::SeqCst);
        });
        assert!(seen.iter().all(|count| count.load(Ordering::SeqCst) == 1));
    }
}

#[test]
fn empty_queries_have_the_results_of_empty_iterators() {
    let none = || Vec::<i32>::new().into_par_query();
    assert_eq!(none().reduce(|a, b| a + b), None);
    assert_eq!(none().fold(|| 7, |a, b| a + b, |a, b| a + b), 7);
    assert_eq!(
        (none().first(), none().last(), none().min(), none().max()),
        (None, None, None, None)
    );
    assert_eq!(
        (none().sum::<i32>(), none().count(), none().average()),
        (0, 0, None)
    );
    assert_eq!(none().single(), Err(SingleError::Empty));
    assert_eq!((none().element_at(0), none().find(|_| true)), (None, None));
    assert!(!none().any(|_| true) && none().all(|_| false));
    assert!(none().sequence_equal(Vec::<i32>::new()));
    assert_eq!([3].into_par_query().chain(none()).single(), Ok(3));
}

#[test]
fn a_search_without_a_match_visits_every_item_once() {
    for setting in settings() {
        let visited = AtomicUsize::new(0);
        let found = setting.set((0..400).into_par_query()).find(|_| {
            visited.fetch_add(1, Ordering::SeqCst);
            false
        });
        assert_eq!((found, visited.into_inner()), (None, 400));
    }
}

#[test]
fn single_stops_at_the_second_item() {
    let visited = AtomicUsize::new(0);
    let single = parallel::from_iter(0..)
        .into_par_query()
        .inspect(|_| {
            visited.fetch_add(1, Ordering::SeqCst);
        })
        .single();
    assert_eq!(single, Err(SingleError::Several));
    assert!(visited.into_inner() < 1_000_000);
}

#[test]
fn sums_at_the_ends_of_their_types_overflow_where_they_should() {
    assert_eq!([i64::MAX, 1, -1].par_query().checked_sum(), Some(i64::MAX));
    assert_eq!([i64::MAX, 1].par_query().checked_sum(), None);
    assert_eq!([u128::MAX, 1].par_query().checked_sum(), None);
    assert_eq!([usize::MAX, 1].par_query().checked_sum(), None);
    assert_eq!([f64::MAX, f64::MAX].par_query().sum::<f64>(), f64::INFINITY);
    assert!([1.0, f64::NAN].par_query().sum::<f64>().is_nan());
    assert_eq!(
        [i64::MAX, i64::MAX].par_query().average(),
        Some(i64::MAX as f64)
    );
    assert_eq!([1_u8, 2].into_par_query().average(), Some(1.5));
}

#[test]
fn the_last_of_equal_keys_stays_in_a_map() {
    within_limit(|| {
        for setting in settings() {
            let query = || {
                setting
                    .set((0..200).into_par_query())
                    .filter(|n| n % 2 == 0)
                    .map(|n| (n % 7, n))
            };
            let twin = || (0..200).filter(|n| n % 2 == 0).map(|n| (n % 7, n));
            assert_eq!(query().collect::<HashMap<_, _>>(), twin().collect());
            assert_eq!(query().collect::<BTreeMap<_, _>>(), twin().collect());
        }
    });
}

#[test]
fn queries_are_collected_into_everything() {
    within_limit(|| {
        for setting in few_settings() {
            let query = || setting.set((0..90_u32).into_par_query());
            assert_eq!(query().collect::<HashSet<_>>(), (0..90).collect());
            assert_eq!(query().collect::<BTreeSet<_>>(), (0..90).collect());
            assert_eq!(
                query().collect::<VecDeque<_>>(),
                (0..90).collect::<VecDeque<_>>()
            );
            assert_eq!(query().collect::<Box<[_]>>(), (0..90).collect());
            assert_eq!(
                query().collect::<BinaryHeap<_>>().into_sorted_vec(),
                (0..90).collect::<Vec<_>>()
            );
            let text: String = query().map(|n| n.to_string()).collect();
            assert_eq!(text, (0..90).map(|n| n.to_string()).collect::<String>());
            let text: String = ["a", "b"].into_par_query().collect();
            assert_eq!(text, "ab");
            let checked = |limit| query().map(move |n| (n < limit).then_some(()).ok_or(n));
            assert_eq!(checked(40).collect::<Result<(), _>>(), Err(40));
            assert_eq!(checked(90).collect::<Result<(), u32>>(), Ok(()));
        }
    });
}

/// Ordered backwards, as for a heap, but by [`Ord`] alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
struct Backwards(u32);

#[expect(
    clippy::derive_ord_xor_partial_ord,
    reason = "wrong, and yet common: iterators go by `Ord`"
)]
impl Ord for Backwards {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

#[test]
fn extremes_go_by_ord_as_those_of_iterators_do() {
    let items = [2, 1, 3, 2].map(Backwards);
    let (least, greatest) = (items.into_iter().min(), items.into_iter().max());
    assert_eq!(items.into_par_query().min(), least);
    assert_eq!(items.into_par_query().max(), greatest);
    let query = || items.into_par_query();
    assert_eq!((query().min(), query().max()), (least, greatest));
    assert_eq!(query().min_by_key(|item| *item), least);
    assert_eq!(query().max_by_key(|item| *item), greatest);
    assert_eq!(query().order().first(), least);
}

/// Cancels when it is compared.
#[derive(Debug, Clone, Copy)]
struct Cancelling<'a>(u32, &'a cancel::TokenSource);

impl PartialEq for Cancelling<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cancelling<'_> {}

impl PartialOrd for Cancelling<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cancelling<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.1.cancel();
        self.0.cmp(&other.0)
    }
}

#[test]
fn a_set_is_not_returned_if_the_query_is_cancelled_while_it_is_sorted() {
    for setting in few_settings() {
        let source = &cancel::TokenSource::new();
        let token = source.token();
        let query = setting.set((0..9).into_par_query()).cancellation(&token);
        let items = query.map(move |n| Cancelling(9 - n, source));
        assert!(items.collect::<BTreeSet<_>>().is_err());
    }
}

#[test]
fn the_first_of_several_errors_is_given() {
    within_limit(|| {
        for setting in settings() {
            let query = |bad: [u32; 2]| {
                let query = setting.set((0..300_u32).into_par_query());
                query.map(move |n| if bad.contains(&n) { Err(n) } else { Ok(n) })
            };
            assert_eq!(query([250, 20]).collect::<Result<Vec<_>, _>>(), Err(20));
            assert_eq!(
                query([900, 900]).collect::<Result<Vec<_>, _>>(),
                Ok((0..300).collect())
            );
            assert_eq!(
                query([17, 18]).map(Result::ok).collect::<Option<Vec<_>>>(),
                None
            );
            assert_eq!(
                query([900, 900])
                    .map(Result::ok)
                    .collect::<Option<HashSet<_>>>(),
                Some((0..300).collect())
            );
        }
    });
}

#[test]
fn the_first_item_wins_though_it_is_detected_last() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().expect("starts");
        let last_is_found = AtomicUsize::new(0);
        // The first and the last item are wanted; the first waits for the last.
        let is_wanted = |n: usize| {
            if n == 0 {
                wait_until("the last item", || {
                    last_is_found.load(Ordering::SeqCst) == 1
                });
            } else if n == 49 {
                last_is_found.store(1, Ordering::SeqCst);
            }
            n.is_multiple_of(49)
        };
        let query = || {
            last_is_found.store(0, Ordering::SeqCst);
            let query = (0..50_usize).into_par_query().runtime(&runtime);
            query.execution_mode(ExecutionMode::Parallel)
        };
        assert_eq!(query().find(|n| is_wanted(*n)), Some(0));
        let fallible = |n| if is_wanted(n) { Err(n) } else { Ok(n) };
        assert_eq!(query().map(fallible).collect::<Result<Vec<_>, _>>(), Err(0));
        assert_eq!(query().take_while(|n| !is_wanted(*n)).count(), 0);
    });
}

#[test]
fn try_forms_report_errors_and_panics_with_positions() {
    within_limit(|| {
        for setting in settings() {
            let query = || setting.set((0..100_u64).into_par_query());
            let failures = query()
                .try_for_each(|n| if n == 70 { Err("bad") } else { Ok(()) })
                .unwrap_err();
            assert_eq!(failures.errors().collect::<Vec<_>>(), [(70, &"bad")]);
            let failures = query()
                .try_map(|n| if n == 3 { blow() } else { Ok::<_, ()>(n) })
                .unwrap_err();
            assert_eq!(failures.panics().map(|(at, _)| at).collect::<Vec<_>>(), [3]);
            assert_eq!(
                query()
                    .filter(|n| n % 2 == 0)
                    .try_map(Ok::<_, ()>)
                    .unwrap()
                    .len(),
                50
            );
        }
    });
}

#[test]
fn slices_are_written_in_place() {
    for setting in settings() {
        let mut places = vec![0; 100];
        setting
            .set((0..100).into_par_query())
            .map(|n| n * 2)
            .collect_into(&mut places);
        assert!(places.iter().copied().eq((0..100).map(|n| n * 2)));
        setting
            .set((0..200).into_par_query())
            .filter(|n| n % 2 == 1)
            .collect_into(&mut places);
        assert!(places.iter().copied().eq((0..200).filter(|n| n % 2 == 1)));
    }
}

#[test]
#[should_panic(expected = "a slice as long as the query has items")]
fn a_slice_of_another_length_is_refused() {
    (0..3).into_par_query().collect_into(&mut [0; 4]);
}

#[test]
fn ranges_of_every_integer_type_and_both_ends() {
    assert_eq!(
        (250..=255_u8).into_par_query().rev().to_vec(),
        [255, 254, 253, 252, 251, 250]
    );
    assert_eq!((i128::MAX - 1..=i128::MAX).into_par_query().count(), 2);
    assert_eq!(
        (-3..3_i16).into_par_query().step_by(2).to_vec(),
        [-3, -1, 1]
    );
    assert_eq!(
        (0..u64::MAX).into_par_query().find(|n| *n == 12_345),
        Some(12_345)
    );
    assert_eq!(
        (0..u64::MAX)
            .into_par_query()
            .chain(0..u64::MAX)
            .skip(5)
            .first(),
        Some(5)
    );
}

#[test]
fn collections_and_channels_are_sources() {
    within_limit(|| {
        for setting in few_settings() {
            let numbers = || 0..500_u32;
            let map: HashMap<u32, u32> = numbers().map(|n| (n, n * n)).collect();
            assert_eq!(
                setting.set(map.par_query()).map(|(_, square)| square).max(),
                Some(&(499 * 499))
            );
            let set: BTreeSet<u32> = numbers().collect();
            assert!(setting.set(set.into_par_query()).into_iter().eq(numbers()));
            let mut deque: VecDeque<u32> = numbers().collect();
            setting.set(deque.par_query_mut()).for_each(|n| *n += 1);
            assert_eq!(
                setting.set(deque.par_query()).sum::<u32>(),
                numbers().map(|n| n + 1).sum::<u32>()
            );
            let (sender, receiver) = channel::bounded(3);
            let sending =
                thread::spawn(move || numbers().for_each(|n| sender.send_blocking(n).unwrap()));
            assert!(
                setting
                    .set(receiver.into_par_query())
                    .map(|n| n + 1)
                    .to_vec()
                    .into_iter()
                    .eq(1..501)
            );
            sending.join().unwrap();
            assert_eq!(
                setting
                    .set((0..30).into_par_query().map(|_| 7))
                    .sum::<i32>(),
                210
            );
            let boxed: Box<[u32]> = numbers().collect();
            let ends = || {
                setting
                    .set(boxed.clone().into_par_query())
                    .chain(None)
                    .chain(Some(7))
            };
            assert!(ends().to_vec().into_iter().eq(numbers().chain([7])));
            assert_eq!(ends().rev().first(), Some(7));
        }
    });
}

/// Each position is as many items as its number.
struct Triangle(usize);

impl Partitioned for Triangle {
    type Item = usize;

    fn len(&self) -> usize {
        self.0
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = usize> {
        positions.flat_map(|n| std::iter::repeat_n(n, n))
    }
}

#[test]
fn a_source_of_ones_own_is_cut_anywhere() {
    for setting in settings() {
        let found = setting
            .set(Triangle(30).into_par_query())
            .enumerate()
            .to_vec();
        let twin = (0..30).flat_map(|n| std::iter::repeat_n(n, n)).enumerate();
        assert!(found.into_iter().eq(twin), "{setting:?}");
    }
}
