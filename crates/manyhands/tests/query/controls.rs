//! The settings of a whole query: degree, runtime, execution mode, order, grouping.

use crate::setting::Setting;
use crate::support::{few_settings, settings, wait_until, within_limit};
use manyhands::query::{ExecutionMode, Merge, prelude::*};
use manyhands::{Runtime, cancel, parallel, task, time};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn a_degree_of_zero_is_refused() {
    let refused = (0..9)
        .into_par_query()
        .degree_of_parallelism(0)
        .unwrap_err();
    assert!(refused.is_zero());
}

#[test]
fn of_two_settings_the_later_one_holds() {
    let query = || {
        (0..1000)
            .into_par_query()
            .degree_of_parallelism(16)
            .unwrap()
    };
    assert!(
        query()
            .degree_of_parallelism(1)
            .unwrap()
            .explain()
            .starts_with("sequential")
    );
    let mode = query()
        .execution_mode(ExecutionMode::Sequential)
        .execution_mode(ExecutionMode::Parallel);
    assert!(!mode.explain().starts_with("sequential"));
}

#[test]
fn the_settings_of_an_operand_give_way_to_those_of_the_query() {
    let alone = || (0..1000).into_par_query().degree_of_parallelism(1).unwrap();
    let parallel = || {
        let query = (0..1000).into_par_query();
        query.execution_mode(ExecutionMode::Parallel)
    };
    assert!(
        !parallel()
            .union(alone())
            .explain()
            .starts_with("sequential")
    );
    assert!(
        alone()
            .union(parallel())
            .explain()
            .starts_with("sequential")
    );
}

#[test]
fn with_degree_one_the_caller_runs_everything_in_order() {
    within_limit(|| {
        let caller = thread::current().id();
        let next = AtomicUsize::new(0);
        (0..10_000_usize)
            .into_par_query()
            .degree_of_parallelism(1)
            .unwrap()
            .map(|n| n)
            .for_each(|n| {
                assert_eq!(thread::current().id(), caller);
                assert_eq!(next.fetch_add(1, Ordering::Relaxed), n);
            });
    });
}

#[test]
fn a_query_has_no_more_runners_than_its_degree() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(8).build().unwrap();
        for degree in [1, 2, 3] {
            let (now, highest) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let query = (0..200).into_par_query().filter(|_| true);
            let query = query
                .runtime(&runtime)
                .degree_of_parallelism(degree)
                .unwrap();
            query.execution_mode(ExecutionMode::Parallel).for_each(|_| {
                highest.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
            });
            assert!(highest.into_inner() <= degree);
        }
    });
}

#[test]
fn bodies_of_a_parallel_query_may_wait_for_one_another() {
    for source in ["positions", "iterator", "first ones", "keys"] {
        within_limit(move || {
            let runtime = Runtime::builder().workers(4).build().unwrap();
            let barrier = Barrier::new(4);
            let meet = |_: usize| {
                barrier.wait();
            };
            let numbers = || (0..4).into_par_query().runtime(&runtime);
            let numbers = || numbers().execution_mode(ExecutionMode::Parallel);
            match source {
                "positions" => numbers().for_each(meet),
                "iterator" => {
                    let query = parallel::from_iter(0..4).into_par_query().runtime(&runtime);
                    query.execution_mode(ExecutionMode::Parallel).for_each(meet);
                }
                "first ones" => {
                    let firsts = numbers().inspect(|n| meet(*n)).filter(|_| true).take(2);
                    assert_eq!(firsts.to_vec(), [0, 1]);
                }
                _ => {
                    let key = |n: &usize| {
                        meet(*n);
                        3 - *n
                    };
                    assert_eq!(numbers().order_by(key).to_vec(), [3, 2, 1, 0]);
                }
            }
        });
    }
}

#[test]
fn order_is_kept_for_every_way_to_merge_and_run() {
    within_limit(|| {
        let expected: Vec<u32> = (0..3000).filter(|n| n % 3 == 1).collect();
        for setting in settings() {
            for merge in [Merge::NotBuffered, Merge::Auto, Merge::FullyBuffered] {
                let query = || {
                    setting
                        .set((0..3000).into_par_query())
                        .merge(merge)
                        .filter(|n| n % 3 == 1)
                };
                assert_eq!(query().to_vec(), expected, "{setting:?}");
                assert!(
                    query().into_iter().eq(expected.iter().copied()),
                    "{merge:?}, {setting:?}"
                );
            }
        }
    });
}

