//! The completion contenders share: each thread counts the closures and tasks it ran in a cache line
//! of its own, and the waiter adds the lines up.
//!
//! One shared counter would cost each closure 10–30 ns of contention, as much as some contenders
//! cost altogether; this is about one nanosecond, and the same for all, also for those whose
//! interface has a completion of its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// One thread's count, alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicUsize);

static LINES: Mutex<Vec<&'static Line>> = Mutex::new(Vec::new());

thread_local! {
    // A line is never freed: its count matters after its thread has ended.
    static LINE: &'static Line = register();
}

fn register() -> &'static Line {
    let line: &'static Line = Box::leak(Box::default());
    lines().push(line);
    line
}

/// The body of every closure.
#[inline]
pub(crate) fn count() {
    LINE.with(|line| {
        // Relaxed: only this thread writes the line, so a load and a store lose nothing.
        let counted = line.0.load(Ordering::Relaxed);
        line.0.store(counted + 1, Ordering::Relaxed);
    });
}

/// How many closures have run since the process began.
pub(crate) fn total() -> usize {
    // Relaxed: nothing but the number is read.
    lines()
        .iter()
        .map(|line| line.0.load(Ordering::Relaxed))
        .sum()
}

/// Called once by the thread that hands over the closures of a measurement, after the last.
pub(crate) fn all_handed_over() {
    // Relaxed: nothing but the number is read.
    RUN_BY_THEN.store(total(), Ordering::Relaxed);
}

/// How many had run since the process began when all of the last measurement had been handed over. Sleeps until
/// they have been.
pub(crate) fn run_by_then() -> usize {
    loop {
        // Relaxed: as above.
        match RUN_BY_THEN.swap(usize::MAX, Ordering::Relaxed) {
            usize::MAX => thread::sleep(Duration::from_micros(200)),
            count => return count,
        }
    }
}

static RUN_BY_THEN: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Sleeps until that many have run, looking every 200 µs: too seldom to cost, often enough for
/// measurements of 50 ms and more.
pub(crate) fn wait_for(count: usize) {
    while total() < count {
        thread::sleep(Duration::from_micros(200));
    }
}

fn lines() -> std::sync::MutexGuard<'static, Vec<&'static Line>> {
    LINES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
