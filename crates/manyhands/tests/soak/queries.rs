//! Queries, operator by operator and in chains, against iterators.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::{Random, mix};
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, len, planned_panics};
use manyhands::query::{ExecutionMode, Merge, Partitioned, Query, prelude::*};
use manyhands::{cancel, parallel};
use std::ops::Range;
use std::sync::Arc;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "map, filter, flat_map over what is owned",
        step: fused,
    },
    Kind {
        name: "over an iterator",
        step: over_iterator,
    },
    Kind {
        name: "over a source of one's own",
        step: partitioned,
    },
    Kind {
        name: "take, skip, step_by, rev",
        step: by_place,
    },
    Kind {
        name: "take, skip … after a filter",
        step: by_gathered_place,
    },
    Kind {
        name: "enumerate, zip, chain, chunks, windows",
        step: pairs,
    },
    Kind {
        name: "take_while, skip_while, map_while",
        step: whiles,
    },
    Kind {
        name: "scans",
        step: scans,
    },
    Kind {
        name: "order_by and its forms",
        step: order,
    },
    Kind {
        name: "unordered, take_any, skip_any",
        step: unordered,
    },
    Kind {
        name: "with panics",
        step: panics,
    },
    Kind {
        name: "cancellation",
        step: cancelled,
    },
    Kind {
        name: "inside of a loop, under a lock",
        step: inside,
    },
    Kind {
        name: "over texts",
        step: texts,
    },
];

/// With random controls, on which the result does not depend.
pub(crate) fn set<'a, P, O, E>(
    random: &mut Random,
    query: Query<'a, P, O, E>,
) -> Query<'a, P, O, E> {
    let query = query.execution_mode(random.pick(&[
        ExecutionMode::Auto,
        ExecutionMode::Auto,
        ExecutionMode::Parallel,
        ExecutionMode::Sequential,
    ]));
    let query = query.merge(random.pick(&[Merge::Auto, Merge::NotBuffered, Merge::FullyBuffered]));
    if random.is_one_in(3) {
        query
            .degree_of_parallelism(1 + random.length(6))
            .expect("at least 1")
    } else {
        query
    }
}

/// This number of values.
pub(crate) fn things(tally: &Arc<Tally>, len: u64) -> Vec<Thing> {
    (0..len).map(|number| tally.make(number)).collect()
}

fn fused(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let query = set(random, things(&tally, len).into_par_query());
    let found = query
        .inspect(|thing| load.burn(thing.number()))
        .filter(|thing| thing.number() % 3 != 1)
        .flat_map(|thing| {
            let copies = thing.number() % 4;
            (0..copies).map(move |copy| (thing.number(), copy))
        })
        .filter_map(|(number, copy)| (copy != 2).then(|| tally.make(number * 4 + copy)))
        .to_vec();
    let expected = (0..len)
        .filter(|number| number % 3 != 1)
        .flat_map(|number| (0..number % 4).map(move |copy| (number, copy)))
        .filter_map(|(number, copy)| (copy != 2).then_some(number * 4 + copy));
    assert!(found.iter().map(Thing::number).eq(expected));
    drop(found);
    tally.assert_none_left();
}

fn over_iterator(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let source = (0..len).map(|number| tally.make(number));
    let taken = random.below(2 * len + 1);
    let query = set(random, parallel::from_iter(source).into_par_query());
    let found = query
        .map(|thing| {
            load.work(thing.number());
            thing
        })
        .take(usize::try_from(taken).expect("small"))
        .to_vec();
    assert!(found.iter().map(Thing::number).eq(0..taken.min(len)));
    drop(found);
    tally.assert_none_left();
    let chained = parallel::from_iter(0..len)
        .into_par_query()
        .chain(parallel::from_iter(0..len).into_par_query())
        .map(mix)
        .to_vec();
    assert!(chained.into_iter().eq((0..len).chain(0..len).map(mix)));
}

/// Each position gives as many items as its last digit says.
struct Digits(usize);

impl Partitioned for Digits {
    type Item = usize;

    fn len(&self) -> usize {
        self.0
    }

    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = usize> {
        positions.flat_map(|position| std::iter::repeat_n(position, position % 10))
    }
}

fn partitioned(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = usize::try_from(len(random, load)).expect("small") / 4;
    let found = set(random, Digits(len).into_par_query())
        .inspect(|&position| load.burn(position as u64))
        .to_vec();
    assert!(
        found
            .into_iter()
            .eq((0..len).flat_map(|position| std::iter::repeat_n(position, position % 10)))
    );
}

