//! One window of measuring, in the child.
//!
//! Calls that are much shorter than the clock's reading are timed in batches, so that the clock is
//! a negligible part; parked calls are timed one by one, and the clock's own part is taken off.

use std::thread;
use std::time::Duration;

use manyhands_lab::clock::Stopwatch;
use manyhands_lab::stats;

/// Mean nanoseconds per call, calls back to back for the length of the window, after a warm-up of
/// a sixteenth of it. `known_nanos` of an earlier window, if longer than the window, saves the
/// warm-up call.
pub(crate) fn back_to_back(
    length: Duration,
    known_nanos: Option<f64>,
    mut call: impl FnMut(),
) -> f64 {
    let is_long = known_nanos.is_some_and(|nanos| nanos >= length.as_secs_f64() * 1e9);
    let batch = if is_long {
        1
    } else {
        warm_up(length / 16, &mut call)
    };
    let start = Stopwatch::start();
    let mut calls = 0_u32;
    loop {
        for _ in 0..batch {
            call();
        }
        calls += batch;
        if start.elapsed() >= length {
            return start.nanos() / f64::from(calls);
        }
    }
}

/// Calls for the given time and returns how many calls make a batch.
fn warm_up(length: Duration, call: &mut impl FnMut()) -> u32 {
    let start = Stopwatch::start();
    let mut batch = 1;
    loop {
        let batch_start = Stopwatch::start();
        for _ in 0..batch {
            call();
        }
        let is_short = batch_start.elapsed() < BATCH_LEAST;
        if start.elapsed() >= length && !is_short {
            return batch;
        }
        if is_short {
            batch *= 2;
        }
    }
}

/// Single calls after pauses: medians, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    /// Of the calls after a pause.
    pub(crate) nanos: f64,
    /// Of calls that follow one of those at once; `None` if calls take so long that it makes no difference.
    pub(crate) again: Option<f64>,
}

/// Times single calls, each after a pause in which the pool goes to sleep; at least `PARKED_CALLS_LEAST` of them,
/// one alone if it takes long. Then, for half as long, calls that follow such a call at once.
pub(crate) fn parked(length: Duration, mut call: impl FnMut()) -> Parked {
    let overhead = reading_nanos();
    let mut time = || {
        let start = Stopwatch::start();
        call();
        (start.nanos() - overhead).max(CLOCK_STEP_NANOS)
    };
    let mut nanos = Vec::new();
    let start = Stopwatch::start();
    loop {
        thread::sleep(PAUSE);
        let took = time();
        nanos.push(took);
        let is_enough = nanos.len() >= PARKED_CALLS_LEAST || took >= LONG_CALL_NANOS;
        if is_enough && start.elapsed() >= length {
            break;
        }
    }
    let nanos = stats::median(&nanos).unwrap_or(f64::NAN);
    let mut again = Vec::new();
    let start = Stopwatch::start();
    while nanos < LONG_CALL_NANOS && start.elapsed() < length / 2 {
        thread::sleep(PAUSE);
        time();
        again.push(time());
    }
    Parked {
        nanos,
        again: stats::median(&again),
    }
}

/// The least that two successive readings of the clock differ by, in nanoseconds: the part of a single timed
/// call that is the clock's own.
fn reading_nanos() -> f64 {
    let readings = (0..1_000).map(|_| Stopwatch::start().nanos());
    readings.fold(f64::INFINITY, f64::min)
}

/// Long against the 25 ns of reading the clock, short against any window.
const BATCH_LEAST: Duration = Duration::from_micros(50);
/// The pause before each parked call, not timed.
const PAUSE: Duration = Duration::from_millis(2);
/// The clock counts in steps of about this; a shorter single call cannot be distinguished from none.
const CLOCK_STEP_NANOS: f64 = 10.0;
const PARKED_CALLS_LEAST: usize = 5;
/// A call this long does not notice how it began; one per window is enough.
const LONG_CALL_NANOS: f64 = 2e7;
