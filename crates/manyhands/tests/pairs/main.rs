//! Every pair of operators composes, ordered and not. Apart from the other tests of queries,
//! because all these pairs take minutes to compile.

#[path = "../query/setting.rs"]
mod setting;

use crate::setting::{Setting, any_setting};
use manyhands::parallel;
use manyhands::query::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, proptest};
use proptest::test_runner::FileFailurePersistence;
use std::collections::HashMap;

/// What the operators are given: the same functions for queries and for their twins. Closures instead would
/// make pipelines of different types of each pair, and a compiler very busy.
mod given {
    use manyhands::query::{Group, Matches};

    pub(super) const FEW: [i32; 5] = [4, 0, 9, 4, -1];

    pub(super) fn tripled(n: i32) -> i32 {
        n.wrapping_mul(3).wrapping_sub(1)
    }

    pub(super) fn is_kept(n: &i32) -> bool {
        n % 3 != 1
    }

    pub(super) fn kept_half(n: i32) -> Option<i32> {
        (n % 4 != 1).then_some(n / 2)
    }

    pub(super) fn several(n: i32) -> impl Iterator<Item = i32> {
        (0..n % 3).map(move |i| n.wrapping_add(i))
    }

    pub(super) fn numbered((place, n): (usize, i32)) -> i32 {
        mixed(n, i32::try_from(place).expect("a few items"))
    }

    pub(super) fn mixed(n: i32, m: i32) -> i32 {
        n.wrapping_mul(7).wrapping_add(m)
    }

    pub(super) fn sum(left: &i32, right: &i32) -> i32 {
        left.wrapping_add(*right)
    }

    /// Tells in which order items are.
    pub(super) fn digest<'a>(items: impl IntoIterator<Item = &'a i32>) -> i32 {
        items.into_iter().fold(1, |sum, n| mixed(sum, *n))
    }

    pub(super) fn is_small(n: &i32) -> bool {
        *n < 25
    }

    pub(super) fn small_half(n: i32) -> Option<i32> {
        is_small(&n).then_some(n / 2)
    }

    pub(super) fn is_early(n: &i32) -> bool {
        n % 5 != 2
    }

    pub(super) fn chunk(items: Vec<i32>) -> i32 {
        items.into_iter().fold(1, mixed)
    }

    pub(super) fn pair((n, m): (i32, i32)) -> i32 {
        mixed(n, m)
    }

    pub(super) fn group(group: Group<i32, i32>) -> i32 {
        group.into_iter().fold(1, mixed)
    }

    pub(super) fn nothing(_: &i32) {}

    pub(super) fn seed() -> i32 {
        0
    }

    pub(super) fn first_digest(_: &i32) -> i32 {
        1
    }

    pub(super) fn mix_in(sum: &mut i32, n: i32) {
        *sum = mixed(*sum, n);
    }

    pub(super) fn add(total: &mut i32, n: i32) {
        *total = sum(total, &n);
    }

    pub(super) fn value((_, n): (i32, i32)) -> i32 {
        n
    }

    pub(super) fn counted((key, count): (i32, usize)) -> i32 {
        numbered((count, key))
    }

    pub(super) fn joined(n: &i32, m: &i32) -> i32 {
        mixed(*n, *m)
    }

    pub(super) fn left_joined(n: &i32, m: Option<&i32>) -> i32 {
        mixed(*n, m.copied().unwrap_or(77))
    }

    pub(super) fn group_joined(n: i32, found: Matches<'_, i32>) -> i32 {
        mixed(n, digest(found))
    }

    pub(super) fn key(n: &i32) -> i32 {
        n % 4
    }

    pub(super) fn other_key(n: &i32) -> i32 {
        n % 6
    }
}

