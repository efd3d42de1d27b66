//! Queries by key: groups, distinct items, sets, joins.

use crate::counted::{Tally, Thing};
use crate::delays::random::{Random, mix};
use crate::queries::{set, things};
use crate::table::{Area, Kind};
use crate::world::{Load, World, len};
use manyhands::query::prelude::*;
use std::collections::{HashMap, HashSet};

pub(crate) const KINDS: Area = &[
    Kind {
        name: "group_by and to_lookup",
        step: group_by,
    },
    Kind {
        name: "count_by, fold_by, aggregate_by",
        step: fold_by,
    },
    Kind {
        name: "distinct and distinct_by",
        step: distinct,
    },
    Kind {
        name: "union, intersect, except",
        step: sets,
    },
    Kind {
        name: "join and left_join",
        step: join,
    },
    Kind {
        name: "group_join",
        step: group_join,
    },
];

/// How many different keys.
fn keys(random: &mut Random) -> u64 {
    random.pick(&[1, 7, 300, 1 << 40])
}

/// The numbers of each key, by first items, by iterators.
fn grouped(len: u64, key: impl Fn(u64) -> u64) -> Vec<(u64, Vec<u64>)> {
    let mut places = HashMap::new();
    let mut groups: Vec<(u64, Vec<u64>)> = Vec::new();
    for number in 0..len {
        let place = *places.entry(key(number)).or_insert_with(|| {
            groups.push((key(number), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(number);
    }
    groups
}

fn group_by(random: &mut Random, _: &World) {
    let (load, tally, keys) = (Load::random(random), Tally::new(), keys(random));
    let len = len(random, load);
    let key = |number: u64| mix(number) % keys;
    let by_key = |thing: &Thing| {
        load.work(thing.number());
        key(thing.number())
    };
    let expected = grouped(len, key);
    let query = set(random, things(&tally, len).into_par_query());
    if random.is_one_in(2) {
        let groups = query.group_by(by_key).to_vec();
        assert_eq!(groups.len(), expected.len());
        for (group, (key, numbers)) in groups.iter().zip(&expected) {
            assert_eq!(group.key(), key);
            assert!(group.iter().map(Thing::number).eq(numbers.iter().copied()));
        }
    } else {
        let lookup = query.to_lookup(by_key);
        assert_eq!(lookup.len(), expected.len());
        for (key, numbers) in &expected {
            assert!(
                lookup
                    .items(key)
                    .iter()
                    .map(Thing::number)
                    .eq(numbers.iter().copied())
            );
        }
    }
    tally.assert_none_left();
}

fn fold_by(random: &mut Random, _: &World) {
    let (load, tally, keys) = (Load::random(random), Tally::new(), keys(random));
    let len = len(random, load);
    let key = |number: u64| mix(number) % keys;
    let by_key = |thing: &Thing| {
        load.work(thing.number());
        key(thing.number())
    };
    let expected = grouped(len, key);
    let query = set(random, things(&tally, len).into_par_query());
    let how = random.below(3);
    let found: Vec<(u64, u64)> = match how {
        0 => query
            .count_by(by_key)
            .to_vec()
            .into_iter()
            .map(|(key, count)| (key, count as u64))
            .collect(),
        1 => query
            .fold_by(
                by_key,
                || 0,
                |sum, thing| *sum += thing.number(),
                |sum, more| *sum += more,
            )
            .to_vec(),
        _ => {
            let parts = query.aggregate_by(
                by_key,
                |_| Vec::new(),
                |all: &mut Vec<Thing>, thing| all.push(thing),
            );
            let in_order = |(key, all): (u64, Vec<Thing>)| {
                assert!(all.is_sorted(), "folded in order");
                (key, all.iter().map(Thing::number).sum())
            };
            parts.to_vec().into_iter().map(in_order).collect()
        }
    };
    let value = |numbers: Vec<u64>| {
        if how == 0 {
            numbers.len() as u64
        } else {
            numbers.iter().sum()
        }
    };
    assert!(
        found.into_iter().eq(expected
            .into_iter()
            .map(|(key, numbers)| (key, value(numbers))))
    );
    tally.assert_none_left();
}

fn distinct(random: &mut Random, _: &World) {
    let (load, tally, keys) = (Load::random(random), Tally::new(), keys(random));
    let len = len(random, load);
    let key = |number: u64| mix(number) % keys;
    let firsts: Vec<u64> = grouped(len, key)
        .iter()
        .map(|(_, numbers)| numbers[0])
        .collect();
    let query = set(random, things(&tally, len).into_par_query());
    let found = query.distinct_by(|thing| {
        load.work(thing.number());
        key(thing.number())
    });
    assert!(
        found
            .to_vec()
            .iter()
            .map(Thing::number)
            .eq(firsts.iter().copied()),
        "the first of each"
    );
    let found = set(random, (0..len).into_par_query())
        .map(key)
        .distinct()
        .to_vec();
    assert!(found.into_iter().eq(firsts.into_iter().map(key)));
    let mut found = set(random, (0..len).into_par_query())
        .unordered()
        .map(key)
        .distinct()
        .to_vec();
    let mut expected: Vec<u64> = (0..len)
        .map(key)
        .collect::<HashSet<_>>()
        .into_iter()
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    tally.assert_none_left();
}

fn sets(random: &mut Random, _: &World) {
    let (load, keys) = (Load::random(random), keys(random));
    let len = len(random, load);
    let left: Vec<u64> = (0..len).map(|number| mix(number) % keys).collect();
    let right: Vec<u64> = (len / 2..len + 20)
        .map(|number| mix(number) % keys)
        .collect();
    let query = set(random, left.par_query()).inspect(|&&number| load.burn(number));
    let (among, mut seen) = (
        right.iter().copied().collect::<HashSet<_>>(),
        HashSet::new(),
    );
    let (found, expected): (Vec<u64>, Vec<u64>) = match random.below(3) {
        0 => {
            let all = left.iter().chain(&right).copied();
            (
                query.copied().union(right.clone()).to_vec(),
                all.filter(|&number| seen.insert(number)).collect(),
            )
        }
        1 => {
            let both = left.iter().copied().filter(|number| among.contains(number));
            (
                query.copied().intersect(right.clone()).to_vec(),
                both.filter(|&number| seen.insert(number)).collect(),
            )
        }
        _ => {
            let only = left
                .iter()
                .copied()
                .filter(|number| !among.contains(number));
            (
                query.copied().except(right.clone()).to_vec(),
                only.filter(|&number| seen.insert(number)).collect(),
            )
        }
    };
    assert_eq!(found, expected);
}

fn join(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let keys = 1 + len / 2;
    let rows = random.below(2 * keys);
    let query = set(random, (0..len).into_par_query()).inspect(|&number| load.burn(number));
    let partners = |number: u64| (0..rows).filter(move |row| row % keys == number % keys);
    let other = things(&tally, rows);
    let is_left = random.is_one_in(2);
    let (key, other_key) = (
        |number: &u64| number % keys,
        |row: &Thing| row.number() % keys,
    );
    let found = if is_left {
        let pair = |&number: &u64, row: Option<&Thing>| (number, row.map(Thing::number));
        query.left_join(other, key, other_key, pair).to_vec()
    } else {
        let pair = |&number: &u64, row: &Thing| (number, Some(row.number()));
        query.join(other, key, other_key, pair).to_vec()
    };
    let expected = (0..len).flat_map(|number| {
        let mut pairs: Vec<_> = partners_of(number, rows, keys)
            .map(|row| (number, Some(row)))
            .collect();
        if pairs.is_empty() && is_left {
            pairs.push((number, None));
        }
        pairs
    });
    assert!(found.into_iter().eq(expected));
    assert!(len == 0 || partners(0).eq(partners_of(0, rows, keys)));
    tally.assert_none_left();
}

/// The rows with a number's key.
fn partners_of(number: u64, rows: u64, keys: u64) -> impl Iterator<Item = u64> {
    (number % keys..rows).step_by(usize::try_from(keys).expect("small"))
}

fn group_join(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let keys = 1 + len / 2;
    let rows = random.below(2 * keys);
    let query = set(random, things(&tally, len).into_par_query());
    let count = |thing: Thing, rows: manyhands::query::Matches<'_, Thing>| {
        load.work(thing.number());
        (thing, rows.map(Thing::number).sum::<u64>())
    };
    let key = |thing: &Thing| thing.number() % keys;
    let found = query
        .group_join(things(&tally, rows), key, key, count)
        .to_vec();
    assert_eq!(found.len() as u64, len);
    for (number, (thing, sum)) in (0..).zip(&found) {
        assert_eq!(
            (thing.number(), *sum),
            (number, partners_of(number, rows, keys).sum())
        );
    }
    drop(found);
    tally.assert_none_left();
}
