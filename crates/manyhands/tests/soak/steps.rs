//! Queries that are read item by item: iterators, iterators made ahead, streams, futures for each item.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::{Random, mix};
use crate::queries::{set, things};
use crate::table::{Area, Kind};
use crate::world::{Load, World, len};
use manyhands::query::prelude::*;
use manyhands::{parallel, task, time};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "into_iter",
        step: iterator,
    },
    Kind {
        name: "with_iter",
        step: ahead,
    },
    Kind {
        name: "stream, awaited",
        step: stream,
    },
    Kind {
        name: "stream, read by a thread",
        step: stream_blocking,
    },
    Kind {
        name: "stream, dropped in the middle",
        step: stream_dropped,
    },
    Kind {
        name: "sequential and parallel again",
        step: sequential,
    },
    Kind {
        name: "map_async",
        step: map_async,
    },
];

fn iterator(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let taken = usize::try_from(random.below(2 * len + 1)).expect("small");
    let query = set(random, things(&tally, len).into_par_query()).map(|thing| {
        load.work(thing.number());
        thing
    });
    let found = query.into_iter().take(taken).map(|thing| thing.number());
    assert!(found.eq((0..len).take(taken)));
    tally.assert_none_left();
}

fn ahead(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let taken = usize::try_from(random.below(2 * len + 1)).expect("small");
    let query = set(random, things(&tally, len).into_par_query()).filter(|thing| {
        load.work(thing.number());
        thing.number() % 4 != 2
    });
    let numbers: Vec<u64> =
        query.with_iter(|items| items.take(taken).map(|thing| thing.number()).collect());
    assert!(
        numbers
            .into_iter()
            .eq((0..len).filter(|number| number % 4 != 2).take(taken))
    );
    tally.assert_none_left();
}

fn stream(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let query = set(random, things(&tally, len).into_par_query()).map(move |thing| {
        load.work(thing.number());
        thing
    });
    let mut stream = query.stream();
    let mut next = 0;
    task::block_on(async {
        while let Some(thing) = stream.next().await {
            assert_eq!(thing.number(), next, "in order");
            next += 1;
        }
    });
    assert_eq!(next, len);
    drop(stream);
    wait_until_dropped(&tally);
}

/// The task that makes the items ends after its step.
fn wait_until_dropped(tally: &Tally) {
    task::blocking(|| {
        while tally.left() > 0 {
            thread::yield_now();
        }
    });
    tally.assert_none_left();
}

fn stream_blocking(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let query = set(
        random,
        parallel::from_iter(things(&tally, len)).into_par_query(),
    )
    .filter(move |thing| {
        load.work(thing.number());
        thing.number() % 2 == 0
    });
    let found = query.stream().into_iter().map(|thing| thing.number());
    assert!(found.eq((0..len).step_by(2)));
    wait_until_dropped(&tally);
}

fn stream_dropped(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let taken = usize::try_from(random.below(2 * len + 1)).expect("small");
    let query = set(random, things(&tally, len).into_par_query()).map(move |thing| {
        load.work(thing.number());
        thing
    });
    let found = query
        .stream()
        .into_iter()
        .take(taken)
        .map(|thing| thing.number());
    assert!(found.eq((0..len).take(taken)));
    wait_until_dropped(&tally);
}

fn sequential(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load);
    let query = set(random, things(&tally, len).into_par_query()).map(|thing| {
        load.work(thing.number());
        thing
    });
    let mut calls = 0;
    let numbered = query.sequential().map(|thing| {
        calls += 1;
        (calls, thing)
    });
    // Not in parallel: the closure counts.
    let found: Vec<(u64, Thing)> = numbered.collect();
    let found = parallel::from_iter(found)
        .into_par_query()
        .filter(|(_, thing)| thing.number() % 2 == 0)
        .to_vec();
    assert!(
        found
            .iter()
            .map(|(call, thing)| (*call, thing.number()))
            .eq((0..len).step_by(2).map(|it| (it + 1, it)))
    );
    drop(found);
    tally.assert_none_left();
}

fn map_async(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let len = len(random, load).min(150);
    let query = set(random, things(&tally, len).into_par_query()).map(move |thing| {
        load.work(thing.number());
        thing
    });
    let body = |thing: Thing| async move {
        match mix(thing.number()) % 4 {
            0 => time::sleep(Duration::from_micros(thing.number() % 100)).await,
            1 => task::yield_now().await,
            _ => {}
        }
        thing
    };
    let visits = Arc::new(Visits::new(len));
    let is_ordered = random.is_one_in(2);
    let mut results = if is_ordered {
        query.map_async(body)
    } else {
        query.unordered().map_async(body)
    };
    let mut next = 0;
    task::block_on(async {
        while let Some(thing) = results.next().await {
            assert!(!is_ordered || thing.number() == next, "in order");
            visits.visit(thing.number());
            next += 1;
        }
    });
    visits.assert_all();
    drop(results);
    tally.assert_none_left();
}