/// An operator on a query of numbers, with numbers as its result.
macro_rules! apply {
    (map, $query:expr) => {
        $query.map(given::tripled)
    };
    (filter, $query:expr) => {
        $query.filter(given::is_kept)
    };
    (filter_map, $query:expr) => {
        $query.filter_map(given::kept_half)
    };
    (flat_map, $query:expr) => {
        $query.flat_map(given::several)
    };
    (flatten, $query:expr) => {
        $query.map(given::kept_half).flatten()
    };
    (inspect, $query:expr) => {
        $query.inspect(given::nothing)
    };
    (enumerate, $query:expr) => {
        $query.enumerate().map(given::numbered)
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
    (skip_last, $query:expr) => {
        $query.skip_last(3)
    };
    (step_by, $query:expr) => {
        $query.step_by(3)
    };
    (chunks, $query:expr) => {
        $query.chunks(4).map(given::chunk)
    };
    (zip, $query:expr) => {
        $query.zip(5..25).map(given::pair)
    };
    (chain, $query:expr) => {
        $query.chain(given::FEW)
    };
    (take_while, $query:expr) => {
        $query.take_while(given::is_small)
    };
    (map_while, $query:expr) => {
        $query.map_while(given::small_half)
    };
    (skip_while, $query:expr) => {
        $query.skip_while(given::is_early)
    };
    (default_if_empty, $query:expr) => {
        $query.default_if_empty(11)
    };
    (inclusive_scan, $query:expr) => {
        $query.inclusive_scan(given::sum)
    };
    (exclusive_scan, $query:expr) => {
        $query.exclusive_scan(5, given::sum)
    };
    (distinct, $query:expr) => {
        $query.distinct()
    };
    (distinct_by, $query:expr) => {
        $query.distinct_by(given::key)
    };
    (union, $query:expr) => {
        $query.union(given::FEW)
    };
    (intersect, $query:expr) => {
        $query.intersect(-3..20)
    };
    (except, $query:expr) => {
        $query.except(given::FEW)
    };
    (group_by, $query:expr) => {
        $query.group_by(given::key).map(given::group)
    };
    (aggregate_by, $query:expr) => {
        $query
            .aggregate_by(given::key, given::first_digest, given::mix_in)
            .map(given::value)
    };
    (count_by, $query:expr) => {
        $query.count_by(given::key).map(given::counted)
    };
    (fold_by, $query:expr) => {
        $query
            .fold_by(given::key, given::seed, given::add, given::add)
            .map(given::pair)
    };
    (join, $query:expr) => {
        $query.join(given::FEW, given::key, given::key, given::joined)
    };
    (left_join, $query:expr) => {
        $query.left_join(given::FEW, given::key, given::key, given::left_joined)
    };
    (group_join, $query:expr) => {
        $query.group_join(given::FEW, given::key, given::key, given::group_joined)
    };
    (order_by, $query:expr) => {
        $query.order_by(given::other_key)
    };
    (then_by, $query:expr) => {
        $query
            .order_by_descending(given::other_key)
            .then_by(given::key)
    };
    (sequential, $query:expr) => {
        parallel::from_iter($query.sequential()).into_par_query()
    };
}

/// The same on a vector, by iterators.
fn twin(operator: &str, items: Vec<i32>) -> Vec<i32> {
    let all = items.clone().into_iter();
    match operator {
        "map" => all.map(given::tripled).collect(),
        "filter" => all.filter(given::is_kept).collect(),
        "filter_map" | "flatten" => all.filter_map(given::kept_half).collect(),
        "flat_map" => all.flat_map(given::several).collect(),
        "enumerate" => all.enumerate().map(given::numbered).collect(),
        "rev" => all.rev().collect(),
        "take" => all.take(9).collect(),
        "skip" => all.skip(2).collect(),
        "take_last" => items[items.len().saturating_sub(7)..].to_vec(),
        "skip_last" => items[..items.len().saturating_sub(3)].to_vec(),
        "step_by" => all.step_by(3).collect(),
        "chunks" => items.chunks(4).map(given::digest).collect(),
        "zip" => all.zip(5..25).map(given::pair).collect(),
        "chain" => all.chain(given::FEW).collect(),
        "take_while" => all.take_while(given::is_small).collect(),
        "map_while" => all.map_while(given::small_half).collect(),
        "skip_while" => all.skip_while(given::is_early).collect(),
        "default_if_empty" if items.is_empty() => vec![11],
        "inspect" | "sequential" | "default_if_empty" => items,
        "inclusive_scan" => sums(0, &items)[1..].to_vec(),
        "exclusive_scan" => sums(5, &items)[..items.len()].to_vec(),
        "order_by" | "then_by" => sorted(operator, items),
        "join" | "left_join" | "group_join" => joined(operator, &items),
        _ => keyed(operator, &items),
    }
}

/// The sums of the first items, from that of none on.
fn sums(first: i32, items: &[i32]) -> Vec<i32> {
    let mut sums = vec![first];
    for (place, item) in items.iter().enumerate() {
        sums.push(given::sum(&sums[place], item));
    }
    sums
}

fn sorted(operator: &str, mut items: Vec<i32>) -> Vec<i32> {
    if operator == "then_by" {
        items.sort_by_key(given::key);
        items.sort_by_key(|n| -given::other_key(n));
    } else {
        items.sort_by_key(given::other_key);
    }
    items
}

fn joined(operator: &str, items: &[i32]) -> Vec<i32> {
    let mut results = Vec::new();
    for n in items {
        let is_partner = |m: &&i32| given::key(m) == given::key(n);
        let partners = || given::FEW.iter().filter(is_partner);
        let pairs = partners().map(|m| given::mixed(*n, *m));
        match operator {
            "group_join" => results.push(given::mixed(*n, given::digest(partners()))),
            "left_join" if partners().next().is_none() => results.push(given::mixed(*n, 77)),
            _ => results.extend(pairs),
        }
    }
    results
}

/// The items of each key, by their first items.
fn groups(items: &[i32], key: fn(&i32) -> i32) -> Vec<(i32, Vec<i32>)> {
    let (mut places, mut groups) = (HashMap::new(), Vec::<(i32, Vec<i32>)>::new());
    for n in items {
        let place = *places.entry(key(n)).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key(n), Vec::new()));
        }
        groups[place].1.push(*n);
    }
    groups
}

