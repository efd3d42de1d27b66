//! Simulations that are looked at while they run.

use crate::support::{in_state, one_with_connections, waiting};
use manyhands::inspect::{self, TaskState};
use manyhands::simulation::Simulation;
use manyhands::{diagnostics, task, time};
use manyhands_inspect::Client;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const SEEDS: u64 = 30;

/// A task that is the only one that can run, and is queued again and again.
async fn yield_often() {
    let task = task::spawn(async {
        for _ in 0..20_000 {
            task::yield_now().await;
        }
    });
    task.await.unwrap();
}

#[test]
fn a_look_at_its_queues_is_no_deadlock_of_a_simulation() {
    diagnostics::open();
    let is_over = AtomicBool::new(false);
    let ran = thread::scope(|scope| {
        // Counts what is queued, under a lock that takers take, too.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(inspect::snapshot());
            }
        });
        let ran: Vec<_> = (0..SEEDS)
            .map(|seed| Simulation::new(seed).run(yield_often()))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    for (seed, ended) in ran.into_iter().enumerate() {
        assert_eq!(ended, Ok(()), "seed {seed}");
    }
}

#[test]
fn a_simulation_waits_for_a_frozen_task_and_its_clock_stands_still() {
    const NAME: &str = "simulated: frozen";
    let _one = one_with_connections();
    diagnostics::allow_control();
    let mut client = Client::connect(&diagnostics::serve().unwrap()).unwrap();
    let (frozen, is_frozen) = mpsc::channel();
    let ran = thread::scope(|scope| {
        scope.spawn(move || {
            let number = waiting(NAME).number.to_string();
            client.freeze_task(&number).unwrap();
            frozen.send(()).unwrap();
            in_state(NAME, TaskState::Frozen);
            client.thaw_task(&number).unwrap();
        });
        Simulation::new(7).run(async move {
            let begin = time::now();
            let (completer, completion) = task::completion();
            let clerk = task::Builder::new().name(NAME).spawn(async move {
                completion.await.unwrap();
                time::now() - begin
            });
            while is_frozen.try_recv().is_err() {
                task::yield_now().await;
            }
            completer.complete(());
            let later = time::sleep(Duration::from_secs(60));
            let at = clerk.await.unwrap();
            later.await;
            (at, time::now() - begin)
        })
    });
    assert_eq!(ran, Ok((Duration::ZERO, Duration::from_secs(60))));
}
