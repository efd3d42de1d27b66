//! Tasks: spawned, run, detached, bound to a worker, named, urgent, continued, cancelled; and completions.

use crate::counted::{Tally, Visits};
use crate::delays::random::{Random, mix};
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, planned};
use manyhands::{task, time};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "run and join",
        step: run,
    },
    Kind {
        name: "spawn and join, or await",
        step: spawn,
    },
    Kind {
        name: "run_detached",
        step: detached,
    },
    Kind {
        name: "handles that are dropped",
        step: dropped_handles,
    },
    Kind {
        name: "spawn_local",
        step: local,
    },
    Kind {
        name: "names and priorities",
        step: built,
    },
    Kind {
        name: "then",
        step: then,
    },
    Kind {
        name: "panics",
        step: panics,
    },
    Kind {
        name: "cancellation at any time",
        step: cancelled,
    },
    Kind {
        name: "tasks that spawn tasks",
        step: trees,
    },
    Kind {
        name: "completion",
        step: completion,
    },
    Kind {
        name: "completion that is abandoned",
        step: abandoned,
    },
    Kind {
        name: "joined inside of another task",
        step: joined_inside,
    },
    Kind {
        name: "block_on",
        step: block_on,
    },
];

fn run(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(100));
    let tasks: Vec<_> = (0..len)
        .map(|index| task::run(move || load.work(index)))
        .collect();
    for (index, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().expect("it does not panic"), mix(index as u64));
    }
}

fn spawn(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(100));
    let tally = Tally::new();
    let tasks: Vec<_> = (0..len)
        .map(|index| {
            let thing = tally.make(index);
            task::spawn(async move {
                for _ in 0..index % 4 {
                    task::yield_now().await;
                }
                load.work(index);
                thing
            })
        })
        .collect();
    let is_awaited = random.is_one_in(2);
    for (index, task) in (0..).zip(tasks) {
        let result = if is_awaited {
            task::block_on(task)
        } else {
            task.join()
        };
        assert_eq!(result.expect("it does not panic").number(), index);
    }
    tally.assert_none_left();
}

/// Waits for values that tasks drop; the watchdog aborts when it takes too long.
fn wait_for(what: &Arc<Tally>) {
    while what.left() > 0 {
        thread::yield_now();
    }
    what.assert_none_left();
}

fn detached(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(300));
    let (tally, visits) = (Tally::new(), Arc::new(Visits::new(len)));
    for index in 0..len {
        let (thing, visits) = (tally.make(index), Arc::clone(&visits));
        task::run_detached(move || {
            load.work(index);
            visits.visit(thing.number());
        });
    }
    task::blocking(|| wait_for(&tally));
    visits.assert_all();
}

fn dropped_handles(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(100));
    let (tally, visits) = (Tally::new(), Arc::new(Visits::new(len)));
    for index in 0..len {
        let (thing, visits) = (tally.make(index), Arc::clone(&visits));
        if random.is_one_in(2) {
            drop(task::run(move || {
                load.work(index);
                visits.visit(thing.number());
            }));
        } else {
            drop(task::spawn(async move {
                task::yield_now().await;
                visits.visit(thing.number());
            }));
        }
    }
    task::blocking(|| wait_for(&tally));
    visits.assert_all();
}

fn local(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(20));
    // A future runs on a worker, whichever thread joins it.
    let spawning = task::spawn(async move { spawn_local(load, len) });
    let tasks = spawning.join().expect("it does not panic");
    let mut last = 0;
    for task in tasks {
        last = last.max(task.join().expect("it does not panic"));
    }
    assert_eq!(last, len, "all have counted");
}

/// Tasks on one thread that count together in a value that is not `Sync`.
fn spawn_local(load: Load, len: u64) -> Vec<task::JoinHandle<u64>> {
    let here = thread::current().id();
    let count = Rc::new(Cell::new(0_u64));
    let spawn = |index: u64| {
        let count = Rc::clone(&count);
        task::spawn_local(async move {
            for turn in 0..index % 5 {
                assert_eq!(thread::current().id(), here, "on its worker");
                if turn == 3 {
                    time::sleep(Duration::from_micros(50)).await;
                }
                task::yield_now().await;
            }
            assert_eq!(thread::current().id(), here, "on its worker");
            load.work(index);
            count.set(count.get() + 1);
            count.get()
        })
    };
    (0..len).map(spawn).collect()
}

fn built(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(60));
    let priorities = [
        task::Priority::Interactive,
        task::Priority::Normal,
        task::Priority::Background,
    ];
    let tasks: Vec<_> = (0..len)
        .map(|index| {
            let builder = task::Builder::new().priority(random.pick(&priorities));
            let builder = builder.name(format!("task {index}"));
            if random.is_one_in(2) {
                builder.run(move || load.work(index))
            } else {
                builder.spawn(async move {
                    task::yield_now().await;
                    load.work(index)
                })
            }
        })
        .collect();
    for (index, task) in (0..).zip(tasks) {
        assert_eq!(task.name(), Some(&*format!("task {index}")));
        assert_eq!(task.join().expect("it does not panic"), mix(index));
    }
}

fn then(random: &mut Random, _: &World) {
    let (load, len, fails) = (Load::random(random), random.below(20), random.is_one_in(4));
    let mut task = task::run(move || {
        if fails {
            Planned::throw(7);
        }
        load.work(0)
    });
    for step in 0..len {
        task = task.then(move |result| match result {
            Ok(value) => value.wrapping_add(step),
            Err(error) => {
                let payload = error.try_into_panic().expect("it panicked");
                Planned::throw(planned(payload))
            }
        });
    }
    let expected = if fails {
        Err(7)
    } else {
        Ok(mix(0).wrapping_add((0..len).sum::<u64>()))
    };
    let result = task.join();
    assert_eq!(
        result.map_err(|error| planned(error.try_into_panic().expect("it panicked"))),
        expected
    );
}

