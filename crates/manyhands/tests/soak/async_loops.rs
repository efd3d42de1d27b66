//! Async loops: over iterators and streams, with results in order or as they end, states, failures, cancellation.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::{Random, mix};
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, planned_panics};
use futures::future::BoxFuture;
use futures::stream;
use manyhands::{cancel, parallel, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "for_each_async",
        step: for_each,
    },
    Kind {
        name: "for_range_async",
        step: for_range,
    },
    Kind {
        name: "map_async, of a stream",
        step: map,
    },
    Kind {
        name: "try_map_async",
        step: try_map,
    },
    Kind {
        name: "stream_async",
        step: streamed,
    },
    Kind {
        name: "stream_async_unordered",
        step: unordered,
    },
    Kind {
        name: "degree_of_parallelism is kept",
        step: degree,
    },
    Kind {
        name: "local states",
        step: local,
    },
    Kind {
        name: "panics",
        step: panics,
    },
    Kind {
        name: "cancellation",
        step: cancelled,
    },
    Kind {
        name: "dropped in the middle",
        step: dropped,
    },
];

/// What an item awaits.
async fn pause(number: u64) {
    match number % 5 {
        0 => {}
        1 | 2 => task::yield_now().await,
        3 => time::sleep(Duration::from_micros(number % 300)).await,
        _ => {
            for _ in 0..number % 7 {
                task::yield_now().await;
            }
        }
    }
}

/// A body that makes its thing when it is called, and gives it after a pause.
fn things(tally: &Arc<Tally>) -> impl Fn(u64) -> BoxFuture<'static, Thing> + Send + Sync + 'static {
    let tally = Arc::clone(tally);
    move |number| {
        let thing = tally.make(number);
        Box::pin(async move {
            pause(mix(number)).await;
            thing
        })
    }
}

fn len(random: &mut Random) -> u64 {
    let most = random.pick(&[3, 40, 200]);
    random.below(most)
}

fn for_each(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), len(random), Tally::new());
    let visits = Arc::new(Visits::new(len));
    let things: Vec<Thing> = (0..len).map(|number| tally.make(number)).collect();
    let body = {
        let visits = Arc::clone(&visits);
        move |thing: Thing| {
            let visits = Arc::clone(&visits);
            async move {
                pause(thing.number()).await;
                load.work(thing.number());
                visits.visit(thing.number());
            }
        }
    };
    task::block_on(parallel::for_each_async(things, body));
    visits.assert_all();
    tally.assert_none_left();
}

fn for_range(random: &mut Random, _: &World) {
    let len = len(random);
    let visits = Arc::new(Visits::new(len));
    let body = {
        let visits = Arc::clone(&visits);
        move |index: u64| {
            let visits = Arc::clone(&visits);
            async move {
                pause(mix(index)).await;
                visits.visit(index);
            }
        }
    };
    task::spawn(parallel::for_each_async(0..len, body))
        .join()
        .expect("it does not panic");
    visits.assert_all();
}

fn map(random: &mut Random, _: &World) {
    let (len, tally) = (len(random), Tally::new());
    let source = parallel::from_stream(stream::iter(0..len));
    let options = parallel::AsyncOptions::new()
        .degree_of_parallelism(1..=1 + random.length(40))
        .expect("at least 1");
    let things = task::block_on(options.map_async(source, things(&tally)));
    assert!(things.iter().map(Thing::number).eq(0..len), "in order");
    drop(things);
    tally.assert_none_left();
}

fn try_map(random: &mut Random, _: &World) {
    let (len, tally) = (len(random), Tally::new());
    let at = random.below(2 * len + 1);
    let make = things(&tally);
    let body = move |number: u64| {
        let thing = make(number);
        async move {
            let thing = thing.await;
            if number == at { Err(thing) } else { Ok(thing) }
        }
    };
    match task::block_on(parallel::try_map_async(0..len, body)) {
        Ok(things) => assert!(at >= len && things.iter().map(Thing::number).eq(0..len)),
        Err(failures) => {
            let errors: Vec<_> = failures
                .errors()
                .map(|(place, error)| (place, error.number()))
                .collect();
            assert_eq!(errors, [(at, at)]);
        }
    }
    wait_until_dropped(&tally);
}

/// Cancelled items are dropped where tasks run.
fn wait_until_dropped(tally: &Tally) {
    task::blocking(|| {
        while tally.left() > 0 {
            thread::yield_now();
        }
    });
    tally.assert_none_left();
}

