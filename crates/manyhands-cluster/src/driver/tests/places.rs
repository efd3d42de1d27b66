//! Workers that are more than a driver has places for.

use super::*;

#[test]
fn of_workers_that_are_made_up_no_more_are_known_than_have_a_place() {
    let mut bench = Bench::new();
    bench.hello(0, "own");
    bench.submit(0..1);
    let refused: Vec<Action> = (1..5_000)
        .flat_map(|worker| bench.hello(worker, "own"))
        .filter(|action| matches!(action, Action::Send(_, ToWorker::Refused { .. })))
        .collect();
    assert_eq!(bench.driver.workers.len(), WORKERS_MAX);
    assert_eq!(refused.len(), 5_000 - WORKERS_MAX);
    let Action::Send(_, ToWorker::Refused { reason }) = &refused[0] else {
        panic!("{refused:?}");
    };
    assert_eq!(reason, "the driver has 1024 workers, and takes no more");
    (0..5_000).for_each(|stranger| drop(bench.hello(10_000 + stranger, "other")));
    assert_eq!(bench.driver.strangers.len(), WORKERS_MAX);
}

#[test]
fn a_silent_worker_without_work_gives_way_and_comes_back() {
    let mut bench = Bench::new();
    (0..WORKERS_MAX as u64).for_each(|worker| drop(bench.hello(worker, "own")));
    bench.submit(0..1);
    bench.after(Duration::from_secs(1));
    (2..WORKERS_MAX as u64).for_each(|worker| drop(bench.beat(worker, Vec::new())));
    bench.after(SILENCE_MAX);
    let actions = bench.hello(5_000, "own");
    assert!(actions.contains(&Action::Send(WorkerId(5_000), ToWorker::Welcome)));
    assert!(bench.driver.knows(WorkerId(5_000)) && bench.driver.workers.len() == WORKERS_MAX);
    let forgotten = actions.iter().find_map(|action| match action {
        Action::Forget(worker) => Some(*worker),
        _ => None,
    });
    assert!(
        forgotten.is_some_and(|id| id.0 < 2 && !bench.driver.knows(id)),
        "{actions:?}"
    );
}
