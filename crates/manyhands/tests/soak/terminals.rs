//! The ends of queries: searches, values, collections, bodies that can fail.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::{Random, mix};
use crate::queries::{set, things};
use crate::table::{Area, Kind};
use crate::world::{Load, World, len};
use manyhands::query::{SingleError, prelude::*};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

pub(crate) const KINDS: Area = &[
    Kind {
        name: "find, position, first",
        step: finds,
    },
    Kind {
        name: "any, all, contains, find_any, single",
        step: any,
    },
    Kind {
        name: "count, sum, average, checked_sum",
        step: numbers,
    },
    Kind {
        name: "reduce, fold, last, element_at",
        step: folds,
    },
    Kind {
        name: "min and max and their forms",
        step: extremes,
    },
    Kind {
        name: "collect into collections",
        step: collections,
    },
    Kind {
        name: "collect into Result and Option",
        step: results,
    },
    Kind {
        name: "collect_into",
        step: collect_into,
    },
    Kind {
        name: "partition and unzip",
        step: split,
    },
    Kind {
        name: "for_each",
        step: for_each,
    },
    Kind {
        name: "try_for_each and try_map",
        step: try_forms,
    },
    Kind {
        name: "sequence_equal",
        step: sequence_equal,
    },
];

fn finds(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let is_at = |number: u64| {
        load.work(number);
        number >= at && (number - at).is_multiple_of(3)
    };
    let expected = (at < len).then_some(at);
    let query = set(random, things(&tally, len).into_par_query());
    let found = match random.below(4) {
        0 => query
            .find(|thing| is_at(thing.number()))
            .map(|thing| thing.number()),
        1 => query.find_map(|thing| is_at(thing.number()).then(|| thing.number())),
        2 => query
            .position(|thing| is_at(thing.number()))
            .map(|place| place as u64),
        _ => query
            .filter(|thing| is_at(thing.number()))
            .first()
            .map(|thing| thing.number()),
    };
    assert_eq!(found, expected);
    tally.assert_none_left();
}

fn any(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let numbers: Vec<u64> = (0..len).map(mix).collect();
    let is_at = |&number: &u64| {
        load.work(number);
        number == mix(at)
    };
    let mut query = || set(random, numbers.par_query());
    let expected = at < len;
    assert_eq!(query().any(is_at), expected);
    assert_eq!(query().all(|number| !is_at(number)), !expected);
    assert_eq!(query().copied().contains(&mix(at)), expected);
    assert_eq!(
        query()
            .unordered()
            .find_any(|number| is_at(number))
            .copied(),
        expected.then_some(mix(at))
    );
    let single = query().filter(|number| is_at(number)).single();
    assert_eq!(
        single.copied(),
        if expected {
            Ok(mix(at))
        } else {
            Err(SingleError::Empty)
        }
    );
    if len > 1 {
        assert_eq!(query().single(), Err(SingleError::Several));
    }
}

fn numbers(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let mut query = || set(random, (0..len).into_par_query()).inspect(|&number| load.burn(number));
    let sum = (0..len).sum::<u64>();
    assert_eq!(query().count() as u64, len);
    assert_eq!(
        query().filter(|number| number % 3 == 0).count() as u64,
        len.div_ceil(3)
    );
    assert_eq!(query().sum::<u64>(), sum);
    assert_eq!(query().checked_sum(), Some(sum));
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let average = (len > 0).then(|| sum as f64 / len as f64);
    assert_eq!(query().average(), average);
    let large = query().map(|_| u64::MAX).checked_sum();
    assert_eq!(
        large,
        match len {
            0 => Some(0),
            1 => Some(u64::MAX),
            _ => None,
        }
    );
}

fn folds(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let runs = set(random, (0..len).into_par_query()).map(|index| {
        load.work(index);
        (index, index + 1)
    });
    let reduced = runs.reduce(|a, b| {
        assert_eq!(a.1, b.0, "neighbours are combined");
        (a.0, b.1)
    });
    assert_eq!(reduced, (len > 0).then_some((0, len)));
    let query = set(random, things(&tally, len).into_par_query()).deterministic();
    let folded = query.fold(
        Vec::new,
        |mut all, thing| {
            all.push(thing);
            all
        },
        |mut all, mut more| {
            all.append(&mut more);
            all
        },
    );
    assert!(folded.iter().map(Thing::number).eq(0..len));
    drop(folded);
    let last = set(random, things(&tally, len).into_par_query())
        .filter(|thing| thing.number() % 5 == 0)
        .last();
    assert_eq!(
        last.map(|thing| thing.number()),
        len.checked_sub(1).map(|last| last / 5 * 5)
    );
    let at = random.length(2_000);
    let element = set(random, things(&tally, len).into_par_query()).element_at(at);
    assert_eq!(element.map(|thing| thing.number()), (0..len).nth(at));
    tally.assert_none_left();
}