#[test]
fn blocks_that_end_out_of_order_still_give_the_right_order() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        // The first item waits until the last one was made, so its block ends last.
        let last_made = AtomicUsize::new(0);
        let query = (0..50_usize)
            .into_par_query()
            .runtime(&runtime)
            .execution_mode(ExecutionMode::Parallel);
        let items = query.filter_map(|n| {
            if n == 0 {
                wait_until("the last item", || last_made.load(Ordering::SeqCst) == 1);
            } else if n == 49 {
                last_made.store(1, Ordering::SeqCst);
            }
            Some(n)
        });
        assert_eq!(items.to_vec(), (0..50).collect::<Vec<_>>());
    });
}

#[test]
fn deterministic_sums_repeat_bit_for_bit() {
    within_limit(|| {
        let numbers: Vec<f64> = (0..20_000).map(|n| f64::from(n).sqrt() / 7.0).collect();
        let sum = |setting: Setting| -> f64 {
            let query = setting.set(numbers.par_query()).filter(|n| **n > 1.0);
            query.deterministic().sum()
        };
        let sums: Vec<u64> = settings().map(|setting| sum(setting).to_bits()).collect();
        assert!(sums.iter().all(|bits| *bits == sums[0]));
    });
}

#[test]
fn deterministic_sums_over_iterators_are_those_of_leaves_that_grow() {
    within_limit(|| {
        let leaves = |n: usize| -> Vec<usize> {
            let items = parallel::from_iter(0..n).into_par_query().deterministic();
            // Each leaf begins with a count of its own.
            items.fold(
                || vec![0],
                |mut lens, _| {
                    *lens.last_mut().unwrap() += 1;
                    lens
                },
                |mut lens, others| {
                    lens.extend(others);
                    lens
                },
            )
        };
        let few = leaves(260);
        assert_eq!(few[..256], [1; 256]);
        assert_eq!(few[256..], [2, 2]);
        let many = leaves(100_000);
        assert_eq!(many.iter().sum::<usize>(), 100_000);
        assert!(many.iter().all(|len| *len <= 256));
        assert_eq!(many.iter().filter(|len| **len == 256).count(), 262);
    });
}

#[test]
fn a_deterministic_query_does_not_pull_ahead_at_an_unbuffered_iterator() {
    within_limit(|| {
        for setting in few_settings() {
            let (pulled, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let ahead_max = AtomicUsize::new(0);
            // The last leaves of another iterator of this length have several items.
            let numbers = (0..600_usize).inspect(|_| {
                let pulled = pulled.fetch_add(1, Ordering::SeqCst) + 1;
                let ahead = pulled - ran.load(Ordering::SeqCst);
                ahead_max.fetch_max(ahead, Ordering::SeqCst);
            });
            let items = parallel::from_iter(numbers).unbuffered().into_par_query();
            let run = setting.set(items).inspect(|_| {
                ran.fetch_add(1, Ordering::SeqCst);
            });
            assert_eq!(run.deterministic().sum::<usize>(), 600 * 599 / 2);
            assert!(ahead_max.into_inner() <= setting.degree);
        }
    });
}

#[test]
fn two_items_of_an_iterator_are_summed_up_by_two_threads() {
    within_limit(|| {
        let both = Barrier::new(2);
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let items = parallel::from_iter(0..2_u32).into_par_query();
        let meet = |n| {
            both.wait();
            n
        };
        let sum: u32 = items.runtime(&runtime).map(meet).deterministic().sum();
        assert_eq!(sum, 1);
    });
}

#[test]
fn a_query_in_a_query_in_a_loop_in_a_full_pool() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        runtime.install(|| {
            let totals = parallel::map(0..8_u64, |i| {
                let inner = |j: u64| {
                    (0..50 + j)
                        .into_par_query()
                        .filter(|n| n % 2 == i % 2)
                        .sum::<u64>()
                };
                (0..20_u64)
                    .into_par_query()
                    .execution_mode(ExecutionMode::Parallel)
                    .map(inner)
                    .sum::<u64>()
            });
            let twin = |i: u64| {
                (0..20)
                    .map(|j| (0..50 + j).filter(|n| n % 2 == i % 2).sum::<u64>())
                    .sum::<u64>()
            };
            assert_eq!(totals, (0..8).map(twin).collect::<Vec<_>>());
        });
    });
}

