//! Endless sources, under every operator that does not need all items, and every terminal that ends early.
#![expect(clippy::cognitive_complexity, reason = "tables of assertions")]

use crate::setting::Setting;
use crate::support::{few_settings, settings, wait_until, within_limit};
use futures::StreamExt as _;
use manyhands::query::{self, ExecutionMode, Merge, Query, prelude::*};
use manyhands::{Runtime, cancel, parallel, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Far more than any of these needs: an operator that takes this many would have continued for ever.
const FAR: u64 = 20_000_000;

/// Endless numbers; fails instead of using all memory.
#[derive(Debug, Clone)]
struct Endless(u64);

impl Iterator for Endless {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        assert!(self.0 < FAR, "an endless source is read on and on");
        self.0 += 1;
        Some(self.0 - 1)
    }
}

fn endless(setting: Setting) -> Query<'static, impl query::Pipeline<Item = u64>> {
    setting.set(parallel::from_iter(Endless(0)).into_par_query())
}

/// All operators and terminals that end early, over an endless query of ascending numbers.
macro_rules! ends_early {
    ($what:expr, $query:expr) => {{
        let what = $what;
        let firsts: Vec<u64> = $query.take(9).to_vec();
        assert_eq!(firsts.len(), 9, "{what}");
        assert!(firsts.is_sorted(), "{what}: {firsts:?}");
        let last = firsts[8];
        assert_eq!($query.take(2).skip(1).to_vec(), [firsts[1]], "{what}");
        assert_eq!($query.skip(3).take(2).to_vec(), firsts[3..5], "{what}");
        assert_eq!($query.first(), Some(firsts[0]), "{what}");
        assert_eq!($query.element_at(8), Some(last), "{what}");
        assert!($query.any(|n| n == last), "{what}");
        assert!(!$query.all(|n| n < last), "{what}");
        assert!($query.contains(&last), "{what}");
        assert_eq!($query.find(|n| *n == last), Some(last), "{what}");
        assert_eq!($query.find_any(|n| *n == last), Some(last), "{what}");
        assert_eq!(
            $query.position(|n| n >= firsts[5]),
            firsts.iter().position(|n| *n >= firsts[5])
        );
        assert!($query.single().is_err(), "{what}");
        let below = firsts.iter().take_while(|n| **n < last).count();
        assert_eq!($query.take_while(|n| *n < last).count(), below, "{what}");
        assert_eq!(
            $query.take_while(|_| true).take(9).to_vec(),
            firsts,
            "{what}"
        );
        assert_eq!($query.map_while(Some).take(9).to_vec(), firsts, "{what}");
        assert_eq!(
            $query.skip_while(|n| *n < firsts[4]).first(),
            Some(firsts[4]),
            "{what}"
        );
        let failed: Option<Vec<u64>> = $query.map(|n| (n < last).then_some(n)).collect();
        assert_eq!(failed, None, "{what}");
        assert_eq!($query.unordered().take_any(9).count(), 9, "{what}");
        assert_eq!(
            $query.unordered().take_any(9).chain(0..3).to_vec().len(),
            12,
            "{what}"
        );
        assert_eq!($query.enumerate().take(9).count(), 9, "{what}");
        assert_eq!($query.zip(0..9).count(), 9, "{what}");
        assert_eq!(
            $query.inclusive_scan(|a, b| *a.max(b)).take(9).to_vec(),
            firsts,
            "{what}"
        );
        for merge in [Merge::Auto, Merge::NotBuffered] {
            let mut items = $query.merge(merge).into_iter();
            assert!(items.by_ref().take(9).eq(firsts.iter().copied()), "{what}");
            drop(items);
            let ahead = |items: &mut dyn Iterator<Item = u64>| items.take(9).collect::<Vec<_>>();
            assert_eq!(
                $query.merge(merge).with_iter(|mut items| ahead(&mut items)),
                firsts,
                "{what}"
            );
            assert_eq!(
                ahead(&mut $query.merge(merge).stream().into_iter()),
                firsts,
                "{what}"
            );
        }
        let asynchronous = $query.map_async(|n| async move { n }).take(9);
        assert_eq!(
            task::block_on(asynchronous.collect::<Vec<_>>()),
            firsts,
            "{what}"
        );
        let source = cancel::TokenSource::new();
        let token = source.token();
        let stop = |n: u64| {
            if n >= last {
                source.cancel();
            }
        };
        assert!(
            $query.cancellation(&token).for_each(stop).is_err(),
            "{what}"
        );
    }};
}

