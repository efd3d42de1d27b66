//! Sorts against the standard library's, also when comparing panics.

use crate::counted::{Tally, Thing};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::{Planned, World, count, planned_panics};
use manyhands::query::prelude::*;
use manyhands::{cancel, parallel};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const KINDS: Area = &[
    Kind {
        name: "sort and sort_by",
        step: sort,
    },
    Kind {
        name: "sort_by_key and sort_by_cached_key",
        step: sort_by_key,
    },
    Kind {
        name: "sort_unstable and its forms",
        step: sort_unstable,
    },
    Kind {
        name: "sort with a comparison that panics",
        step: sort_panics,
    },
    Kind {
        name: "sort with an inconsistent order",
        step: inconsistent,
    },
    Kind {
        name: "cancellation of a sort",
        step: cancelled,
    },
];

/// Random, few different, ascending, descending, saw teeth.
fn keys(random: &mut Random) -> Vec<u64> {
    let len = count(random) as u64;
    match random.below(6) {
        0 => (0..len).collect(),
        1 => (0..len).rev().collect(),
        2 => (0..len).map(|index| index % 17).collect(),
        3 => (0..len)
            .map(|index| {
                if index % 50 == 0 {
                    random.below(len)
                } else {
                    index
                }
            })
            .collect(),
        4 => (0..len).map(|_| random.below(5)).collect(),
        _ => (0..len).map(|_| random.next()).collect(),
    }
}

/// With their positions, which distinguish equal keys.
fn placed(keys: &[u64]) -> Vec<(u64, usize)> {
    keys.iter()
        .copied()
        .enumerate()
        .map(|(place, key)| (key, place))
        .collect()
}

fn sort(random: &mut Random, _: &World) {
    let keys = keys(random);
    let mut expected = placed(&keys);
    expected.sort_by_key(|&(key, _)| key);
    let mut items = placed(&keys);
    items.par_sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(items, expected, "stable");
    let tally = Tally::new();
    let mut things: Vec<Thing> = keys.iter().map(|&key| tally.make(key)).collect();
    parallel::Options::new()
        .degree_of_parallelism(1 + random.length(5))
        .expect("at least 1")
        .sort(&mut things);
    assert!(
        things
            .iter()
            .map(Thing::number)
            .eq(expected.iter().map(|&(key, _)| key))
    );
    drop(things);
    tally.assert_none_left();
}

fn sort_by_key(random: &mut Random, _: &World) {
    let keys = keys(random);
    let mut expected = placed(&keys);
    expected.sort_by_key(|&(key, _)| key / 3);
    let mut items = placed(&keys);
    items.par_sort_by_key(|&(key, _)| key / 3);
    assert_eq!(items, expected, "stable");
    let mut items = placed(&keys);
    items.par_sort_by_cached_key(|&(key, _)| key / 3);
    assert_eq!(items, expected, "stable, with kept keys");
}

fn sort_unstable(random: &mut Random, _: &World) {
    let keys = keys(random);
    let mut expected = placed(&keys);
    expected.sort_unstable();
    let mut items = placed(&keys);
    match random.below(3) {
        0 => items.par_sort_unstable(),
        1 => items.par_sort_unstable_by(Ord::cmp),
        _ => items.par_sort_unstable_by_key(|&item| item),
    }
    assert_eq!(items, expected);
}

fn sort_panics(random: &mut Random, _: &World) {
    let keys = keys(random);
    let tally = Tally::new();
    let mut things: Vec<Thing> = keys.iter().map(|&key| tally.make(key)).collect();
    let (compared, at) = (AtomicU64::new(0), random.below(20_000));
    let compare = |a: &Thing, b: &Thing| {
        if compared.fetch_add(1, Ordering::Relaxed) == at {
            Planned::throw(at);
        }
        a.cmp(b)
    };
    let is_stable = random.is_one_in(2);
    let panics = planned_panics(|| {
        if is_stable {
            things.par_sort_by(compare);
        } else {
            things.par_sort_unstable_by(compare);
        }
    });
    assert_eq!(panics.is_empty(), compared.into_inner() <= at);
    assert_permuted(&things, keys);
    drop(things);
    tally.assert_none_left();
}

fn inconsistent(random: &mut Random, _: &World) {
    let keys = keys(random);
    let tally = Tally::new();
    let mut things: Vec<Thing> = keys.iter().map(|&key| tally.make(key)).collect();
    let calls = AtomicU64::new(0);
    // May panic, and may order them in any way.
    let compare = |a: &Thing, b: &Thing| {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        if call.is_multiple_of(11) {
            b.cmp(a)
        } else {
            a.cmp(b)
        }
    };
    let sort = AssertUnwindSafe(|| match random.below(2) {
        0 => things.par_sort_by(compare),
        _ => things.par_sort_unstable_by(compare),
    });
    let _ = catch_unwind(sort);
    assert_permuted(&things, keys);
    drop(things);
    tally.assert_none_left();
}

/// A sort reports an inconsistent order by a panic, which needs no message.
pub(crate) fn silence_planned_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        let text = info.payload_as_str().unwrap_or_default();
        if !text.contains("does not correctly implement a total order") {
            usual(info);
        }
    }));
}

fn assert_permuted(things: &[Thing], mut keys: Vec<u64>) {
    let mut found: Vec<u64> = things.iter().map(Thing::number).collect();
    found.sort_unstable();
    keys.sort_unstable();
    assert_eq!(found, keys, "every item is still there once");
}

fn cancelled(random: &mut Random, _: &World) {
    let keys = keys(random);
    let tally = Tally::new();
    let mut things: Vec<Thing> = keys.iter().map(|&key| tally.make(key)).collect();
    let source = cancel::TokenSource::new();
    let token = source.token();
    let (compared, at) = (AtomicU64::new(0), random.below(20_000));
    let compare = |a: &Thing, b: &Thing| {
        if compared.fetch_add(1, Ordering::Relaxed) == at {
            source.cancel();
        }
        a.cmp(b)
    };
    let options = parallel::Options::new().cancellation(&token);
    let result = if random.is_one_in(2) {
        options.sort_by(&mut things, compare)
    } else {
        options.sort_unstable_by(&mut things, compare)
    };
    if result.is_ok() {
        assert!(things.is_sorted());
    } else {
        assert!(token.is_cancelled());
    }
    assert_permuted(&things, keys);
    drop(things);
    tally.assert_none_left();
}
