//! Pauses between tries, and the time of day, by this machine's clock and by the engine's; durations come from the
//! laboratory's stopwatch.

use crate::{FleetError, engine::Engine};
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
    text(jiff::Timestamp::now())
}

/// A time since 1970 as [`utc`] has it.
pub(crate) fn utc_at(since_1970: Duration) -> String {
    let millis = i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX);
    text(jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX))
}

/// A number of seconds since 1970 as UTC.
pub(crate) fn utc_of(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), text)
}

fn text(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A number of seconds for people: `40 s`, `6 min`, `2.5 h`.
pub(crate) fn spoken(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        _ => format!("{:.1} h", seconds as f64 / 3_600.0),
    }
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The day that it is now, UTC.
pub(crate) fn today() -> jiff::civil::Date {
    jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
}

/// Time since 1970; zero for a clock that shows an earlier time.
pub(crate) fn since_1970() -> Duration {
    let millis = jiff::Timestamp::now().as_millisecond();
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// How far the engine's clock is before this machine's, in milliseconds; behind it if negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Skew(pub(crate) i64);

impl Skew {
    /// Asks the engine. What the question takes is the error, halved.
    pub(crate) fn of(engine: &dyn Engine) -> Result<Self, FleetError> {
        let before = since_1970();
        let theirs = engine.now()?;
        let middle = (before + since_1970()) / 2;
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Ok(Self(millis(theirs).saturating_sub(millis(middle))))
    }

    /// Now by the engine's clock, as [`utc`] has it.
    pub(crate) fn utc(self) -> String {
        let now = jiff::Timestamp::now();
        let skew = jiff::SignedDuration::from_millis(self.0);
        text(now.checked_add(skew).unwrap_or(now))
    }
}

const STEP: Duration = Duration::from_millis(100);
