//! Every pair of operators composes (promise 39).

use crate::support::{Setting, few_settings, within_limit};
use manyhands::query::prelude::*;

/// An index of one of the few items.
fn small(index: usize) -> i32 {
    i32::try_from(index).expect("a few items")
}

/// An operator on a query of numbers, with numbers as its result.
macro_rules! apply {
    (map, $query:expr) => {
        $query.map(|n| n * 3 - 1)
    };
    (filter, $query:expr) => {
        $query.filter(|n| n % 3 != 1)
    };
    (flat_map, $query:expr) => {
        $query.flat_map(|n| (0..n % 3).map(move |i| n + i))
    };
    (enumerate, $query:expr) => {
        $query.enumerate().map(|(i, n)| n * 2 + small(i))
    };
    (rev, $query:expr) => {
        $query.rev()
    };
    (take, $query:expr) => {
        $query.take(9)
    };
    (skip, $query:expr) => {
        $query.skip(2)
    };
    (take_last, $query:expr) => {
        $query.take_last(7)
    };
    (step_by, $query:expr) => {
        $query.step_by(3)
    };
    (chunks, $query:expr) => {
        $query.chunks(4).map(|chunk| chunk.iter().sum::<i32>())
    };
    (zip, $query:expr) => {
        $query.zip(5..25).map(|(a, b)| a + 2 * b)
    };
    (chain, $query:expr) => {
        $query.chain(vec![4, 0, 4])
    };
    (take_while, $query:expr) => {
        $query.take_while(|n| *n < 20)
    };
    (skip_while, $query:expr) => {
        $query.skip_while(|n| *n % 5 != 2)
    };
    (default_if_empty, $query:expr) => {
        $query.default_if_empty(11)
    };
}

/// The same on a vector, by iterators.
fn twin(operator: &str, items: Vec<i32>) -> Vec<i32> {
    let all = items.clone().into_iter();
    match operator {
        "map" => all.map(|n| n * 3 - 1).collect(),
        "filter" => all.filter(|n| n % 3 != 1).collect(),
        "flat_map" => all.flat_map(|n| (0..n % 3).map(move |i| n + i)).collect(),
        "enumerate" => all.enumerate().map(|(i, n)| n * 2 + small(i)).collect(),
        "rev" => all.rev().collect(),
        "take" => all.take(9).collect(),
        "skip" => all.skip(2).collect(),
        "take_last" => items[items.len().saturating_sub(7)..].to_vec(),
        "step_by" => all.step_by(3).collect(),
        "chunks" => items.chunks(4).map(|chunk| chunk.iter().sum()).collect(),
        "zip" => all.zip(5..25).map(|(a, b)| a + 2 * b).collect(),
        "chain" => all.chain([4, 0, 4]).collect(),
        "take_while" => all.take_while(|n| *n < 20).collect(),
        "skip_while" => all.skip_while(|n| *n % 5 != 2).collect(),
        "default_if_empty" if items.is_empty() => vec![11],
        "default_if_empty" => items,
        _ => unreachable!("an operator of the list"),
    }
}

type Pair = (&'static str, &'static str, fn(Setting, &[i32]) -> Vec<i32>);

macro_rules! pairs {
    ([$($first:ident)*] $seconds:tt) => {
        [$(pairs!(@row $first $seconds)),*].concat()
    };
    (@row $first:ident [$($second:ident)*]) => {
        vec![$((
            stringify!($first),
            stringify!($second),
            (|setting, items| {
                let query = setting.set(items.par_query()).copied();
                apply!($second, apply!($first, query)).to_vec()
            }) as fn(Setting, &[i32]) -> Vec<i32>,
        )),*]
    };
}

#[test]
fn p39_every_pair_of_operators_does_what_its_twin_does() {
    let pairs: Vec<Pair> = pairs! {
        [map filter flat_map enumerate rev take skip take_last step_by chunks zip chain take_while skip_while default_if_empty]
        [map filter flat_map enumerate rev take skip take_last step_by chunks zip chain take_while skip_while default_if_empty]
    };
    assert_eq!(pairs.len(), 15 * 15);
    within_limit(move || {
        for (first, second, query) in pairs {
            for len in [0, 1, 2, 11, 40] {
                let items: Vec<i32> = (0..len).map(|n| n * 7 % 31).collect();
                let expected = twin(second, twin(first, items.clone()));
                for setting in few_settings() {
                    assert_eq!(
                        query(setting, &items),
                        expected,
                        "{first}, {second}, {len} items, {setting:?}"
                    );
                }
            }
        }
    });
}