/// A few of these, because each is compiled for each operator.
macro_rules! stops {
    ($what:expr, $query:expr) => {{
        let what = $what;
        let firsts: Vec<u64> = $query.take(9).to_vec();
        assert_eq!(firsts.len(), 9, "{what}");
        assert!(firsts.is_sorted(), "{what}: {firsts:?}");
        let last = firsts[8];
        assert!($query.any(|n| n == last), "{what}");
        assert_eq!($query.find(|n| *n == last), Some(last), "{what}");
        let below = firsts.iter().take_while(|n| **n < last).count();
        assert_eq!($query.take_while(|n| *n < last).count(), below, "{what}");
        let items = $query.stream().into_iter().take(9);
        assert_eq!(items.collect::<Vec<_>>(), firsts, "{what}");
    }};
}

#[test]
fn endless_sources_end_early_behind_operators_that_pass_items_on() {
    within_limit(|| {
        for setting in few_settings() {
            let source = || endless(setting);
            ends_early!("source", source());
            stops!("map", source().map(|n| n + 1));
            stops!("filter", source().filter(|n| n % 3 == 0));
            stops!(
                "filter_map",
                source().filter_map(|n| (n % 5 == 4).then_some(n))
            );
            stops!("flat_map", source().flat_map(|n| vec![n; (n % 3) as usize]));
            stops!(
                "flatten",
                source().map(|n| (n % 2 == 0).then_some(n)).flatten()
            );
            stops!("default_if_empty", source().default_if_empty(7));
        }
    });
}

#[test]
fn endless_sources_end_early_behind_others() {
    within_limit(|| {
        for setting in few_settings() {
            let source = || endless(setting);
            let three = || setting.set(parallel::from_iter([0, 0, 0]).into_par_query());
            stops!("chain", three().chain(source()));
            ends_early!(
                "chain and filter",
                three().chain(source()).filter(|n| n % 3 == 0)
            );
            stops!(
                "chain of a slice",
                setting.set([0, 0, 0].into_par_query()).chain(source())
            );
            let none = || setting.set(parallel::from_iter(Vec::new()).into_par_query());
            stops!("chain of nothing", none().chain(source()));
            stops!(
                "default of nothing",
                none().default_if_empty(0).chain(source())
            );
            let some = || {
                setting
                    .set((0..1_000).into_par_query())
                    .unordered()
                    .take_any(2)
            };
            let some = || some().map(|_| 0).chain(source()).ordered();
            stops!("chain of any two", some());
        }
    });
}

#[test]
fn endless_sources_end_early_under_joins() {
    within_limit(|| {
        for setting in few_settings() {
            let source = || endless(setting);
            let own = |n: &u64| n % 10;
            let pairs = || source().join([3_u64, 4], own, |n| *n, |n, _| *n);
            stops!("join", pairs());
            let pairs = || source().left_join([3_u64, 4], own, |n| *n, |n, _| *n);
            stops!("left_join", pairs());
            let groups = || source().group_join([3_u64, 4], own, |n| *n, |n, _| n);
            stops!("group_join", groups());
        }
    });
}

#[test]
fn sources_longer_than_anybody_can_wait_for_end_early() {
    within_limit(|| {
        for setting in few_settings() {
            let source = || setting.set((0..u64::MAX).into_par_query());
            ends_early!("range", source());
            stops!("filtered range", source().filter(|n| n % 3 == 0));
            stops!("steps", source().step_by(3));
            stops!("chunks", source().chunks(3).map(|chunk| chunk[0]));
        }
    });
}

