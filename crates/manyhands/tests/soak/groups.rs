//! Groups of tasks: task groups, groups that borrow, groups that may fail, and the `when_` forms.

use crate::counted::{Tally, Thing, Visits};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::{Load, Planned, World, planned, planned_panics};
use manyhands::task::{self, GroupError, JoinHandle, TaskGroup};
use manyhands::time;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "TaskGroup, wait",
        step: wait,
    },
    Kind {
        name: "TaskGroup, next",
        step: next,
    },
    Kind {
        name: "TaskGroup, try_wait",
        step: try_wait,
    },
    Kind {
        name: "TaskGroup, dropped or cancelled",
        step: dropped,
    },
    Kind {
        name: "group that borrows",
        step: borrowing,
    },
    Kind {
        name: "group that borrows, with panics",
        step: borrowing_panics,
    },
    Kind {
        name: "try_scope",
        step: try_scope,
    },
    Kind {
        name: "when_all",
        step: when_all,
    },
    Kind {
        name: "when_any",
        step: when_any,
    },
    Kind {
        name: "when_each",
        step: when_each,
    },
];

/// A task of some kind that returns its value.
fn spawn_some(random: &mut Random, thing: Thing, load: Load) -> JoinHandle<Thing> {
    let number = thing.number();
    match random.below(3) {
        0 => task::run(move || {
            load.work(number);
            thing
        }),
        1 => task::spawn(async move {
            task::yield_now().await;
            thing
        }),
        _ => task::spawn(async move {
            time::sleep(Duration::from_micros(number % 200)).await;
            thing
        }),
    }
}

fn group_of(random: &mut Random, tally: &Arc<Tally>, len: u64) -> TaskGroup<Thing> {
    let load = Load::random(random);
    let mut group = TaskGroup::new();
    for number in 0..len {
        let thing = tally.make(number);
        match random.below(3) {
            0 => group.run(move || {
                load.work(number);
                thing
            }),
            1 => group.spawn(async move {
                task::yield_now().await;
                thing
            }),
            _ => group.push(spawn_some(random, thing, load)),
        }
    }
    group
}

fn wait(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(60));
    let group = group_of(random, &tally, len);
    let results = task::block_on(group.wait());
    assert!(
        results
            .iter()
            .map(|result| result.as_ref().expect("no panics").number())
            .eq(0..len)
    );
    drop(results);
    tally.assert_none_left();
}

fn next(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(60));
    let mut group = group_of(random, &tally, len);
    let visits = Visits::new(len);
    task::block_on(async {
        while let Some((index, result)) = group.next().await {
            let thing = result.expect("no panics");
            assert_eq!(thing.number(), index as u64);
            visits.visit(thing.number());
        }
    });
    assert!(group.is_empty());
    visits.assert_all();
    tally.assert_none_left();
}

fn try_wait(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(40));
    let (at, panics) = (random.below(2 * len + 1), random.is_one_in(2));
    let mut group = TaskGroup::new();
    for number in 0..len {
        let thing = tally.make(number);
        group.spawn(async move {
            time::sleep(Duration::from_micros(number % 100)).await;
            match number == at {
                true if panics => Planned::throw(number),
                true => Err(thing),
                false => Ok(thing),
            }
        });
    }
    match task::block_on(group.try_wait()) {
        Ok(things) => assert!(at >= len && things.iter().map(Thing::number).eq(0..len)),
        Err(error) => {
            assert_eq!(error.index() as u64, at);
            match error {
                GroupError::Failed(_, thing) => assert!(!panics && thing.number() == at),
                GroupError::Ended(_, error) => {
                    assert_eq!(planned(error.try_into_panic().expect("it panicked")), at);
                }
            }
        }
    }
    task::blocking(|| wait_until_dropped(&tally));
}

/// Cancelled tasks are dropped where tasks run.
fn wait_until_dropped(tally: &Tally) {
    while tally.left() > 0 {
        thread::yield_now();
    }
    tally.assert_none_left();
}

