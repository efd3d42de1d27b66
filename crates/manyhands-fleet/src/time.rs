//! Pauses between tries, and the time of day; durations come from the laboratory's stopwatch.

use manyhands_lab::{clock::Stopwatch, run::Interrupt};
use std::{thread, time::Duration};

/// Waits before something is tried again; ends early when the command is asked to end.
#[expect(
    clippy::disallowed_methods,
    reason = "what is waited for is in another process, which is asked again after the pause"
)]
pub(crate) fn pause(duration: Duration, stop: &Interrupt) {
    let watch = Stopwatch::start();
    while !stop.is_set() {
        let left = duration.saturating_sub(watch.elapsed());
        if left.is_zero() {
            break;
        }
        thread::sleep(left.min(STEP));
    }
}

/// Now, UTC, RFC 3339, to the millisecond.
pub(crate) fn utc() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}

const STEP: Duration = Duration::from_millis(100);