#[test]
fn a_deterministic_search_looks_at_nothing_behind_a_match_of_a_lone_runner() {
    within_limit(|| {
        for len in [100, 1_000, 100_000, u64::MAX] {
            let looks = AtomicUsize::new(0);
            let query = || {
                let all = (0..len).into_par_query().deterministic();
                all.degree_of_parallelism(1).unwrap()
            };
            let is_sought = |n: u64| {
                looks.fetch_add(1, Ordering::Relaxed);
                n == 10
            };
            let looked = |what: &str| {
                assert_eq!(looks.swap(0, Ordering::Relaxed), 11, "{what} of {len}");
            };
            assert!(query().any(is_sought));
            looked("any");
            assert!(!query().all(|n| !is_sought(n)));
            looked("all");
            assert_eq!(query().find(|n| is_sought(*n)), Some(10));
            looked("find");
            assert_eq!(query().position(is_sought), Some(10));
            looked("position");
            let failed: Option<Vec<u64>> = query().map(|n| (!is_sought(n)).then_some(n)).collect();
            assert_eq!(failed, None);
            looked("collect");
        }
    });
}

#[test]
fn a_deterministic_search_ends_though_another_runner_is_far_behind_the_match() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let is_ahead = AtomicBool::new(false);
        let query = || {
            is_ahead.store(false, Ordering::SeqCst);
            let all = (0..u64::MAX).into_par_query().deterministic();
            all.runtime(&runtime)
                .execution_mode(ExecutionMode::Parallel)
        };
        let is_sought = |n: u64| {
            if n > 10 {
                is_ahead.store(true, Ordering::SeqCst);
            } else if n == 10 {
                wait_until("another runner is behind the match", || {
                    is_ahead.load(Ordering::SeqCst)
                });
            }
            n == 10
        };
        assert!(query().any(is_sought));
        assert!(!query().all(|n| !is_sought(n)));
        assert_eq!(query().find(|n| is_sought(*n)), Some(10));
        assert_eq!(query().position(is_sought), Some(10));
        assert_eq!(query().take_while(|n| !is_sought(*n)).sum::<u64>(), 45);
    });
}

/// Where an iterator's last block is cut depends on time, so the test tries many lengths.
#[test]
fn what_follows_an_iterator_is_taken_from_its_beginning_and_no_further() {
    within_limit(|| {
        for setting in settings() {
            for left in [0, 1, 2, 3, 8, 9, 10, 14, 33, 60_u32] {
                for more in [1, 2, 9, 50_u32] {
                    let numbers =
                        setting.set(parallel::from_iter(0..u64::from(left)).into_par_query());
                    let both =
                        numbers.chain(parallel::from_iter(Endless(left.into())).into_par_query());
                    let count = left + more;
                    let firsts = both.filter(|_| true).take(count as usize);
                    assert!(
                        firsts.to_vec().into_iter().eq(0..u64::from(count)),
                        "{setting:?}"
                    );
                }
            }
        }
    });
}

#[test]
fn what_follows_any_of_a_very_long_query_is_run() {
    within_limit(|| {
        for setting in few_settings() {
            let numbers = setting.set((0..u64::MAX).into_par_query()).unordered();
            assert_eq!(numbers.take_any(5).chain(0..3).to_vec().len(), 8);
        }
    });
}

#[test]
fn a_lone_runner_reads_nothing_beyond_the_last_item_needed() {
    within_limit(|| {
        for mode in [ExecutionMode::Auto, ExecutionMode::Parallel] {
            for most in [1, 2, 3, 10, 100_usize] {
                let read = AtomicUsize::new(0);
                let source = std::iter::repeat_with(|| read.fetch_add(1, Ordering::Relaxed));
                let query = parallel::from_iter(source)
                    .into_par_query()
                    .degree_of_parallelism(1)
                    .unwrap();
                let query = query.execution_mode(mode).filter(|n| n % 2 == 0);
                assert_eq!(query.take(most).count(), most);
                assert_eq!(read.into_inner(), 2 * most - 1);
            }
        }
    });
}

/// Holds `alive` until the last of its closures is dropped.
fn holding<T, F: Fn(u64) -> T>(alive: &Arc<()>, make: F) -> impl Fn(u64) -> T + use<T, F> {
    let held = Arc::clone(alive);
    move |n| {
        let _held = &held;
        make(n)
    }
}

