//! Runtimes made and dropped with work in flight, callers that start and end, and simulations.

use crate::counted::{Tally, Visits};
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::{Load, World};
use manyhands::simulation::Simulation;
use manyhands::{Runtime, join, parallel, scope, task, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "dropped with tasks in flight",
        step: dropped,
    },
    Kind {
        name: "shut down, with a report",
        step: shut_down,
    },
    Kind {
        name: "shut down beside tasks that spawn",
        step: breeding,
    },
    Kind {
        name: "loops of several threads at once",
        step: callers,
    },
    Kind {
        name: "made, used once, dropped",
        step: used_once,
    },
    Kind {
        name: "simulation",
        step: simulation,
    },
    Kind {
        name: "simulation, dropped early",
        step: simulation_dropped,
    },
];

fn new_runtime(random: &mut Random) -> Runtime {
    let workers = random.pick(&[1, 2, 3, 8]);
    let builder = Runtime::builder().workers(workers);
    let builder = builder.thread_keep_alive(Duration::from_micros(random.below(500)));
    builder.build().expect("the number is right")
}

/// Spawns tasks that end by themselves, and some that never do; each holds a value.
fn spawn_some(random: &mut Random, tally: &Arc<Tally>, load: Load) -> Vec<task::JoinHandle<u64>> {
    let len = random.below(30);
    let spawn = |number: u64| {
        let thing = tally.make(number);
        match random.below(6) {
            0 => task::spawn(async move {
                std::future::pending::<()>().await;
                thing.number()
            }),
            1 => task::spawn(async move {
                time::sleep(Duration::from_micros(number * 20)).await;
                thing.number()
            }),
            2 => task::run(move || {
                parallel::for_each(0..20_u64, |index| load.burn(index));
                thing.number()
            }),
            3 => task::run(move || join(|| load.work(1), || thing.number()).1),
            4 => task::spawn(async move {
                task::spawn(async move { thing.number() })
                    .await
                    .unwrap_or(number)
            }),
            _ => task::run(move || {
                task::blocking(|| load.work(1));
                thing.number()
            }),
        }
    };
    (0..len).map(spawn).collect()
}

fn dropped(random: &mut Random, _: &World) {
    let (load, tally) = (Load::random(random), Tally::new());
    let runtime = new_runtime(random);
    let tasks = runtime.install(|| spawn_some(random, &tally, load));
    drop(runtime);
    // Dropping a runtime waits for running tasks, and drops the rest.
    tally.assert_none_left();
    for (number, task) in (0..).zip(tasks) {
        match task.join() {
            Ok(result) => assert_eq!(result, number),
            Err(error) => assert!(error.is_cancelled()),
        }
    }
}

fn shut_down(random: &mut Random, _: &World) {
    let (tally, len) = (Tally::new(), random.below(100));
    let runtime = new_runtime(random);
    let run = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = runtime.install(|| {
        let spawn = |number: u64| {
            let (thing, run) = (tally.make(number), Arc::clone(&run));
            task::run(move || {
                run.fetch_add(1, Ordering::Relaxed);
                thing.number()
            })
        };
        (0..len).map(spawn).collect()
    });
    let report = runtime.shutdown_blocking();
    let run = run.load(Ordering::Relaxed);
    assert_eq!(run + report.dropped as u64, len, "closures run and dropped");
    let ended = tasks
        .into_iter()
        .filter_map(|task| task.join().ok())
        .count();
    assert_eq!(ended as u64, run);
    tally.assert_none_left();
}

fn breeding(random: &mut Random, _: &World) {
    fn breed(tally: &Arc<Tally>, number: u64) {
        let thing = tally.make(number);
        let theirs = Arc::clone(tally);
        let spawn = move || drop(task::run(move || breed(&theirs, number + 1)));
        match number % 3 {
            0 => spawn(),
            1 => drop(join(spawn, || ())),
            _ => scope(|s| s.spawn(|_| spawn())),
        }
        drop(thing);
    }
    let (tally, started) = (Tally::new(), 1 + random.below(4));
    let runtime = new_runtime(random);
    runtime.install(|| {
        for _ in 0..started {
            let tally = Arc::clone(&tally);
            drop(task::run(move || breed(&tally, 0)));
        }
    });
    for _ in 0..random.below(20) {
        thread::yield_now();
    }
    drop(runtime);
    tally.assert_none_left();
}

fn callers(random: &mut Random, world: &World) {
    let load = Load::random(random);
    let (callers, len) = (2 + random.below(3), random.below(200));
    thread::scope(|s| {
        for _ in 0..callers {
            s.spawn(|| {
                for _ in 0..3 {
                    let visits = Visits::new(len);
                    let options = parallel::Options::new().runtime(&world.runtime);
                    options.for_each(0..len, |index| {
                        load.work(index);
                        visits.visit(index);
                    });
                    visits.assert_all();
                }
            });
        }
    });
}

fn used_once(random: &mut Random, _: &World) {
    let load = Load::random(random);
    let runtime = new_runtime(random);
    let len = random.below(300);
    let visits = Visits::new(len);
    runtime.install(|| {
        parallel::for_each(0..len, |index| {
            load.work(index);
            visits.visit(index);
        });
    });
    visits.assert_all();
}

fn simulation(random: &mut Random, _: &World) {
    let (tally, len, seed) = (Tally::new(), random.below(40), random.next());
    let simulate = || {
        let tally = Arc::clone(&tally);
        Simulation::new(seed).run(async move {
            let begun = time::now();
            let spawn = |number: u64| {
                let thing = tally.make(number);
                task::spawn(async move {
                    time::sleep(Duration::from_secs(number % 7)).await;
                    task::yield_now().await;
                    (thing.number(), time::now() - begun)
                })
            };
            let mut each = task::when_each((0..len).map(spawn).collect::<Vec<_>>());
            let mut order = Vec::new();
            while let Some((_, result)) = each.next().await {
                order.push(result.expect("it does not panic"));
            }
            order
        })
    };
    let order = simulate().expect("nothing waits for ever");
    assert_eq!(order.len() as u64, len);
    for &(number, time) in &order {
        assert_eq!(time, Duration::from_secs(number % 7), "exactly");
    }
    assert_eq!(
        simulate().expect("nothing waits for ever"),
        order,
        "the same again"
    );
    tally.assert_none_left();
}

fn simulation_dropped(random: &mut Random, _: &World) {
    let (tally, len, seed) = (Tally::new(), random.below(40), random.next());
    let their_tally = Arc::clone(&tally);
    let result = Simulation::new(seed).run(async move {
        for number in 0..len {
            let thing = their_tally.make(number);
            drop(task::spawn(async move {
                if number % 2 == 0 {
                    std::future::pending::<()>().await;
                }
                thing.number()
            }));
        }
        task::yield_now().await;
        len
    });
    assert_eq!(result.expect("nothing is awaited"), len);
    tally.assert_none_left();
    let deadlock = Simulation::new(seed).run(std::future::pending::<()>());
    assert_eq!(deadlock.expect_err("nobody wakes it").seed(), seed);
}