fn by_place(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let (skipped, taken, step) = (
        random.length(20),
        random.length(2_000),
        1 + random.length(5),
    );
    let query = set(random, things(&tally, len).into_par_query());
    let found = query
        .rev()
        .take(usize::try_from(len).expect("small").saturating_sub(skipped))
        .step_by(step)
        .take(taken)
        .skip_last(2)
        .take_last(50)
        .map(|thing| {
            load.work(thing.number());
            thing
        });
    let found = found.to_vec();
    let mut expected: Vec<u64> = (0..len)
        .rev()
        .take(usize::try_from(len).expect("small").saturating_sub(skipped))
        .step_by(step)
        .take(taken)
        .collect();
    expected.truncate(expected.len().saturating_sub(2));
    let expected = &expected[expected.len().saturating_sub(50)..];
    assert!(found.iter().map(Thing::number).eq(expected.iter().copied()));
    drop(found);
    tally.assert_none_left();
}

fn by_gathered_place(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let (skipped, taken) = (random.length(20), random.length(500));
    let query = set(random, things(&tally, len).into_par_query());
    let found = query
        .filter(|thing| {
            load.work(thing.number());
            thing.number() % 3 == 0
        })
        .skip(skipped)
        .take(taken)
        .rev()
        .to_vec();
    let expected: Vec<u64> = (0..len)
        .filter(|number| number % 3 == 0)
        .skip(skipped)
        .take(taken)
        .collect();
    assert!(
        found
            .iter()
            .map(Thing::number)
            .eq(expected.into_iter().rev())
    );
    drop(found);
    tally.assert_none_left();
}

fn pairs(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let size = 1 + random.length(9);
    let query = set(random, things(&tally, len).into_par_query());
    let found = query
        .zip(things(&tally, len / 2))
        .enumerate()
        .chunks(size)
        .map(|chunk| {
            load.work(chunk.len() as u64);
            chunk
        });
    let found = found.to_vec();
    let mut index = 0;
    for chunk in &found {
        for (place, (left, right)) in chunk {
            assert_eq!(
                (*place as u64, left.number(), right.number()),
                (index, index, index)
            );
            index += 1;
        }
    }
    assert_eq!(index, len / 2);
    assert!(found.iter().rev().skip(1).all(|chunk| chunk.len() == size));
    drop(found);
    tally.assert_none_left();
    let numbers: Vec<u64> = (0..len).collect();
    let sums = set(random, numbers.par_windows(size))
        .map(|window| window.iter().sum::<u64>())
        .to_vec();
    assert!(
        sums.into_iter().eq(numbers
            .windows(size)
            .map(|window| window.iter().sum::<u64>()))
    );
    let chained = set(random, numbers.par_query())
        .copied()
        .chain(things_of(&numbers))
        .to_vec();
    assert!(
        chained
            .into_iter()
            .eq(numbers.iter().chain(&numbers).copied())
    );
}

fn things_of(numbers: &[u64]) -> Vec<u64> {
    numbers.to_vec()
}

fn whiles(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let is_below = |thing: &Thing| {
        load.work(thing.number());
        thing.number() != at
    };
    let taken = set(random, things(&tally, len).into_par_query())
        .take_while(is_below)
        .to_vec();
    assert!(taken.iter().map(Thing::number).eq(0..at.min(len)));
    let skipped = set(random, things(&tally, len).into_par_query())
        .skip_while(is_below)
        .to_vec();
    assert!(skipped.iter().map(Thing::number).eq(at.min(len)..len));
    let mapped = set(random, things(&tally, len).into_par_query())
        .map_while(|thing| (thing.number() != at).then(|| thing.number()))
        .to_vec();
    assert!(mapped.into_iter().eq(0..at.min(len)));
    drop((taken, skipped));
    tally.assert_none_left();
}

fn scans(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let runs = set(random, (0..len).into_par_query()).map(|index| (index, index + 1));
    let found = runs.inclusive_scan(|a, b| {
        assert_eq!(a.1, b.0, "neighbours are combined");
        (a.0, b.1)
    });
    assert!(
        found
            .to_vec()
            .into_iter()
            .eq((0..len).map(|index| (0, index + 1)))
    );
    let sums = set(random, (0..len).into_par_query())
        .filter(|n| n % 2 == 0)
        .exclusive_scan(5, |a, b| a + b);
    let mut sum = 5;
    for (found, number) in sums.to_vec().into_iter().zip((0..len).step_by(2)) {
        assert_eq!(found, sum);
        sum += number;
    }
}