fn streamed(random: &mut Random, _: &World) {
    let (len, tally) = (len(random), Tally::new());
    let mut results = parallel::AsyncOptions::new().stream_async(0..len, things(&tally));
    let mut next = 0;
    task::block_on(async {
        while let Some(thing) = results.next().await {
            assert_eq!(thing.number(), next, "in order");
            next += 1;
        }
    });
    assert_eq!(next, len);
    drop(results);
    tally.assert_none_left();
}

fn unordered(random: &mut Random, _: &World) {
    let (len, tally) = (len(random), Tally::new());
    let visits = Visits::new(len);
    let mut results = parallel::AsyncOptions::new().stream_async_unordered(0..len, things(&tally));
    task::block_on(async {
        while let Some(thing) = results.next().await {
            visits.visit(thing.number());
        }
    });
    visits.assert_all();
    drop(results);
    tally.assert_none_left();
}

fn degree(random: &mut Random, _: &World) {
    let (len, degree) = (len(random), 1 + random.length(6));
    let (running, most) = (
        Arc::new(AtomicI64::new(0)),
        i64::try_from(degree).expect("small"),
    );
    let visits = Arc::new(Visits::new(len));
    let body = {
        let (running, visits) = (Arc::clone(&running), Arc::clone(&visits));
        move |number: u64| {
            let (running, visits) = (Arc::clone(&running), Arc::clone(&visits));
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= most, "{now} run at once, not {most}");
                pause(mix(number)).await;
                visits.visit(number);
                running.fetch_sub(1, Ordering::SeqCst);
            }
        }
    };
    let options = parallel::AsyncOptions::new()
        .degree_of_parallelism(degree)
        .expect("at least 1");
    task::block_on(options.for_each_async(0..len, body));
    visits.assert_all();
}

fn local(random: &mut Random, _: &World) {
    let (len, tally) = (len(random), Tally::new());
    let (made, finished) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let init = {
        let (tally, made) = (Arc::clone(&tally), Arc::clone(&made));
        move || (tally.make(made.fetch_add(1, Ordering::Relaxed)), 0_u64)
    };
    let finish = {
        let finished = Arc::clone(&finished);
        move |(_, count): (Thing, u64)| {
            finished.fetch_add(count, Ordering::Relaxed);
        }
    };
    let body = |number: u64, (thing, count): (Thing, u64)| async move {
        pause(mix(number)).await;
        (number, (thing, count + 1))
    };
    let results = parallel::AsyncOptions::new()
        .local(init, finish)
        .map_async(0..len, body);
    assert!(task::block_on(results).into_iter().eq(0..len), "in order");
    assert_eq!(
        finished.load(Ordering::Relaxed),
        len,
        "each state was finished once"
    );
    tally.assert_none_left();
}

fn panics(random: &mut Random, _: &World) {
    let (len, tally) = (1 + len(random), Tally::new());
    let at = random.below(len);
    let make = things(&tally);
    let body = move |number: u64| {
        let thing = make(number);
        async move {
            let thing = thing.await;
            if number == at {
                Planned::throw(thing.number());
            }
            thing
        }
    };
    let panics = planned_panics(|| task::block_on(parallel::map_async(0..len, body)));
    assert_eq!(panics, [at]);
    wait_until_dropped(&tally);
}

fn cancelled(random: &mut Random, _: &World) {
    let (len, tally, source) = (len(random), Tally::new(), cancel::TokenSource::new());
    let (at, token) = (random.below(2 * len + 1), source.token());
    let (make, source) = (things(&tally), Arc::new(source));
    let body = move |number: u64| {
        let (thing, source) = (make(number), Arc::clone(&source));
        async move {
            let thing = thing.await;
            if number == at {
                source.cancel();
            }
            thing
        }
    };
    let result = task::block_on(
        parallel::AsyncOptions::new()
            .cancellation(&token)
            .map_async(0..len, body),
    );
    match result {
        Ok(things) => assert!(things.iter().map(Thing::number).eq(0..len)),
        Err(cancelled) => assert!(at < len && cancelled.token() == &token),
    }
    wait_until_dropped(&tally);
}

fn dropped(random: &mut Random, _: &World) {
    let (len, taken, tally) = (len(random), random.below(20), Tally::new());
    let mut results = parallel::AsyncOptions::new().stream_async(0..len, things(&tally));
    task::block_on(async {
        for number in 0..taken.min(len) {
            assert_eq!(
                results.next().await.map(|thing| thing.number()),
                Some(number)
            );
        }
    });
    drop(results);
    wait_until_dropped(&tally);
}