#[test]
fn a_dropped_stream_ends_although_nothing_more_would_pass() {
    within_limit(|| {
        for workers in [1, 2, 8] {
            for degree in [1, 2, 16] {
                for merge in [Merge::Auto, Merge::NotBuffered, Merge::FullyBuffered] {
                    let runtime = Runtime::builder().workers(workers).build().unwrap();
                    let entered = runtime.enter();
                    let alive = Arc::new(());
                    let wanted = if merge == Merge::FullyBuffered {
                        0
                    } else {
                        100
                    };
                    let passing = holding(&alive, |n| (n < 100).then_some(n));
                    let query = (0..u64::MAX)
                        .into_par_query()
                        .degree_of_parallelism(degree)
                        .unwrap();
                    let mut stream = query.merge(merge).filter_map(passing).stream().into_iter();
                    assert!(stream.by_ref().take(wanted).eq(0..wanted as u64));
                    drop(stream);
                    wait_until("the producer's end", || Arc::strong_count(&alive) == 1);
                    drop(entered);
                    drop(runtime);
                }
            }
        }
    });
}

#[test]
fn what_is_gathered_for_a_stream_ends_when_it_is_dropped() {
    /// Endless, with items that need no memory.
    fn nothing(alive: &Arc<()>) -> Query<'static, impl query::Pipeline<Item = u64> + use<>> {
        let none = holding(alive, |_| None);
        (0..u64::MAX).into_par_query().filter_map(none)
    }
    within_limit(|| {
        for workers in [1, 2] {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let _entered = runtime.enter();
            let alive = Arc::new(());
            drop(nothing(&alive).order().stream());
            drop(nothing(&alive).distinct().stream());
            drop(nothing(&alive).group_by(|n| *n).stream());
            drop(nothing(&alive).rev().stream());
            drop(nothing(&alive).take(3).stream());
            drop(nothing(&alive).skip_while(|_| true).stream());
            drop(nothing(&alive).inclusive_scan(|a, b| a + b).stream());
            drop(
                (0..9_u64)
                    .into_par_query()
                    .join(nothing(&alive), |n| *n, |n| *n, |n, _| *n)
                    .stream(),
            );
            drop((0..9_u64).into_par_query().except(nothing(&alive)).stream());
            drop((0..9_u64).into_par_query().zip(nothing(&alive)).stream());
            wait_until("the producers' ends", || Arc::strong_count(&alive) == 1);
        }
    });
}

#[test]
fn what_follows_is_not_gathered_before_anybody_asks_for_it() {
    within_limit(|| {
        for setting in few_settings() {
            let endless = || (0..u64::MAX).into_par_query().filter(|_| false).distinct();
            let both = || setting.set((0..64_u64).into_par_query()).chain(endless());
            assert!(both().into_iter().take(64).eq(0..64));
            assert_eq!(both().find(|n| *n == 40), Some(40));
            assert!(both().any(|n| n == 40));
        }
    });
}

#[test]
fn what_is_gathered_ahead_ends_when_its_iterator_is_dropped() {
    within_limit(|| {
        for workers in [1, 2, 8] {
            let runtime = Runtime::builder().workers(workers).build().unwrap();
            let slow = |n: u64| (0..20_000).fold(n, |n, _| std::hint::black_box(n));
            let first = (0..64).into_par_query().runtime(&runtime).map(slow);
            let none = (0..u64::MAX).into_par_query().filter(|_| false).order();
            let both = first.chain(none);
            both.with_iter(|items| assert!(items.take(64).eq(0..64)));
        }
    });
}

#[test]
fn results_of_futures_do_not_wait_for_a_source_of_which_nothing_more_passes() {
    within_limit(|| {
        for setting in few_settings() {
            let numbers = || {
                setting
                    .set((0..u64::MAX).into_par_query())
                    .filter(|n| *n < 5)
            };
            let ordered = numbers().map_async(|n| async move { n }).take(5);
            assert!(
                task::block_on(ordered.collect::<Vec<_>>())
                    .into_iter()
                    .eq(0..5)
            );
            let unordered = numbers()
                .unordered()
                .map_async(|n| async move { n })
                .take(5);
            let mut found: Vec<_> = task::block_on(unordered.collect());
            found.sort_unstable();
            assert!(found.into_iter().eq(0..5));
        }
    });
}
