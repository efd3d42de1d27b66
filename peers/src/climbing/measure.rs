//! The child's side: keeps the tasks going for the length of the window, and counts those that have ended.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use manyhands::{Runtime, task};
use manyhands_lab::contest::Sample;

use crate::loops::sha512;
use crate::tally;

/// Answers with the nanoseconds for each task that has ended.
pub(crate) fn answer(runtime: &Runtime, case: &str, window: Duration) -> Result<Sample, String> {
    let body = match case {
        "compute" => compute,
        "spin" => spin,
        "sleep" => sleep,
        _ => return Err(format!("no case '{case}'")),
    };
    let chains = Arc::new(Chains {
        body,
        is_over: AtomicBool::new(false),
        running: AtomicUsize::new(IN_FLIGHT),
    });
    let _entered = runtime.enter();
    for _ in 0..IN_FLIGHT {
        let chains = Arc::clone(&chains);
        task::run_detached(move || link(chains));
    }
    thread::sleep(window / SETTLING_PART);
    let (ended, start) = (tally::total(), Instant::now());
    thread::sleep(window);
    let nanos = start.elapsed().as_nanos() as f64;
    let ended = tally::total() - ended;
    // Release: pairs with the Acquire in `link`.
    chains.is_over.store(true, Ordering::Release);
    // Acquire: pairs with the Release in `link`; every task has ended.
    while chains.running.load(Ordering::Acquire) > 0 {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(Sample {
        checksum: 0,
        values: vec![nanos / ended.max(1) as f64],
    })
}

/// What all tasks of one measurement share.
struct Chains {
    body: fn(),
    is_over: AtomicBool,
    running: AtomicUsize,
}

/// One task, which queues its successor.
fn link(chains: Arc<Chains>) {
    (chains.body)();
    tally::count();
    // Acquire: pairs with the store in `answer`.
    if chains.is_over.load(Ordering::Acquire) {
        // Release: pairs with the Acquire in `answer`.
        chains.running.fetch_sub(1, Ordering::Release);
    } else {
        task::run_detached(move || link(chains));
    }
}

fn compute() {
    for _ in 0..HASHES {
        black_box(sha512());
    }
}

fn spin() {
    let start = Instant::now();
    while start.elapsed() < DEVICE {
        thread::yield_now();
    }
}

fn sleep() {
    for _ in 0..2 * HASHES {
        black_box(sha512());
    }
    thread::sleep(DEVICE);
}

/// Tasks that are queued or run.
const IN_FLIGHT: usize = 64;
/// About 25 µs of SHA-512.
const HASHES: usize = 150;
const DEVICE: Duration = Duration::from_millis(1);
/// Before the window, this part of it: threads start and the climber takes its first samples.
const SETTLING_PART: u32 = 2;
