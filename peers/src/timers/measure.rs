//! The child's side: one measurement of time, lateness, CPU time and memory.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::join_all;

use crate::timers::slice::JoinSlice;
use crate::timers::{Timers, latest};
use manyhands_lab::contest::{CostMeter, Sample};

/// Answers `SHAPE COUNT MILLIS` with nanoseconds from the first step to the last, nanoseconds by
/// which the last end is later than the last deadline, nanoseconds of CPU time, and megabytes of
/// memory at the peak above those at the start.
pub(crate) fn answer<T: Timers>(pool: &T, case: &str) -> Result<Sample, String> {
    let words: Vec<&str> = case.split(' ').collect();
    let [shape, count, millis] = words[..] else {
        return Err(format!("no case '{case}'"));
    };
    let count = count.parse().map_err(|_| format!("no count '{count}'"))?;
    let millis = millis.parse().map_err(|_| format!("no time '{millis}'"))?;
    let run = match shape {
        "tasks" => in_tasks::<T>,
        "join_all" => joined::<T>,
        "slice" => in_slice::<T>,
        _ => return Err(format!("no shape '{shape}'")),
    };
    // The first sleeps start the threads and grow what does not depend on the count.
    run(pool, WARM_UP, 1);

    let meter = CostMeter::start()?;
    run(pool, count, millis);
    let cost = meter.stop()?;

    Ok(Sample {
        checksum: latest::count(),
        values: vec![
            cost.nanos,
            latest::nanos_between() - millis as f64 * 1e6,
            cost.cpu_nanos,
            cost.megabytes,
        ],
    })
}

/// A task for each sleep.
fn in_tasks<T: Timers>(pool: &T, count: usize, millis: u64) {
    let mut handles = Vec::with_capacity(count);
    // Not captured: a task written by hand has its time in the code, not in its memory.
    TASK_SLEEP_MILLIS.store(millis, Ordering::Relaxed);
    for _ in 0..count {
        handles.push(pool.spawn(async {
            latest::note_begin();
            let millis = TASK_SLEEP_MILLIS.load(Ordering::Relaxed);
            T::sleep(Duration::from_millis(millis)).await;
            latest::note_end();
        }));
    }
    pool.block_on(async {
        for handle in handles {
            handle.await;
        }
    });
}

/// All in the future that the calling thread runs, as a main function would, by the futures crate.
fn joined<T: Timers>(pool: &T, count: usize, millis: u64) {
    pool.block_on(async {
        let all = join_all(sleeps::<T>(count, millis));
        latest::note_begin();
        all.await;
        latest::note_end();
    });
}

/// All in one task, in one slice.
fn in_slice<T: Timers>(pool: &T, count: usize, millis: u64) {
    let task = pool.spawn(async move {
        let all = JoinSlice::new(sleeps::<T>(count, millis));
        latest::note_begin();
        all.await;
        latest::note_end();
    });
    pool.block_on(task);
}

fn sleeps<T: Timers>(count: usize, millis: u64) -> impl Iterator<Item = T::Sleep> {
    (0..count).map(move |_| T::sleep(Duration::from_millis(millis)))
}

/// How long the sleep of a task is.
static TASK_SLEEP_MILLIS: AtomicU64 = AtomicU64::new(0);
const WARM_UP: usize = 1_000;
