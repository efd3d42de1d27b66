//! The child's side: one flood of blocking closures, and who of it and beside it runs when.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::starvation::Pool;
use manyhands_lab::contest::Sample;

/// Answers with nanoseconds: `sleeps` from the short task's handing over to its run, and from the first
/// sleep's beginning to the last one's end; `gate` from the first handing over to the last beginning, or
/// infinity.
pub(crate) fn answer(pool: &impl Pool, case: &str) -> Result<Sample, String> {
    warm_up(pool);
    match case {
        "sleeps" => Ok(sleeps(pool)),
        "gate" => Ok(gate(pool)),
        _ => Err(format!("no case '{case}'")),
    }
}

/// The workers' threads have started.
fn warm_up(pool: &impl Pool) {
    let events = Events::default();
    for _ in 0..2 {
        let done = events.clone();
        pool.spawn(move || done.happen());
    }
    events.wait_for(2, FOREVER);
}

fn sleeps(pool: &impl Pool) -> Sample {
    let (begun, ended, short) = (Events::default(), Events::default(), Events::default());
    for _ in 0..SLEEPERS {
        let (begun, ended) = (begun.clone(), ended.clone());
        pool.spawn_blocking(move || {
            begun.happen();
            thread::sleep(SLEEP);
            ended.happen();
        });
    }
    let sent = Instant::now();
    let done = short.clone();
    pool.spawn(move || done.happen());
    let ended = ended.wait_for(SLEEPERS, FOREVER);
    let short = short.wait_for(1, FOREVER);
    let begun = begun.wait_for(SLEEPERS, FOREVER);
    let nanos = |from: Instant, to: Instant| to.duration_since(from).as_secs_f64() * 1e9;
    Sample {
        checksum: ended.len() as u64,
        values: vec![nanos(sent, short[0]), nanos(begun[0], ended[SLEEPERS - 1])],
    }
}

fn gate(pool: &impl Pool) -> Sample {
    let (begun, ended, open) = (Events::default(), Events::default(), Events::default());
    let start = Instant::now();
    for _ in 0..GATED {
        let (begun, ended, open) = (begun.clone(), ended.clone(), open.clone());
        pool.spawn_blocking(move || {
            begun.happen();
            open.wait_for(1, FOREVER);
            ended.happen();
        });
    }
    let first = begun.wait_for(GATED, PATIENCE);
    open.happen();
    let ended = ended.wait_for(GATED, FOREVER);
    let last = first.get(GATED - 1);
    Sample {
        checksum: ended.len() as u64,
        values: vec![last.map_or(f64::INFINITY, |last| {
            last.duration_since(start).as_secs_f64() * 1e9
        })],
    }
}

/// Times at which something happened, and who waits for that.
#[derive(Clone, Debug, Default)]
struct Events(Arc<(Mutex<Vec<Instant>>, Condvar)>);

impl Events {
    fn happen(&self) {
        let (times, changed) = &*self.0;
        let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
        changed.notify_all();
    }

    /// The times, when there are `count` of them or `patience` has ended; in their order.
    fn wait_for(&self, count: usize, patience: Duration) -> Vec<Instant> {
        let (times, changed) = &*self.0;
        let times = times.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(times, patience, |times| times.len() < count);
        waited.unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}

const SLEEPERS: usize = 64;
const SLEEP: Duration = Duration::from_millis(50);
/// 120 more than the workers.
const GATED: usize = 122;
const PATIENCE: Duration = Duration::from_secs(2);
/// The parent ends a child that takes so long.
const FOREVER: Duration = Duration::from_secs(600);
