//! Simulated time: a number that grows with each step and each reading. A tick is a nanosecond.

use crate::world;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The tick counter now.
pub fn ticks() -> u64 {
    world::read_clock()
}

/// Ticks in `nanos` nanoseconds.
pub fn ticks_in(nanos: u64) -> u64 {
    nanos
}

/// The current time.
pub fn now() -> Instant {
    first() + Duration::from_nanos(world::read_clock())
}

/// When each schedule begins.
#[expect(
    clippy::disallowed_methods,
    reason = "only what has passed since then is looked at, and that is counted"
)]
pub fn first() -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    *FIRST.get_or_init(Instant::now)
}

/// There is one clock.
pub fn calibrate() {}
