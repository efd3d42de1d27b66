//! Sleeps, time limits and intervals: never early, never lost.

use crate::counted::Tally;
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::World;
use futures::StreamExt;
use manyhands::task;
use manyhands::time::{self, MissedTickBehavior};
use std::future::pending;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "sleep",
        step: sleep,
    },
    Kind {
        name: "sleep_blocking",
        step: sleep_blocking,
    },
    Kind {
        name: "sleep, reset",
        step: reset,
    },
    Kind {
        name: "sleep, begun here and awaited there",
        step: passed_on,
    },
    Kind {
        name: "timeout",
        step: timeout,
    },
    Kind {
        name: "interval",
        step: interval,
    },
    Kind {
        name: "many sleeps, some dropped",
        step: many,
    },
];

fn micros(random: &mut Random) -> Duration {
    let most = random.pick(&[100, 1_000, 4_000]);
    Duration::from_micros(random.below(most))
}

fn sleep(random: &mut Random, _: &World) {
    let tasks: Vec<_> = (0..random.below(10))
        .map(|_| {
            let duration = micros(random);
            task::spawn(async move {
                let deadline = time::now() + duration;
                time::sleep(duration).await;
                assert!(time::now() >= deadline, "early");
            })
        })
        .collect();
    for task in tasks {
        task.join().expect("it does not panic");
    }
    let deadline = time::now() + micros(random);
    task::block_on(time::sleep_until(deadline));
    assert!(time::now() >= deadline, "early");
}

fn sleep_blocking(random: &mut Random, _: &World) {
    let duration = micros(random);
    let deadline = time::now() + duration;
    time::sleep_blocking(duration);
    assert!(time::now() >= deadline, "early");
}

fn reset(random: &mut Random, _: &World) {
    let duration = micros(random);
    let task = task::spawn(async move {
        let mut sleep = Box::pin(time::sleep(Duration::from_secs(3_600)));
        assert!(futures::poll!(sleep.as_mut()).is_pending());
        let deadline = time::now() + duration;
        sleep.as_mut().reset(deadline);
        sleep.as_mut().await;
        assert!(time::now() >= deadline && sleep.is_elapsed(), "early");
    });
    task.join().expect("it does not panic");
}

fn passed_on(random: &mut Random, _: &World) {
    let duration = micros(random);
    let begin = task::spawn(async move {
        let mut sleep = Box::pin(time::sleep(duration));
        let _ = futures::poll!(sleep.as_mut());
        Some(sleep)
    });
    let sleep = begin.join().ok().flatten().expect("it does not panic");
    let deadline = sleep.deadline();
    let is_awaited_here = random.is_one_in(2);
    if is_awaited_here {
        task::block_on(sleep);
    } else {
        task::spawn(sleep).join().expect("it does not panic");
    }
    assert!(time::now() >= deadline, "early");
}

fn timeout(random: &mut Random, _: &World) {
    let (limit, tally) = (micros(random), Tally::new());
    let thing = tally.make(1);
    let never = async move {
        pending::<()>().await;
        thing
    };
    let deadline = time::now() + limit;
    assert!(task::block_on(time::timeout(limit, never)).is_err());
    assert!(time::now() >= deadline, "early");
    tally.assert_none_left();
    let soon = time::timeout(Duration::from_secs(3_600), time::sleep(limit));
    assert!(task::spawn(soon).join().expect("it does not panic").is_ok());
    let ready = task::block_on(time::timeout_at(deadline, async { 7 }));
    assert_eq!(ready.ok(), Some(7), "what is ready comes first");
}

fn interval(random: &mut Random, _: &World) {
    let period = Duration::from_micros(20 + random.below(500));
    let ticks = u32::try_from(random.below(12)).expect("small");
    let behavior = random.pick(&[
        MissedTickBehavior::Burst,
        MissedTickBehavior::Delay,
        MissedTickBehavior::Skip,
    ]);
    let is_stream = random.is_one_in(2);
    let task = task::spawn(async move {
        let begun = time::now();
        let mut interval = time::interval_at(begun, period);
        interval.set_missed_tick_behavior(behavior);
        for tick in 0..ticks {
            if is_stream {
                interval.next().await.expect("it has no end");
            } else {
                interval.tick().await;
            }
            assert!(time::now() >= begun + period * tick, "early");
        }
    });
    task.join().expect("it does not panic");
}

fn many(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(200));
    let tasks: Vec<_> = (0..len)
        .map(|number| {
            let (duration, thing) = (micros(random), tally.make(number));
            let is_dropped = random.is_one_in(3);
            task::spawn(async move {
                let deadline = time::now() + duration;
                let mut sleep = Box::pin(time::sleep(duration));
                if is_dropped {
                    let _ = futures::poll!(sleep.as_mut());
                    drop(sleep);
                    return thing;
                }
                sleep.await;
                assert!(time::now() >= deadline, "early");
                thing
            })
        })
        .collect();
    for task in tasks {
        task.join().expect("it does not panic").number();
    }
    tally.assert_none_left();
}