fn order(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let salt = random.next();
    let key = |number: u64| mix(number ^ salt) % 50;
    let mut expected: Vec<u64> = (0..len).collect();
    let query = set(random, things(&tally, len).into_par_query());
    let (how, taken) = (random.below(4), random.length(2 * 1_000));
    let by_key = |thing: &Thing| {
        load.work(thing.number());
        key(thing.number())
    };
    let found = match how {
        0 => query.order_by(by_key).to_vec(),
        1 => query.order_by_descending(by_key).take(taken).to_vec(),
        2 => query
            .order_by(by_key)
            .then_by_descending(Thing::number)
            .to_vec(),
        _ => query
            .order_with(|a, b| key(a.number()).cmp(&key(b.number())))
            .rev()
            .to_vec(),
    };
    match how {
        0 => expected.sort_by_key(|&number| key(number)),
        1 => {
            expected.sort_by_key(|&number| std::cmp::Reverse(key(number)));
            expected.truncate(taken);
        }
        2 => expected.sort_by_key(|&number| (key(number), std::cmp::Reverse(number))),
        _ => {
            expected.sort_by_key(|&number| key(number));
            expected.reverse();
        }
    }
    assert!(found.iter().map(Thing::number).eq(expected));
    drop(found);
    tally.assert_none_left();
}

fn unordered(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let (count, visits) = (random.below(2 * len + 1), Visits::new(len));
    let query = set(random, things(&tally, len).into_par_query())
        .unordered()
        .map(|thing| {
            load.work(thing.number());
            thing
        });
    let amount = usize::try_from(count).expect("small");
    let (found, expected) = match random.below(3) {
        0 => (query.take_any(amount).to_vec(), count.min(len)),
        1 => (query.skip_any(amount).to_vec(), len - count.min(len)),
        _ => (query.filter(|_| true).to_vec(), len),
    };
    found.iter().for_each(|thing| visits.visit(thing.number()));
    assert_eq!(visits.count(), expected);
    drop(found);
    tally.assert_none_left();
}

fn panics(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = 1 + len(random, load);
    let (at, how) = (random.below(len), random.below(3));
    let query = set(random, things(&tally, len).into_par_query()).map(|thing| {
        load.work(thing.number());
        if thing.number() == at {
            Planned::throw(at);
        }
        thing
    });
    let panics = planned_panics(|| match how {
        0 => query.to_vec().len(),
        1 => query
            .filter(|thing| thing.number() % 2 == 0)
            .rev()
            .to_vec()
            .len(),
        _ => query.order_by(Thing::number).to_vec().len(),
    });
    assert_eq!(panics, [at]);
    tally.assert_none_left();
}

fn cancelled(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let (at, source) = (random.below(2 * len + 1), cancel::TokenSource::new());
    let token = source.token();
    let query = set(random, things(&tally, len).into_par_query())
        .cancellation(&token)
        .map(|thing| {
            load.work(thing.number());
            if thing.number() == at {
                source.cancel();
            }
            thing
        });
    let result = match random.below(3) {
        0 => query.to_vec(),
        1 => query.filter(|_| true).skip(0).to_vec(),
        _ => query.order_by(Thing::number).to_vec(),
    };
    match result {
        Ok(things) => assert!(things.iter().map(Thing::number).eq(0..len)),
        Err(cancelled) => assert!(at < len && cancelled.token() == &token),
    }
    tally.assert_none_left();
}

fn inside(random: &mut Random, world: &World) {
    let load = Load::random(random);
    let len = len(random, load).min(400);
    let rows = random.below(8);
    let mut held = world.lock();
    let sums = parallel::map(0..rows, |row| {
        let numbers = (0..len)
            .into_par_query()
            .map(|index| row + load.same(index));
        numbers.filter(|number| number % 2 == 0).sum::<u64>()
    });
    let expected = (0..rows).map(|row| {
        (0..len)
            .map(|index| row + index)
            .filter(|number| number % 2 == 0)
            .sum::<u64>()
    });
    assert!(sums.into_iter().eq(expected));
    *held += 1;
}

fn texts(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load) / 2;
    let text: String = (0..len)
        .map(|_| random.pick(&['a', 'ß', ' ', '\n', ',', '\r', '\u{3000}', 'z']))
        .collect();
    assert_eq!(set(random, text.par_chars()).collect::<String>(), text);
    assert!(
        set(random, text.par_lines())
            .to_vec()
            .into_iter()
            .eq(text.lines())
    );
    assert!(
        set(random, text.par_split_whitespace())
            .to_vec()
            .into_iter()
            .eq(text.split_whitespace())
    );
    assert!(
        set(random, text.par_split(','))
            .to_vec()
            .into_iter()
            .eq(text.split(','))
    );
}
