//! Hill climbing, switched on: that it acts, keeps to its limits, and reports its decisions. What it concludes is
//! tested beside the code, on synthetic loads.

use crate::support::{LIMIT_SECS, attempt_until, busy_micros, within};
use manyhands::diagnostics::ThreadChangeReason;
use manyhands::{Runtime, task};

const WORKERS: usize = 2;
const THREADS_MAX: usize = 5;

fn climbing(is_on: bool) -> Runtime {
    let builder = Runtime::builder().workers(WORKERS).max_threads(THREADS_MAX);
    builder.hill_climbing(is_on).build().unwrap()
}

fn is_of_climbing(reason: ThreadChangeReason) -> bool {
    matches!(
        reason,
        ThreadChangeReason::HillClimbingProbe | ThreadChangeReason::HillClimbing
    )
}

#[test]
fn other_numbers_of_threads_are_tried_within_the_limits_and_reported() {
    within(LIMIT_SECS, || {
        let runtime = climbing(true);
        let _entered = runtime.enter();
        attempt_until("a number of threads that is tried", || {
            let tasks: Vec<_> = (0..1_000).map(|_| task::run(|| busy_micros(20))).collect();
            for task in tasks {
                task.join().unwrap();
            }
            assert!(runtime.metrics().threads <= THREADS_MAX);
            let changes = runtime.thread_changes();
            let mut tried = changes
                .iter()
                .filter(|change| is_of_climbing(change.reason));
            assert!(
                tried
                    .clone()
                    .all(|change| (WORKERS..=THREADS_MAX).contains(&change.threads))
            );
            tried.any(|change| change.threads > WORKERS)
        });
    });
}

#[test]
fn nothing_is_tried_unless_asked_for() {
    within(LIMIT_SECS, || {
        let runtime = climbing(false);
        let _entered = runtime.enter();
        let tasks: Vec<_> = (0..5_000).map(|_| task::run(|| busy_micros(20))).collect();
        for task in tasks {
            task.join().unwrap();
        }
        let changes = runtime.thread_changes();
        assert!(!changes.iter().any(|change| is_of_climbing(change.reason)));
    });
}
