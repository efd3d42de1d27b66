//! When the last sleep began and when the last one ended, noted without contention: each thread
//! keeps its own latest times in cache lines of its own, as in `tally`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One thread's latest times, in nanoseconds since the process's first, alone on their cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line {
    began: AtomicU64,
    ended: AtomicU64,
    /// How many have ended.
    count: AtomicU64,
}

static LINES: Mutex<Vec<&'static Line>> = Mutex::new(Vec::new());
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    // A line is never freed: its times matter after its thread has ended.
    static LINE: &'static Line = register();
}

fn register() -> &'static Line {
    let line: &'static Line = Box::leak(Box::default());
    lines().push(line);
    line
}

/// A sleep begins on this thread.
pub(super) fn note_begin() {
    // Relaxed, here and below: only this thread writes the line, and who reads it has waited for
    // the tasks.
    LINE.with(|line| line.began.store(now_nanos(), Ordering::Relaxed));
}

/// A sleep has ended on this thread.
pub(super) fn note_end() {
    LINE.with(|line| {
        line.ended.store(now_nanos(), Ordering::Relaxed);
        let count = line.count.load(Ordering::Relaxed);
        line.count.store(count + 1, Ordering::Relaxed);
    });
}

/// Nanoseconds from the last begin to the last end.
pub(super) fn nanos_between() -> f64 {
    let latest = |time: fn(&Line) -> &AtomicU64| {
        let times = lines();
        let times = times.iter().map(|line| time(line).load(Ordering::Relaxed));
        times.max().unwrap_or(0)
    };
    latest(|line| &line.ended) as f64 - latest(|line| &line.began) as f64
}

/// How many have ended.
pub(super) fn count() -> u64 {
    let lines = lines();
    let counts = lines.iter().map(|line| line.count.load(Ordering::Relaxed));
    counts.sum()
}

fn now_nanos() -> u64 {
    u64::try_from(ORIGIN.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn lines() -> MutexGuard<'static, Vec<&'static Line>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}