fn keyed(operator: &str, items: &[i32]) -> Vec<i32> {
    let both = [items, given::FEW.as_slice()].concat();
    let once = |items: &[i32]| groups(items, |n| *n).into_iter().map(|(n, _)| n);
    let by_key = groups(items, given::key).into_iter();
    match operator {
        "distinct" => once(items).collect(),
        "distinct_by" => by_key.map(|(_, items)| items[0]).collect(),
        "union" => once(&both).collect(),
        "intersect" => once(items).filter(|n| (-3..20).contains(n)).collect(),
        "except" => once(items).filter(|n| !given::FEW.contains(n)).collect(),
        "group_by" | "aggregate_by" => by_key.map(|(_, items)| given::digest(&items)).collect(),
        "count_by" => by_key
            .map(|(key, items)| given::numbered((items.len(), key)))
            .collect(),
        "fold_by" => by_key
            .map(|(key, items)| given::mixed(key, sums(0, &items)[items.len()]))
            .collect(),
        _ => unreachable!("an operator of the list"),
    }
}

type Run = fn(Setting, &[i32]) -> Vec<i32>;

/// Two operators, one after the other, for each of the first and each of the second.
macro_rules! pairs {
    ($order:ident: [$($first:ident)*] $seconds:tt) => {
        [$(pairs!(@row $order $first $seconds)),*].concat()
    };
    (@row $order:ident $first:ident [$($second:ident)*]) => {
        vec![$((
            stringify!($first),
            stringify!($second),
            (|setting, items| {
                let query = setting.set(items.par_query()).$order().copied();
                apply!($second, apply!($first, query)).to_vec()
            }) as Run,
        )),*]
    };
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 24,
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|it| it as Box<_>),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_pair_of_operators_does_what_its_twins_do(items in vec(-9..40_i32, 0..60), setting in any_setting()) {
        let pairs: Vec<(_, _, Run)> = pairs! {
            ordered:
            [map filter filter_map flat_map flatten inspect enumerate rev take skip take_last skip_last step_by chunks zip chain take_while map_while skip_while default_if_empty inclusive_scan exclusive_scan distinct distinct_by union intersect except group_by aggregate_by count_by fold_by join left_join group_join order_by then_by sequential]
            [map filter filter_map flat_map flatten inspect enumerate rev take skip take_last skip_last step_by chunks zip chain take_while map_while skip_while default_if_empty inclusive_scan exclusive_scan distinct distinct_by union intersect except group_by aggregate_by count_by fold_by join left_join group_join order_by then_by sequential]
        };
        assert_eq!(pairs.len(), 37 * 37);
        for (first, second, run) in pairs {
            let expected = twin(second, twin(first, items.clone()));
            assert_eq!(run(setting, &items), expected, "{first}, {second}");
        }
    }

    /// Of operators whose results do not depend on the order of their items.
    #[test]
    fn every_pair_of_unordered_operators_gives_the_same_items(items in vec(-9..40_i32, 0..60), setting in any_setting()) {
        let pairs: Vec<(_, _, Run)> = pairs! {
            unordered:
            [map filter filter_map flat_map flatten inspect chain default_if_empty distinct union intersect except count_by fold_by join left_join group_join order_by then_by sequential]
            [map filter filter_map flat_map flatten inspect chain default_if_empty distinct union intersect except count_by fold_by join left_join group_join order_by then_by sequential]
        };
        assert_eq!(pairs.len(), 20 * 20);
        for (first, second, run) in pairs {
            let mut expected = twin(second, twin(first, items.clone()));
            let mut found = run(setting, &items);
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{first}, {second}");
        }
    }
}