fn panics(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), random.below(40), Tally::new());
    let every = 1 + random.below(8);
    let tasks: Vec<_> = (0..len)
        .map(|index| {
            let thing = tally.make(index);
            let body = move || {
                load.work(index);
                if index % every == 0 {
                    Planned::throw(thing.number());
                }
                thing
            };
            if random.is_one_in(2) {
                task::run(body)
            } else {
                task::spawn(async move {
                    task::yield_now().await;
                    body()
                })
            }
        })
        .collect();
    for (index, task) in (0..).zip(tasks) {
        match task.join() {
            Ok(thing) => assert!(thing.number() == index && index % every != 0),
            Err(error) => {
                assert!(error.is_panic() && !error.is_cancelled() && index % every == 0);
                assert_eq!(planned(error.try_into_panic().expect("it panicked")), index);
            }
        }
    }
    tally.assert_none_left();
}

fn cancelled(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), random.below(60), Tally::new());
    let tasks: Vec<_> = (0..len)
        .map(|index| {
            let thing = tally.make(index);
            match index % 4 {
                0 => task::run(move || {
                    load.work(index);
                    thing
                }),
                1 => task::spawn(async move {
                    for _ in 0..20 {
                        task::yield_now().await;
                    }
                    thing
                }),
                2 => task::spawn(async move {
                    time::sleep(Duration::from_micros(10 * index)).await;
                    thing
                }),
                _ => task::spawn(async move {
                    std::future::pending::<()>().await;
                    thing
                }),
            }
        })
        .collect();
    for _ in 0..random.below(3) {
        thread::yield_now();
    }
    for task in &tasks {
        task.abort();
    }
    for (index, task) in (0..).zip(tasks) {
        match task.join() {
            Ok(thing) => assert!(thing.number() == index && index % 4 != 3, "it was faster"),
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    // A cancelled closure or future may be dropped a moment after its handle reports it.
    task::blocking(|| wait_for(&tally));
}

fn trees(random: &mut Random, _: &World) {
    fn grow(depth: u64, visits: &Arc<Visits>, index: u64) -> task::JoinHandle<u64> {
        let visits = Arc::clone(visits);
        task::spawn(async move {
            visits.visit(index - 1);
            if depth == 0 {
                return 1;
            }
            let children = [
                grow(depth - 1, &visits, 2 * index),
                grow(depth - 1, &visits, 2 * index + 1),
            ];
            let mut sum = 1;
            for child in children {
                sum += child.await.expect("it does not panic");
            }
            sum
        })
    }
    let depth = random.below(8);
    let len = (2 << depth) - 1;
    let visits = Arc::new(Visits::new(len));
    assert_eq!(
        grow(depth, &visits, 1).join().expect("it does not panic"),
        len
    );
    visits.assert_all();
}

fn completion(random: &mut Random, _: &World) {
    let (load, waiters) = (Load::random(random), random.below(6));
    let (completer, completion) = task::completion::<u64>();
    let tasks: Vec<_> = (0..waiters)
        .map(|_| {
            let completion = completion.clone();
            if random.is_one_in(3) {
                task::run(move || completion.wait_blocking())
            } else {
                task::spawn(completion)
            }
        })
        .collect();
    let completers: Vec<_> = (0..1 + random.below(4))
        .map(|number| {
            let completer = completer.clone();
            task::run(move || {
                load.work(number);
                completer.try_complete(number).is_ok()
            })
        })
        .collect();
    let winners: Vec<_> = (0..)
        .zip(completers)
        .filter_map(|(number, task)| task.join().expect("it does not panic").then_some(number))
        .collect();
    assert_eq!(winners.len(), 1, "one result: {winners:?}");
    for task in tasks {
        assert_eq!(
            task.join().expect("it does not panic").ok(),
            Some(winners[0])
        );
    }
    assert_eq!(completion.wait_blocking().ok(), Some(winners[0]));
    assert!(completer.try_complete(9).is_err() && completion.is_completed());
}

fn abandoned(random: &mut Random, _: &World) {
    let (completer, completion) = task::completion::<u64>();
    let waiter = {
        let completion = completion.clone();
        task::spawn(completion)
    };
    let how = random.below(3);
    let ending = task::run(move || match how {
        0 => drop(completer),
        1 => completer.cancel(),
        _ => completer.fail("no luck"),
    });
    let error = waiter
        .join()
        .expect("it does not panic")
        .expect_err("there is no value");
    assert_eq!(error.is_cancelled(), how < 2);
    assert_eq!(error.is_abandoned(), how == 0);
    ending.join().expect("it does not panic");
    assert!(completion.wait_blocking().is_err());
}

fn joined_inside(random: &mut Random, _: &World) {
    let (load, depth) = (Load::random(random), random.below(12));
    fn nest(depth: u64, load: Load) -> u64 {
        load.work(depth);
        if depth == 0 {
            return 0;
        }
        let inner = task::run(move || nest(depth - 1, load));
        1 + inner.join().expect("it does not panic")
    }
    let task = task::run(move || nest(depth, load));
    assert_eq!(task.join().expect("it does not panic"), depth);
}

fn block_on(random: &mut Random, _: &World) {
    let len = random.below(30);
    let sum = task::block_on(async {
        let mut sum = 0;
        for index in 0..len {
            sum += match index % 3 {
                0 => task::spawn(async move { index })
                    .await
                    .expect("it does not panic"),
                1 => {
                    task::yield_now().await;
                    index
                }
                _ => {
                    time::sleep(Duration::from_micros(20)).await;
                    index
                }
            };
        }
        sum
    });
    assert_eq!(sum, (0..len).sum::<u64>());
}
