//! Queries by key: groups, distinct items, sets, joins.

use crate::counted::{Tally, Thing};
use crate::delays::random::{Random, mix};
use crate::queries::{set, things};
use crate::table::{Area, Kind};
use crate::world::{Load, World, len};
use manyhands::query::Matches;
use manyhands::query::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

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

/// Counted things with keys, each of which takes some work.
struct Keyed {
    load: Load,
    tally: Arc<Tally>,
    len: u64,
    keys: u64,
}

impl Keyed {
    fn random(random: &mut Random) -> Self {
        let load = Load::random(random);
        Self {
            load,
            tally: Tally::new(),
            len: len(random, load),
            keys: keys(random),
        }
    }

    fn things(&self) -> Vec<Thing> {
        things(&self.tally, self.len)
    }

    fn key(&self, number: u64) -> u64 {
        mix(number) % self.keys
    }

    /// Does the work.
    fn key_of(&self, thing: &Thing) -> u64 {
        self.load.work(thing.number());
        self.key(thing.number())
    }

    /// The numbers of each key, by first items, by iterators.
    fn grouped(&self) -> Vec<(u64, Vec<u64>)> {
        let mut places = HashMap::new();
        let mut groups: Vec<(u64, Vec<u64>)> = Vec::new();
        for number in 0..self.len {
            let place = *places.entry(self.key(number)).or_insert_with(|| {
                groups.push((self.key(number), Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(number);
        }
        groups
    }
}

/// Numbers and rows to join: a row belongs to the numbers with its remainder.
struct Rows {
    load: Load,
    tally: Arc<Tally>,
    len: u64,
    keys: u64,
    count: u64,
}

impl Rows {
    fn random(random: &mut Random) -> Self {
        let load = Load::random(random);
        let len = len(random, load);
        let keys = 1 + len / 2;
        Self {
            load,
            tally: Tally::new(),
            len,
            keys,
            count: random.below(2 * keys),
        }
    }

    fn things(&self) -> Vec<Thing> {
        things(&self.tally, self.count)
    }

    /// The rows that belong to a number.
    fn of(&self, number: u64) -> impl Iterator<Item = u64> + use<> {
        let step = usize::try_from(self.keys).expect("small");
        (number % self.keys..self.count).step_by(step)
    }
}

fn group_by(random: &mut Random, _: &World) {
    let keyed = Keyed::random(random);
    let by_key = |thing: &Thing| keyed.key_of(thing);
    let expected = keyed.grouped();
    let query = set(random, keyed.things().into_par_query());
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
    keyed.tally.assert_none_left();
}

fn fold_by(random: &mut Random, _: &World) {
    let keyed = Keyed::random(random);
    let by_key = |thing: &Thing| keyed.key_of(thing);
    let expected = keyed.grouped();
    let query = set(random, keyed.things().into_par_query());
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
    keyed.tally.assert_none_left();
}

fn distinct(random: &mut Random, _: &World) {
    let keyed = Keyed::random(random);
    let (len, key) = (keyed.len, |number| keyed.key(number));
    let groups = keyed.grouped();
    let firsts: Vec<u64> = groups.iter().map(|(_, numbers)| numbers[0]).collect();
    let query = set(random, keyed.things().into_par_query());
    let found = query.distinct_by(|thing| keyed.key_of(thing));
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
    keyed.tally.assert_none_left();
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
    let rows = Rows::random(random);
    let (len, keys, load) = (rows.len, rows.keys, rows.load);
    let query = set(random, (0..len).into_par_query()).inspect(|&number| load.burn(number));
    let other = rows.things();
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
        let mut pairs: Vec<_> = rows.of(number).map(|row| (number, Some(row))).collect();
        if pairs.is_empty() && is_left {
            pairs.push((number, None));
        }
        pairs
    });
    assert!(found.into_iter().eq(expected));
    rows.tally.assert_none_left();
}

fn group_join(random: &mut Random, _: &World) {
    let rows = Rows::random(random);
    let query = set(random, things(&rows.tally, rows.len).into_par_query());
    let sum = |thing: Thing, found: Matches<'_, Thing>| {
        rows.load.work(thing.number());
        (thing, found.map(Thing::number).sum::<u64>())
    };
    let key = |thing: &Thing| thing.number() % rows.keys;
    let found = query.group_join(rows.things(), key, key, sum).to_vec();
    assert_eq!(found.len() as u64, rows.len);
    for (number, (thing, sum)) in (0..).zip(&found) {
        assert_eq!((thing.number(), *sum), (number, rows.of(number).sum()));
    }
    drop(found);
    rows.tally.assert_none_left();
}