fn dropped(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(60));
    let mut group = group_of(random, &tally, len);
    let thing = tally.make(len);
    group.spawn(async {
        std::future::pending::<()>().await;
        thing
    });
    if random.is_one_in(2) {
        drop(group);
    } else {
        group.abort_all();
        let results = task::block_on(group.wait());
        assert_eq!(results.len() as u64, len + 1);
        assert!(
            results.last().is_some_and(Result::is_err),
            "the last never ends by itself"
        );
    }
    task::blocking(|| wait_until_dropped(&tally));
}

fn borrowing(random: &mut Random, _: &World) {
    let (load, len) = (Load::random(random), random.below(60));
    let visits = Visits::new(2 * len);
    let result = task::scope_blocking(|scope| {
        for index in 0..len {
            let visits = &visits;
            scope.spawn(async move {
                task::yield_now().await;
                load.work(index);
                visits.visit(2 * index);
                scope.spawn(async move { visits.visit(2 * index + 1) });
            });
        }
        len
    });
    assert_eq!(result, len);
    visits.assert_all();
}

fn borrowing_panics(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), 1 + random.below(40), Tally::new());
    let every = 1 + random.below(len);
    let visits = Visits::new(len);
    let panics = planned_panics(|| {
        task::scope_blocking(|scope| {
            for index in 0..len {
                let (visits, thing) = (&visits, tally.make(index));
                scope.spawn(async move {
                    task::yield_now().await;
                    load.work(index);
                    visits.visit(thing.number());
                    if index % every == 0 {
                        Planned::throw(index);
                    }
                });
            }
        });
    });
    assert!(
        panics
            .into_iter()
            .eq((0..len).filter(|index| index % every == 0))
    );
    visits.assert_all();
    tally.assert_none_left();
}

fn try_scope(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), random.below(40), Tally::new());
    let at = random.below(2 * len + 1);
    let visits = Visits::new(len);
    let result = task::try_scope_blocking(|scope| {
        for index in 0..len {
            let (visits, thing) = (&visits, tally.make(index));
            scope.spawn(async move {
                task::yield_now().await;
                load.work(index);
                visits.visit(index);
                if index == at { Err(thing) } else { Ok(()) }
            });
        }
        len
    });
    match result {
        Ok(result) => {
            assert!(result == len && at >= len);
            visits.assert_all();
        }
        Err(error) => {
            assert_eq!(error.index() as u64, at);
            assert!(matches!(error, GroupError::Failed(_, thing) if thing.number() == at));
        }
    }
    tally.assert_none_left();
}

fn when_all(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), random.below(60), Tally::new());
    let tasks: Vec<_> = (0..len)
        .map(|number| spawn_some(random, tally.make(number), load))
        .collect();
    let results = task::block_on(task::when_all(tasks));
    assert!(
        results
            .iter()
            .map(|result| result.as_ref().expect("no panics").number())
            .eq(0..len)
    );
    drop(results);
    let sleeps = (0..len).map(|number| {
        let thing = tally.make(number);
        async move {
            time::sleep(Duration::from_micros(number * 3)).await;
            thing
        }
    });
    let all = task::spawn(task::when_all(sleeps.collect::<Vec<_>>()));
    let things = all.join().expect("no panics");
    assert!(things.iter().map(Thing::number).eq(0..len));
    drop(things);
    tally.assert_none_left();
}

fn when_any(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), 1 + random.below(20), Tally::new());
    let mut left: Vec<u64> = (0..len).collect();
    let mut tasks: Vec<_> = (0..len)
        .map(|number| spawn_some(random, tally.make(number), load))
        .collect();
    while !tasks.is_empty() {
        let first = task::block_on(task::when_any(tasks));
        let number = left.remove(first.index);
        assert_eq!(first.result.expect("no panics").number(), number);
        tasks = first.others;
        assert_eq!(tasks.len(), left.len());
    }
    tally.assert_none_left();
}

fn when_each(random: &mut Random, _: &World) {
    let (load, len, tally) = (Load::random(random), random.below(60), Tally::new());
    let tasks: Vec<_> = (0..len)
        .map(|number| spawn_some(random, tally.make(number), load))
        .collect();
    let visits = Visits::new(len);
    let mut each = task::when_each(tasks);
    task::block_on(async {
        while let Some((index, result)) = each.next().await {
            assert_eq!(result.expect("no panics").number(), index as u64);
            visits.visit(index as u64);
        }
    });
    visits.assert_all();
    tally.assert_none_left();
}
