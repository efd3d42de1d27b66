//! Items, keys and results that panic when they are dropped: each of the others is dropped exactly once.

use crate::setting::Setting;
use crate::support::{Counted, Ledger, few_settings, panics, within_limit};
use manyhands::cancel::TokenSource;
use manyhands::query::{ExecutionMode, FromQuery, Merge, prelude::*};
use manyhands::{Runtime, parallel};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Barrier;

const LEN: i32 = 7;

fn even(item: &Counted) -> bool {
    item.number % 2 == 0
}

/// Runs a query over these items to its end, and drops the result.
type End = fn(Vec<Counted>, Setting);

/// Queries over an iterator.
macro_rules! ends {
    ($($name:literal: |$query:ident| $end:expr;)*) => {
        [$(($name, (|items, setting| {
            let $query = setting.set(parallel::from_iter(items).into_par_query());
            drop($end);
        }) as End)),*]
    };
}

/// Each of these ends panics if the drop of item `bomb` does, and every item is dropped once.
fn check<const ENDS: usize>(bomb: i32, ends: [(&'static str, End); ENDS]) {
    within_limit(move || {
        for (name, end) in ends {
            for setting in few_settings() {
                let what = format!("{name}, {setting:?}");
                let ledger = Ledger::with_bomb(bomb);
                let items = ledger.make_all(LEN);
                assert!(panics(|| end(items, setting)), "{what}");
                ledger.assert_settled(&what);
            }
        }
    });
}

#[test]
fn an_item_left_over_whose_drop_panics_keeps_no_result_from_being_dropped() {
    // They end before they have asked for all items.
    let ends: [(&str, End); 13] = ends! {
        "take": |q| q.filter(even).take(2).to_vec();
        "first": |q| q.filter(even).first();
        "find": |q| q.find(|item| item.number == 2);
        "take_while": |q| q.take_while(|item| item.number < 2).to_vec();
        "skip_while": |q| q.skip_while(|item| item.number < 2).take(1).to_vec();
        "take_any": |q| q.unordered().take_any(2).to_vec();
        "reduce": |q| q.unordered().take_any(2).reduce(|a, b| { drop(b); a });
        "iterate": |q| q.unordered().take_any(2).into_iter().collect::<Vec<_>>();
        "collect": |q| q.unordered().take_any(2).map(|item| (item.number, item)).collect::<HashMap<_, _>>();
        "distinct_by": |q| q.unordered().take_any(2).distinct_by(|item| item.number).to_vec();
        "group_by": |q| q.unordered().take_any(2).group_by(|item| item.number).to_vec();
        "fold_by": |q| q.unordered().take_any(2).fold_by(|item| item.number, Vec::new, |all, item| all.push(item), |all, more| all.extend(more)).to_vec();
        "first of a sort": |q| q.unordered().take_any(2).order_by(|item| item.number).take(1).to_vec();
    };
    check(LEN - 1, ends);
}

#[test]
fn of_two_runners_items_the_one_not_kept_may_panic_when_it_is_dropped() {
    within_limit(|| {
        let runtime = Runtime::builder().workers(4).build().unwrap();
        for (end, bomb) in [("max_by", 0), ("min_by_key", 1), ("last", 0)] {
            let ledger = Ledger::with_bomb(bomb);
            // So each of them is the only one of its runner.
            let both = Barrier::new(2);
            let query = ledger.make_all(2).into_par_query().runtime(&runtime);
            let query = query
                .execution_mode(ExecutionMode::Parallel)
                .filter(|item| {
                    both.wait();
                    item.number >= 0
                });
            let panicked = panics(|| {
                drop(match end {
                    "max_by" => query.max_by(|a, b| a.number.cmp(&b.number)),
                    "min_by_key" => query.min_by_key(|item| item.number),
                    _ => query.last(),
                });
            });
            assert!(panicked, "{end}");
            ledger.assert_settled(end);
        }
    });
}

/// Item 5 is a failure.
fn tried(item: Counted) -> Result<Counted, Counted> {
    if item.number == 5 {
        Err(item)
    } else {
        Ok(item)
    }
}

#[test]
fn a_failure_is_dropped_once_although_a_result_panics_when_it_is_dropped_for_it() {
    let ends: [(&str, End); 2] = ends! {
        "collect": |q| q.map(tried).collect::<Result<Vec<_>, _>>();
        "try_map": |q| q.try_map(tried);
    };
    check(0, ends);
}

#[test]
fn a_failure_in_a_vector_is_dropped_once_although_a_value_panics_when_it_is_dropped_for_it() {
    let ledger = Ledger::with_bomb(0);
    let items: Vec<_> = ledger.make_all(LEN).into_iter().map(tried).collect();
    assert!(panics(|| drop(Result::<Vec<Counted>, Counted>::from_vec(
        items
    ))));
    ledger.assert_settled("a vector with a failure");
}

#[test]
fn an_item_whose_drop_panics_when_it_is_left_out_spares_those_of_the_other_side() {
    within_limit(|| {
        for setting in few_settings() {
            let ledger = Ledger::with_bomb(0);
            let side = || ledger.make_all(2).into_par_query();
            let chained = setting.set(side()).chain(side()).take(0);
            assert!(panics(|| drop(chained.to_vec())));
            ledger.assert_settled("both sides of a chain");
            let paired = setting.set(side()).zip(side()).take(0);
            assert!(panics(|| drop(paired.to_vec())));
            ledger.assert_settled("both sides of a zip");
        }
    });
}

#[test]
fn an_item_whose_drop_panics_loses_none_that_is_kept_for_the_result() {
    within_limit(|| {
        for (setting, at) in few_settings()
            .into_iter()
            .flat_map(|setting| (0..LEN - 1).map(move |at| (setting, at)))
        {
            let ledger = Ledger::with_bomb(2);
            let items = parallel::from_iter(ledger.make_all(LEN)).into_par_query();
            assert!(panics(|| drop(setting.set(items).filter(even).last())));
            ledger.assert_settled("items before the last one");
            let ledger = Ledger::with_bomb(LEN - 1);
            let source = TokenSource::new();
            let token = source.token();
            let query = setting.set(ledger.make_all(LEN).into_par_query());
            let query = query.cancellation(&token).inspect(|item| {
                if item.number == at {
                    source.cancel();
                }
            });
            assert!(panics(|| drop(
                query.max_by(|a, b| a.number.cmp(&b.number))
            )));
            ledger.assert_settled("items that a cancellation leaves");
        }
    });
}

#[test]
fn an_item_whose_drop_panics_in_a_filter_loses_no_value_that_is_made() {
    let ends: [(&str, End); 2] = ends! {
        "reduce": |q| q.filter(even).reduce(|a, b| { drop(b); a });
        "fold": |q| q.filter(even).fold(Vec::new, |mut all, item| { all.push(item); all }, |mut a, b| { a.extend(b); a });
    };
    check(3, ends);
}

/// A counted key.
struct Key(Counted);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

#[test]
fn an_item_of_the_other_side_whose_drop_panics_loses_neither_results_nor_others() {
    within_limit(|| {
        for setting in few_settings() {
            for end in ["join", "group_join", "intersect_by", "except_by"] {
                // It has no partner.
                let ledger = Ledger::with_bomb(2 * LEN);
                let others = || (0..=LEN).map(|number| ledger.make(2 * number));
                let keys = || others().map(Key).collect::<Vec<_>>();
                let key = |item: &Counted| Key(ledger.make(item.number));
                let others: Vec<Counted> = if end.contains("join") {
                    others().collect()
                } else {
                    Vec::new()
                };
                let query = setting.set(parallel::from_iter(ledger.make_all(LEN)).into_par_query());
                let number = |item: &Counted| item.number;
                let panicked = panics(|| {
                    drop(match end {
                        "join" => query
                            .join(others, number, number, |left, _| ledger.make(left.number))
                            .to_vec(),
                        "group_join" => query
                            .group_join(others, number, number, |left, _| left)
                            .to_vec(),
                        "intersect_by" => query.intersect_by(keys(), key).to_vec(),
                        _ => query.except_by(keys(), key).to_vec(),
                    });
                });
                assert!(panicked, "{end}");
                ledger.assert_settled(end);
            }
        }
    });
}

#[test]
fn an_item_left_over_whose_drop_panics_loses_neither_the_result_of_a_body_nor_a_failure() {
    within_limit(|| {
        for setting in few_settings() {
            for has_many_steps in [false, true] {
                let ledger = Ledger::with_bomb(LEN - 1);
                let items = parallel::from_iter(ledger.make_all(LEN)).into_par_query();
                let some = setting.set(items).merge(Merge::NotBuffered);
                let all = setting.set(ledger.make_all(LEN).into_par_query());
                assert!(panics(|| drop(if has_many_steps {
                    some.with_iter(|items| items.take(2).collect::<Vec<_>>())
                } else {
                    all.with_iter(|_| vec![ledger.make(0)])
                })));
                ledger.assert_settled("what the body of `with_iter` returns");
            }
        }
        let ledger = Ledger::with_bomb(LEN - 1);
        let items = parallel::from_iter(ledger.make_all(LEN)).into_par_query();
        let [alone, ..] = few_settings();
        let query = alone.set(items);
        assert!(panics(|| drop(
            query.try_for_each(|item| tried(item).map(drop))
        )));
        ledger.assert_settled("a failure");
    });
}

/// A value that was made while something was held.
fn with<T>(_held: &Counted, value: T) -> T {
    value
}

/// A function with a capture.
fn holding<R>(
    held: Counted,
    function: impl Fn(&Counted) -> R + Send + Sync,
) -> impl Fn(&Counted) -> R + Send + Sync {
    move |item: &Counted| with(&held, function(item))
}

/// Queries with a closure that holds something.
const HOLDING: [&str; 16] = [
    "map",
    "reduce",
    "fold",
    "max_by",
    "min_by_key",
    "partition",
    "find",
    "find_any",
    "take_while",
    "skip_while",
    "skip_while, take",
    "order_by",
    "group_by",
    "fold_by",
    "except_by",
    "to_lookup",
];

#[test]
fn a_closure_whose_capture_panics_when_it_is_dropped_loses_no_result() {
    within_limit(|| {
        for (setting, end) in few_settings()
            .into_iter()
            .flat_map(|setting| HOLDING.map(|end| (setting, end)))
        {
            let ledger = Ledger::with_bomb(-1);
            let held = ledger.make(-1);
            let query = setting.set(ledger.make_all(LEN).into_par_query());
            let number = |item: &Counted| item.number;
            assert!(panics(|| match end {
                "map" => drop(query.map(move |item| with(&held, item)).to_vec()),
                "reduce" => drop(query.reduce(move |a, _| with(&held, a))),
                "fold" => drop(query.fold(
                    move || with(&held, Vec::<Counted>::new()),
                    |mut all, item| {
                        all.push(item);
                        all
                    },
                    |mut a, b| {
                        a.extend(b);
                        a
                    },
                )),
                "max_by" => drop(query.max_by(move |a, b| with(&held, a.number.cmp(&b.number)))),
                "min_by_key" => drop(query.min_by_key(holding(held, number))),
                "partition" => drop(query.partition(holding(held, even))),
                "find" => drop(query.find(holding(held, even))),
                "find_any" => drop(query.find_any(holding(held, even))),
                "take_while" => drop(query.take_while(holding(held, |_| true)).to_vec()),
                "skip_while" => drop(query.skip_while(holding(held, even)).to_vec()),
                "skip_while, take" => drop(query.skip_while(holding(held, even)).take(2).to_vec()),
                "order_by" => drop(query.order_by(holding(held, number)).to_vec()),
                "group_by" => drop(query.group_by(holding(held, even)).to_vec()),
                "fold_by" => drop(
                    query
                        .fold_by(
                            holding(held, even),
                            Vec::new,
                            |all, item| all.push(item),
                            |all, more| all.extend(more),
                        )
                        .to_vec()
                ),
                "except_by" => drop(query.except_by([true], holding(held, even)).to_vec()),
                _ => drop(query.to_lookup(holding(held, even))),
            }));
            ledger.assert_settled(&format!("{end}, {setting:?}"));
        }
    });
}