/// Runs in sequence the operators that elsewhere needed all partitions at once: `Distinct` (dotnet/coreclr #20060),
/// `AsOrdered` (dotnet/docfx #6989), `Zip` of 32 partitions, and the sorts and groups.
fn with_every_breaker(n: usize) -> usize {
    let numbers = || {
        let query = parallel::from_iter(0..n)
            .into_par_query()
            .execution_mode(ExecutionMode::Parallel);
        query.degree_of_parallelism(32).expect("at least 1")
    };
    let even = || numbers().filter(|n| n % 2 == 0);
    assert!(even().to_vec().is_sorted());
    assert_eq!(even().distinct().count(), n.div_ceil(2));
    assert_eq!(even().union(numbers()).except(0..9).count(), n - n.min(9));
    assert_eq!(
        even().zip(numbers().filter(|n| n % 2 == 1)).rev().count(),
        n / 2
    );
    assert_eq!(
        even().order_descending().take(2).count(),
        n.div_ceil(2).min(2)
    );
    let pairs = even().join(numbers(), |n| *n, |n| *n, |a, b| a + b);
    assert!(
        pairs
            .to_vec()
            .into_iter()
            .eq((0..n).step_by(2).map(|n| 2 * n))
    );
    even().group_by(|n| n % 3).count() + even().count_by(|n| n % 3).count()
}

#[test]
fn queries_that_need_all_their_input_end_while_every_worker_is_busy() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let (busy, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let entered = runtime.enter();
        let spinning: Vec<_> = (0..2)
            .map(|_| {
                let (busy, is_over) = (Arc::clone(&busy), Arc::clone(&is_over));
                task::run(move || {
                    busy.fetch_add(1, Ordering::SeqCst);
                    wait_until("the queries' end", || is_over.load(Ordering::SeqCst) == 1);
                })
            })
            .collect();
        wait_until("busy workers", || busy.load(Ordering::SeqCst) == 2);
        let groups = (0..40).map(with_every_breaker).max();
        is_over.store(1, Ordering::SeqCst);
        for task in spinning {
            task::block_on(task).unwrap();
        }
        drop(entered);
        assert_eq!(groups, Some(6));
    });
}

#[test]
fn many_queries_with_breakers_end_on_one_worker() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        runtime.install(|| {
            let groups = parallel::map(0..40_usize, with_every_breaker);
            assert_eq!(groups.into_iter().max(), Some(6));
        });
    });
}

#[test]
fn explanations_say_where_items_are_gathered() {
    let numbers = [1, 2, 3];
    let free = numbers
        .par_query()
        .map(|n| n + 1)
        .enumerate()
        .rev()
        .explain();
    assert!(!free.contains("gathered"), "{free}");
    let gathers = numbers
        .par_query()
        .filter(|n| **n > 1)
        .rev()
        .chain(&numbers)
        .explain();
    assert!(
        gathers.ends_with("items, filter; gathered; rev, chain (items)"),
        "{gathers}"
    );
}

#[test]
fn a_query_on_one_worker_may_be_helped_and_its_explanation_says_so() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        wait_until("another thread takes part", || {
            let threads = Mutex::new(HashSet::new());
            let query = (0..50).into_par_query().runtime(&runtime);
            let blocking = query.map(|_| {
                threads.lock().unwrap().insert(thread::current().id());
                time::sleep_blocking(Duration::from_millis(1));
            });
            let explained = blocking.explain();
            assert!(explained.starts_with("decided"), "{explained}");
            blocking.for_each(drop);
            threads.into_inner().unwrap().len() > 1
        });
    });
}

#[test]
fn the_token_of_a_loop_ends_the_query_that_it_is_over() {
    let source = cancel::TokenSource::new();
    let token = source.token();
    let tested = AtomicUsize::new(0);
    let one_by_one = parallel::Options::new().degree_of_parallelism(1).unwrap();
    let options = one_by_one.cancellation(&token);
    let gathered = || {
        (0..1_000).into_par_query().filter(|n| {
            tested.fetch_add(1, Ordering::SeqCst);
            if *n == 9 {
                source.cancel();
            }
            true
        })
    };
    assert!(options.for_each(gathered(), drop).is_err());
    assert_eq!(tested.load(Ordering::SeqCst), 10);
    assert!(options.map(gathered(), |n| n).is_err());
    let reduced = options.map_reduce(gathered(), |n| n, i32::max);
    assert!(reduced.is_err());
    let stateful = options.local(|| (), drop);
    let outcome = stateful.for_each(gathered(), |_, _, ()| ());
    assert!(outcome.is_err());
    assert_eq!(tested.load(Ordering::SeqCst), 10, "none began after that");
}

#[test]
fn a_cancelled_query_gives_the_error_whatever_it_was_to_give() {
    let source = cancel::TokenSource::new();
    source.cancel();
    let token = source.token();
    let query = || (0..10).into_par_query().cancellation(&token);
    assert!(
        query().to_vec().is_err() && query().any(|_| true).is_err() && query().count().is_err()
    );
    assert!(query().deterministic().map(f64::from).sum::<f64>().is_err());
    let iterated: Vec<_> = query().into_iter().collect();
    assert!(iterated.len() == 1 && iterated[0].is_err());
    let failures = query().try_for_each(|_| Ok::<_, ()>(())).unwrap_err();
    assert!(failures.cancelled().is_some());
}
