//! Reductions, sums, extremes, searches and scans.

use crate::counted::{Tally, Thing};
use crate::delays::random::{Random, mix};
use crate::table::{Area, Kind};
use crate::world::{Load, World, count, len, numbers, wrapping_sum};
use manyhands::query::prelude::*;
use manyhands::{cancel, parallel};

pub(crate) const KINDS: Area = &[
    Kind {
        name: "map_reduce, in order",
        step: map_reduce,
    },
    Kind {
        name: "map_reduce of an iterator",
        step: map_reduce_iterator,
    },
    Kind {
        name: "reduce",
        step: reduce,
    },
    Kind {
        name: "sum",
        step: sum,
    },
    Kind {
        name: "sum of floats, deterministic",
        step: deterministic,
    },
    Kind {
        name: "min and max",
        step: extremes,
    },
    Kind {
        name: "find_first",
        step: find_first,
    },
    Kind {
        name: "find_any",
        step: find_any,
    },
    Kind {
        name: "inclusive_scan",
        step: inclusive_scan,
    },
    Kind {
        name: "exclusive_scan",
        step: exclusive_scan,
    },
    Kind {
        name: "cancellation of map_reduce",
        step: cancelled,
    },
];

fn map_reduce(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    // Runs of neighbours: combining them in another order is detected.
    let map = |index: u64| {
        load.work(index);
        (index, index + 1)
    };
    let result = parallel::map_reduce(0..len, map, |a, b| {
        assert_eq!(a.1, b.0, "neighbours are combined");
        (a.0, b.1)
    });
    assert_eq!(result, (len > 0).then_some((0, len)));
}

fn map_reduce_iterator(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let map = |index: u64| (index, load.same(index) + 1);
    let result = parallel::map_reduce(parallel::from_iter(0..len), map, |a, b| {
        assert_eq!(a.1, b.0, "neighbours are combined");
        (a.0, b.1)
    });
    assert_eq!(result, (len > 0).then_some((0, len)));
}

fn reduce(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let tally = Tally::new();
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let last = things.into_par_query().reduce(|a, b| {
        load.work(b.number());
        assert!(a.number() < b.number(), "in order");
        b
    });
    assert_eq!(last.as_ref().map(Thing::number), len.checked_sub(1));
    drop(last);
    tally.assert_none_left();
}

fn sum(random: &mut Random, _: &World) {
    let len = count(random);
    let numbers = numbers(random, len, 1_000_000);
    let degree = 1 + random.length(8);
    let query = numbers
        .par_query()
        .degree_of_parallelism(degree)
        .expect("at least 1");
    let sum: u64 = query.sum();
    assert_eq!(sum, numbers.iter().sum::<u64>());
    assert_eq!(
        (0..len as u64).into_par_query().sum::<u64>(),
        (0..len as u64).sum::<u64>()
    );
}

fn deterministic(random: &mut Random, _: &World) {
    let len = count(random);
    #[expect(clippy::cast_precision_loss, reason = "any floats")]
    let floats: Vec<f64> = (0..len).map(|_| random.next() as f64 / 3.0).collect();
    let query = || floats.par_query().deterministic();
    let first: f64 = query().sum();
    let degree = 1 + random.length(4);
    let again: f64 = query()
        .degree_of_parallelism(degree)
        .expect("at least 1")
        .sum();
    assert_eq!(first.to_bits(), again.to_bits(), "bit for bit");
}

fn extremes(random: &mut Random, _: &World) {
    let len = count(random);
    let numbers = numbers(random, len, 50);
    let pairs: Vec<ByFirst> = numbers
        .iter()
        .copied()
        .enumerate()
        .map(|(at, key)| ByFirst(key, at))
        .collect();
    let place = |found: Option<&ByFirst>| found.map(|found| found.1);
    assert_eq!(
        place(pairs.par_query().min()),
        place(pairs.iter().min()),
        "the first of equals"
    );
    assert_eq!(
        place(pairs.par_query().max()),
        place(pairs.iter().max()),
        "the last of equals"
    );
}

/// Equal if the first are.
#[derive(Debug)]
struct ByFirst(u64, usize);

impl PartialEq for ByFirst {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for ByFirst {}

impl PartialOrd for ByFirst {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByFirst {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

fn find_first(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let (at, step) = (random.below(2 * len + 1), 1 + random.below(5));
    let tally = Tally::new();
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let found = things.into_par_query().find(|thing| {
        load.work(thing.number());
        thing.number() >= at && (thing.number() - at).is_multiple_of(step)
    });
    assert_eq!(found.as_ref().map(Thing::number), (at < len).then_some(at));
    drop(found);
    tally.assert_none_left();
}

fn find_any(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let wanted = |number: u64| mix(number).is_multiple_of(97);
    let found = (0..len).into_par_query().find_any(|&number| {
        load.work(number);
        wanted(number)
    });
    match found {
        Some(number) => assert!(number < len && wanted(number)),
        None => assert!(!(0..len).any(wanted), "there is one"),
    }
}

fn inclusive_scan(random: &mut Random, _: &World) {
    let len = count(random);
    let mut runs: Vec<(u64, u64)> = (0..len as u64).map(|index| (index, index + 1)).collect();
    runs.par_inclusive_scan(|a, b| {
        assert_eq!(a.1, b.0, "neighbours are combined");
        (a.0, b.1)
    });
    assert!(
        runs.into_iter()
            .eq((0..len as u64).map(|index| (0, index + 1)))
    );
}

fn exclusive_scan(random: &mut Random, _: &World) {
    let len = count(random);
    let tally = Tally::new();
    let mut things: Vec<Thing> = (0..len as u64)
        .map(|number| tally.make(mix(number)))
        .collect();
    let add = |a: &Thing, b: &Thing| tally.make(a.number().wrapping_add(b.number()));
    let all = things.par_exclusive_scan(tally.make(0), add);
    let mut sum = 0_u64;
    for (index, thing) in things.iter().enumerate() {
        assert_eq!(thing.number(), sum, "the sum of all before {index}");
        sum = sum.wrapping_add(mix(index as u64));
    }
    assert_eq!(all.number(), sum);
    drop((things, all));
    tally.assert_none_left();
}

fn cancelled(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let source = cancel::TokenSource::new();
    let token = source.token();
    let map = |index: u64| {
        if index == at {
            source.cancel();
        }
        load.work(index)
    };
    let result =
        parallel::Options::new()
            .cancellation(&token)
            .map_reduce(0..len, map, u64::wrapping_add);
    match result {
        Ok(sum) => assert_eq!(sum.unwrap_or(0), wrapping_sum((0..len).map(mix))),
        Err(cancelled) => assert!(cancelled.token() == &token && at < len),
    }
}
