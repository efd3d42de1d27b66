//! Bodies that block on the pool's threads, declared and undeclared.
#![expect(
    clippy::disallowed_methods,
    reason = "sleeping is one of the ways to block; nothing is synchronised by it"
)]

use crate::counted::Visits;
use crate::delays::random::Random;
use crate::table::{Area, Kind};
use crate::world::World;
use manyhands::{join, parallel, scope, task, time};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

pub(crate) const KINDS: Area = &[
    Kind {
        name: "declared",
        step: declared,
    },
    Kind {
        name: "undeclared",
        step: undeclared,
    },
    Kind {
        name: "bodies that wait for each other, declared",
        step: barrier_declared,
    },
    Kind {
        name: "tasks that wait for each other, undeclared",
        step: barrier_undeclared,
    },
    Kind {
        name: "in loops, joins and scopes",
        step: inside,
    },
];

fn micros(random: &mut Random) -> Duration {
    Duration::from_micros(random.below(1_500))
}

fn declared(random: &mut Random, _: &World) {
    let tasks: Vec<_> = (0..random.below(12))
        .map(|number| {
            let pause = micros(random);
            task::run(move || {
                task::blocking(|| {
                    thread::sleep(pause);
                    number
                })
            })
        })
        .collect();
    for (number, task) in (0..).zip(tasks) {
        assert_eq!(task.join().expect("it does not panic"), number);
    }
}

fn undeclared(random: &mut Random, _: &World) {
    let tasks: Vec<_> = (0..random.below(12))
        .map(|number| {
            let pause = micros(random);
            task::run(move || {
                thread::sleep(pause);
                number
            })
        })
        .collect();
    for (number, task) in (0..).zip(tasks) {
        assert_eq!(task.join().expect("it does not panic"), number);
    }
}

fn barrier_declared(random: &mut Random, _: &World) {
    let count = 1 + random.length(8);
    let barrier = Arc::new(Barrier::new(count));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            task::spawn(async move { task::blocking(|| barrier.wait().is_leader()) })
        })
        .collect();
    let leaders = tasks
        .into_iter()
        .filter(|_| true)
        .map(|task| task.join().expect("it does not panic"));
    assert_eq!(leaders.filter(|&is_leader| is_leader).count(), 1);
}

fn barrier_undeclared(random: &mut Random, _: &World) {
    let count = 1 + random.length(6);
    let barrier = Arc::new(Barrier::new(count));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let barrier = Arc::clone(&barrier);
            task::spawn(async move { barrier.wait().is_leader() })
        })
        .collect();
    let leaders = tasks
        .into_iter()
        .map(|task| task.join().expect("it does not panic"));
    assert_eq!(leaders.filter(|&is_leader| is_leader).count(), 1);
}

fn inside(random: &mut Random, _: &World) {
    let (pause, len) = (micros(random) / 4, random.below(12));
    let visits = Visits::new(len + 4);
    parallel::for_each(0..len, |index| {
        if index % 2 == 0 {
            task::blocking(|| thread::sleep(pause));
        } else {
            thread::sleep(pause);
        }
        visits.visit(index);
    });
    let (sender, receiver) = mpsc::channel();
    let first = {
        let visits = &visits;
        move || {
            visits.visit(len);
            receiver.recv().expect("the other half sends")
        }
    };
    let second = move || {
        time::sleep_blocking(pause);
        sender.send(7).expect("the other half waits");
    };
    let (seven, ()) = join(first, second);
    assert_eq!(seven, 7);
    scope(|s| {
        for index in 1..4 {
            let visits = &visits;
            s.spawn(move |_| {
                thread::sleep(pause);
                visits.visit(len + index);
            });
        }
    });
    visits.assert_all();
}