fn extremes(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let salt = random.next();
    let key = |number: u64| mix(number ^ salt) % 20;
    let by_key = |thing: &Thing| {
        load.work(thing.number());
        key(thing.number())
    };
    let number = |found: Option<Thing>| found.map(|thing| thing.number());
    let mut query = || set(random, things(&tally, len).into_par_query());
    assert_eq!(number(query().min()), (0..len).min());
    assert_eq!(number(query().max()), (0..len).max());
    assert_eq!(
        number(query().min_by_key(by_key)),
        (0..len).min_by_key(|&it| key(it)),
        "the first"
    );
    assert_eq!(
        number(query().max_by_key(by_key)),
        (0..len).max_by_key(|&it| key(it)),
        "the last"
    );
    let compare = |a: &Thing, b: &Thing| key(a.number()).cmp(&key(b.number()));
    assert_eq!(
        number(query().min_by(compare)),
        (0..len).min_by_key(|&it| key(it))
    );
    assert_eq!(
        number(query().filter(|_| true).max_by(compare)),
        (0..len).max_by_key(|&it| key(it))
    );
    tally.assert_none_left();
}

fn collections(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let len = len(random, load);
    let pairs = |number: u64| {
        load.work(number);
        (mix(number) % 300, number)
    };
    let kind = random.below(6);
    let query = set(random, (0..len).into_par_query());
    let expected = (0..len).map(pairs);
    match kind {
        0 => assert_eq!(
            query.map(pairs).collect::<HashMap<_, _>>(),
            expected.collect()
        ),
        1 => assert_eq!(
            query.map(pairs).collect::<BTreeMap<_, _>>(),
            expected.collect()
        ),
        2 => assert_eq!(query.map(pairs).collect::<HashSet<_>>(), expected.collect()),
        3 => assert_eq!(
            query.map(pairs).collect::<BTreeSet<_>>(),
            expected.collect()
        ),
        4 => assert_eq!(
            query.map(pairs).collect::<VecDeque<_>>(),
            expected.collect::<VecDeque<_>>()
        ),
        _ => {
            let text = query.map(|number| number.to_string()).collect::<String>();
            assert_eq!(
                text,
                (0..len)
                    .map(|number| number.to_string())
                    .collect::<String>()
            );
        }
    }
}

fn results(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let query = set(random, things(&tally, len).into_par_query()).map(|thing| {
        load.work(thing.number());
        if thing.number() == at || (thing.number() > at && thing.number() % 7 == 0) {
            Err(thing)
        } else {
            Ok(thing)
        }
    });
    if random.is_one_in(2) {
        match query.collect::<Result<Vec<Thing>, Thing>>() {
            Ok(things) => assert!(at >= len && things.iter().map(Thing::number).eq(0..len)),
            Err(thing) => assert_eq!(thing.number(), at, "the first failure"),
        }
    } else {
        let found = query.map(Result::ok).collect::<Option<Vec<Thing>>>();
        assert_eq!(found.is_none(), at < len);
    }
    tally.assert_none_left();
}

fn collect_into(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let mut places = things(&tally, len);
    let query = set(random, things(&tally, len).into_par_query())
        .map(|thing| tally.make(load.work(thing.number())));
    if random.is_one_in(2) {
        query.collect_into(&mut places);
    } else {
        query.filter(|_| true).collect_into(&mut places);
    }
    assert!(places.iter().map(Thing::number).eq((0..len).map(mix)));
    drop(places);
    tally.assert_none_left();
}

fn split(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let query = set(random, things(&tally, len).into_par_query());
    let (even, odd) = query.partition(|thing| {
        load.work(thing.number());
        thing.number() % 2 == 0
    });
    assert!(even.iter().map(Thing::number).eq((0..len).step_by(2)));
    assert!(
        odd.iter()
            .map(Thing::number)
            .eq((0..len).skip(1).step_by(2))
    );
    let pairs = set(random, even.into_par_query()).map(|thing| (thing.number(), thing));
    let (numbers, things) = pairs.unzip();
    assert!(things.iter().map(Thing::number).eq(numbers));
    drop((things, odd));
    tally.assert_none_left();
}

fn for_each(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let visits = Visits::new(len);
    let query = set(random, things(&tally, len).into_par_query());
    let body = |thing: Thing| {
        load.work(thing.number());
        visits.visit(thing.number());
    };
    if random.is_one_in(2) {
        query.for_each(body);
    } else {
        query.filter(|_| true).unordered().for_each(body);
    }
    visits.assert_all();
    tally.assert_none_left();
}

fn try_forms(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let query = set(random, things(&tally, len).into_par_query());
    let body = |thing: Thing| {
        load.work(thing.number());
        if thing.number() == at {
            Err(thing)
        } else {
            Ok(thing)
        }
    };
    let result = if random.is_one_in(2) {
        let mapped = query.try_map(body);
        mapped.map(|things| assert!(things.iter().map(Thing::number).eq(0..len)))
    } else {
        query.try_for_each(|thing| body(thing).map(drop))
    };
    match result {
        Ok(()) => assert!(at >= len),
        Err(failures) => {
            let errors: Vec<_> = failures
                .errors()
                .map(|(place, error)| (place, error.number()))
                .collect();
            assert_eq!(errors, [(at, at)]);
        }
    }
    tally.assert_none_left();
}

fn sequence_equal(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let at = random.below(2 * len + 1);
    let other: Vec<u64> = (0..len)
        .map(|number| if number == at { u64::MAX } else { number })
        .collect();
    let query = set(random, (0..len).into_par_query()).inspect(|&number| load.burn(number));
    assert_eq!(query.sequence_equal(other), at >= len);
    let query = set(random, things(&tally, len).into_par_query());
    assert!(query.filter(|_| true).sequence_equal(things(&tally, len)));
    tally.assert_none_left();
}
