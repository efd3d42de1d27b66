//! A panic or a cancellation at every item of small inputs: each item is dropped exactly once, for each
//! operator.

use crate::setting::Setting;
use crate::support::{Counted, Ledger, blow, few_settings, panics, wait_until, within_limit};
use manyhands::cancel::{Token, TokenSource};
use manyhands::parallel;
use manyhands::query::{Query, prelude::*};
use std::collections::HashMap;
use std::sync::Arc;

/// Called with each item once.
type Look<'a> = &'a (dyn Fn(&Counted) + Send + Sync);

/// Runs a query to its end; `true` if it gave a result, `false` if it was cancelled.
type Chain = fn(Vec<Counted>, Setting, &Token, Look<'_>) -> bool;

/// A query whose items pass `look`, with a chain of operators and an end.
macro_rules! chains {
    ($($name:literal: |$query:ident| $chain:expr;)*) => {
        [$(($name, (|items, setting, token, look| {
            let $query = setting.set(items.into_par_query()).cancellation(token).inspect(|item| look(item));
            $chain.is_ok()
        }) as Chain)),*]
    };
}

const LEN: i32 = 7;

fn even(item: &Counted) -> bool {
    item.number % 2 == 0
}

/// Operators that need no keys.
fn shaping() -> impl Iterator<Item = (&'static str, Chain)> {
    let shaping: [(&str, Chain); 23] = chains! {
        "map": |q| q.map(|item| item).to_vec();
        "filter": |q| q.filter(even).to_vec();
        "filter_map": |q| q.filter_map(|item| even(&item).then_some(item)).to_vec();
        "flat_map": |q| q.flat_map(|item| vec![item]).to_vec();
        "enumerate": |q| q.filter(even).enumerate().to_vec();
        "rev": |q| q.rev().to_vec();
        "take": |q| q.filter(even).take(2).to_vec();
        "take by place": |q| q.take(5).to_vec();
        "skip": |q| q.skip(2).filter(even).skip(1).to_vec();
        "step_by": |q| q.step_by(3).to_vec();
        "chunks": |q| q.chunks(2).to_vec();
        "zip": |q| q.filter(even).zip(vec![String::from("x"); 9]).to_vec();
        "chain": |q| q.filter(even).chain(Vec::new()).to_vec();
        "take_while": |q| q.take_while(|item| item.number < 4).to_vec();
        "skip_while": |q| q.skip_while(|item| item.number < 4).to_vec();
        "default_if_empty": |q| q.filter(even).map(|_| ()).default_if_empty(()).to_vec();
        "flatten": |q| q.map(Some).flatten().to_vec();
        "take_last": |q| q.take_last(2).to_vec();
        "skip_last": |q| q.filter(even).skip_last(2).to_vec();
        "map_while": |q| q.map_while(|item| (item.number < 4).then_some(item)).to_vec();
        "inclusive_scan": |q| q.map(|item| item.number).inclusive_scan(|a, b| a + b).to_vec();
        "exclusive_scan": |q| q.map(|item| item.number).exclusive_scan(0, |a, b| a + b).to_vec();
        "sequential": |q| parallel::from_iter(q.sequential()).into_par_query().collect::<Result<Vec<_>, _>>();
    };
    shaping.into_iter()
}

/// Ways to end a query.
fn ending() -> impl Iterator<Item = (&'static str, Chain)> {
    let ending: [(&str, Chain); 28] = chains! {
        "for_each": |q| q.for_each(drop);
        "count": |q| q.count();
        "reduce": |q| q.reduce(|a, b| if a.number < b.number { b } else { a });
        "fold": |q| q.fold(Vec::new, |mut all, item| { all.push(item); all }, |mut a, b| { a.extend(b); a });
        "any": |q| q.any(|item| item.number == 5);
        "find": |q| q.find(|item| item.number == 5);
        "last": |q| q.filter(even).last();
        "single": |q| q.single();
        "partition": |q| q.partition(even);
        "collect": |q| q.map(|item| (item.number, item)).collect::<HashMap<_, _>>();
        "iterate": |q| q.into_iter().collect::<Result<Vec<_>, _>>();
        "iterate ahead": |q| q.with_iter(|items| items.collect::<Result<Vec<_>, _>>());
        "take_any": |q| q.unordered().take_any(3).to_vec();
        "skip_any": |q| q.unordered().skip_any(3).to_vec();
        "min_by_key": |q| q.min_by_key(|item| item.number % 3);
        "max_by": |q| q.max_by(|a, b| (a.number % 3).cmp(&(b.number % 3)));
        "sum": |q| q.map(|item| item.number).sum::<i32>();
        "average": |q| q.map(|item| item.number).deterministic().average();
        "unzip": |q| q.map(|item| (Box::new(item.number), item)).unzip();
        "all": |q| q.all(|item| item.number < 5);
        "find_any": |q| q.find_any(|item| item.number == 5);
        "first": |q| q.filter(even).first();
        "first of a sort": |q| q.order_by(|item| item.number % 3).first();
        "element_at": |q| q.filter(even).element_at(2);
        "position": |q| q.filter(even).position(|item| item.number == 4);
        "sequence_equal": |q| q.map(|item| item.number).sequence_equal(0..LEN);
        "try_map": |q| q.try_map(Ok::<_, ()>);
        "collect into a result": |q| q.map(|item| if item.number < 5 { Ok(item) } else { Err(item) }).collect::<Result<Vec<_>, _>>();
    };
    ending.into_iter()
}

/// Operators with keys.
fn keyed() -> impl Iterator<Item = (&'static str, Chain)> {
    let keyed: [(&str, Chain); 14] = chains! {
        "order_by": |q| q.order_by(|item| item.number % 3).then_by(|item| item.number).to_vec();
        "order_by, take": |q| q.order_by(|item| item.number % 3).take(9).to_vec();
        "distinct_by": |q| q.distinct_by(|item| item.number % 3).to_vec();
        "union_by": |q| q.union_by(Vec::new(), |item| item.number % 3).to_vec();
        "except_by": |q| q.except_by([1], |item| item.number % 3).to_vec();
        "group_by": |q| q.group_by(|item| item.number % 3).to_vec();
        "count_by": |q| q.count_by(|item| item.number % 3).to_vec();
        "fold_by": |q| q.fold_by(|item| item.number % 3, Vec::new, |all, item| all.push(item), |all, more| all.extend(more)).to_vec();
        "to_lookup": |q| q.to_lookup(|item| item.number % 3);
        "intersect_by": |q| q.intersect_by([1, 2], |item| item.number % 3).to_vec();
        "aggregate_by": |q| q.aggregate_by(|item| item.number % 3, |_| Vec::new(), |all, item| all.push(item)).to_vec();
        "left_join": |q| q.left_join([1, 2, 1], |item| item.number, |n| *n, |item, n| (item.number, n.copied())).to_vec();
        "group_join": |q| q.group_join([1, 2, 1], |item| item.number, |n| *n, |item, found| (item, found.count())).to_vec();
        "join": |q| q.join([1, 2, 1], |item| item.number, |n| *n, |item, n| item.number + n).to_vec();
    };
    keyed.into_iter()
}

fn chains() -> impl Iterator<Item = (&'static str, Chain)> {
    shaping().chain(ending()).chain(keyed())
}

#[test]
fn a_panic_at_any_item_surfaces_and_drops_each_item_once() {
    within_limit(|| {
        for (name, chain) in chains() {
            for (setting, at) in few_settings()
                .into_iter()
                .flat_map(|s| (0..LEN).map(move |at| (s, at)))
            {
                let ledger = Arc::new(Ledger::default());
                let token = TokenSource::new().token();
                let items = ledger.make_all(LEN);
                let look = |item: &Counted| {
                    if item.number == at {
                        blow()
                    }
                };
                let panicked = panics(|| {
                    chain(items, setting, &token, &look);
                });
                let what = format!("{name}, item {at}, {setting:?}");
                ledger.assert_settled(&what);
                // Those that stop early or skip need not reach the item.
                let reaches_all = !matches!(
                    name,
                    "take"
                        | "take by place"
                        | "skip"
                        | "step_by"
                        | "take_last"
                        | "take_while"
                        | "map_while"
                        | "any"
                        | "all"
                        | "find"
                        | "find_any"
                        | "first"
                        | "element_at"
                        | "position"
                        | "single"
                        | "take_any"
                        | "collect into a result"
                );
                assert!(panicked || !reaches_all, "{what}");
            }
        }
    });
}

#[test]
fn a_cancellation_at_any_item_drops_each_item_once() {
    within_limit(|| {
        for (name, chain) in chains() {
            for (setting, at) in few_settings()
                .into_iter()
                .flat_map(|s| (0..LEN).map(move |at| (s, at)))
            {
                let ledger = Arc::new(Ledger::default());
                let source = TokenSource::new();
                let token = source.token();
                let items = ledger.make_all(LEN);
                let look = |item: &Counted| {
                    if item.number == at {
                        source.cancel();
                    }
                };
                let ended = chain(items, setting, &token, &look);
                let what = format!("{name}, item {at}, {setting:?}");
                ledger.assert_settled(&what);
                assert_eq!(ended, !source.token().is_cancelled(), "{what}");
            }
        }
    });
}

#[test]
fn a_query_cancelled_before_it_begins_calls_nothing() {
    within_limit(|| {
        for (name, chain) in chains() {
            for setting in few_settings() {
                let ledger = Arc::new(Ledger::default());
                let source = TokenSource::new();
                source.cancel();
                let look = |_: &Counted| panic!("called after the cancellation");
                assert!(
                    !chain(ledger.make_all(LEN), setting, &source.token(), &look),
                    "{name}"
                );
                ledger.assert_settled(name);
            }
        }
    });
}

#[test]
fn an_iteration_left_after_any_item_drops_each_item_once() {
    within_limit(|| {
        for setting in few_settings() {
            for count in 0..=usize::try_from(LEN).expect("a few items") + 1 {
                let ledger = Arc::new(Ledger::default());
                let query = || {
                    let items = ledger.make_all(LEN).into_par_query();
                    setting.set(items).filter(even).chain(ledger.make_all(2))
                };
                let expected: Vec<i32> = [0, 2, 4, 6, 0, 1].into_iter().take(count).collect();
                let check = |items: &mut dyn Iterator<Item = Counted>| {
                    let numbers: Vec<_> = items.take(count).map(|item| item.number).collect();
                    assert_eq!(numbers, expected, "{setting:?}");
                };
                check(&mut query().into_iter());
                ledger.assert_settled("items of an iterator");
                query().with_iter(|mut items| check(&mut items));
                ledger.assert_settled("items of an iterator that runs ahead");
                check(&mut query().stream().into_iter());
                wait_until("the end of a stream's task", || {
                    Arc::strong_count(&ledger) == 1
                });
                ledger.assert_settled("items of a stream");
            }
        }
    });
}

#[test]
fn a_query_that_is_dropped_has_called_nothing_and_drops_its_items() {
    let ledger = Arc::new(Ledger::default());
    let query = ledger.make_all(LEN).into_par_query();
    let query = query
        .map(|_| panic!("called"))
        .filter(|()| panic!("called"))
        .enumerate();
    drop(query);
    ledger.assert_settled("a query that was dropped");
    drop(
        ledger
            .make_all(LEN)
            .into_par_query()
            .zip(ledger.make_all(LEN))
            .skip(2),
    );
    ledger.assert_settled("a pair that was dropped");
}

#[test]
fn both_sides_of_a_chain_are_dropped_once_however_it_ends() {
    within_limit(|| {
        for setting in few_settings() {
            for at in 0..LEN {
                let ledger = Arc::new(Ledger::default());
                let chain = || {
                    let left = ledger.make_all(3).into_par_query();
                    let right = ledger.make_all(LEN).into_iter().skip(3).collect::<Vec<_>>();
                    setting.set(left).chain(right)
                };
                let source = TokenSource::new();
                let cancelled = chain().cancellation(&source.token()).for_each(|item| {
                    if item.number == at {
                        source.cancel();
                    }
                });
                drop(cancelled);
                ledger.assert_settled("both sides, after a cancellation");
                let blown = panics(|| {
                    chain().for_each(|item| {
                        if item.number == at {
                            blow()
                        }
                    });
                });
                assert!(blown);
                ledger.assert_settled("both sides, after a panic");
            }
        }
    });
}

#[test]
fn the_longer_side_of_a_zip_is_dropped_once() {
    for setting in few_settings() {
        let ledger = Arc::new(Ledger::default());
        let pairs = setting
            .set(ledger.make_all(3).into_par_query())
            .zip(ledger.make_all(7))
            .to_vec();
        assert_eq!(pairs.len(), 3);
        drop(pairs);
        ledger.assert_settled("both sides");
        let blown = setting.set(ledger.make_all(3).into_par_query());
        let right = ledger
            .make_all(7)
            .into_par_query()
            .filter(|item| if item.number == 1 { blow() } else { true });
        assert!(panics(|| drop(blown.zip(right).to_vec())));
        ledger.assert_settled("the left side, when the right one panics");
    }
}

#[test]
fn both_sides_of_a_comparison_are_dropped_once_although_an_early_difference_decides() {
    for setting in few_settings() {
        let ledger = Arc::new(Ledger::default());
        let numbers = || ledger.make_all(9).into_par_query().map(|item| item.number);
        let other = ledger
            .make_all(9)
            .into_par_query()
            .map(|item| match item.number {
                1 => 100,
                number => number,
            });
        assert!(!setting.set(numbers()).sequence_equal(other));
        assert!(setting.set(numbers()).sequence_equal(numbers()));
        ledger.assert_settled("both sides of a comparison");
    }
}

#[test]
fn an_iterator_that_panics_ends_the_query_and_is_dropped() {
    for setting in few_settings() {
        let ledger = Arc::new(Ledger::default());
        let items = ledger.make_all(9);
        let blowing = items.into_iter().inspect(|item| {
            if item.number == 5 {
                blow()
            }
        });
        let query: Query<'_, _> = setting.set(parallel::from_iter(blowing).into_par_query());
        assert!(panics(|| drop(query.to_vec())));
        ledger.assert_settled("the iterator's items");
    }
}
