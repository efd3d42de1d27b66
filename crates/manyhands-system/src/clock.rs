//! Two clocks: a tick counter for decisions taken every microsecond, and the system clock.
//!
//! A tick is one step of the processor's time-stamp counter where there is one, else a nanosecond, as under Miri,
//! whose clock counts what it has run.
//! Reading it is cheap, and it is never used for correctness: a counter that jumps only makes a
//! loop choose a worse block size. Elapsed time is the distance of two readings (`abs_diff`): when the counter jumps
//! back, after a migration of the machine or from one processor to another, a short wait ends early and is not
//! prolonged.
//!
//! Unsafe: reading the time-stamp counter is an intrinsic.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The tick counter now.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the instruction exists on every x86-64 processor and touches no memory.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return u64::try_from(now().duration_since(ORIGIN.0).as_nanos()).unwrap_or(u64::MAX);
}

/// Ticks in `nanos` nanoseconds, by the latest calibration.
#[inline]
pub fn ticks_in(nanos: u64) -> u64 {
    // Relaxed: a stale calibration is a slightly worse guess.
    (nanos * TICKS_PER_1024_NANOS.load(Ordering::Relaxed)) >> 10
}

/// Nanoseconds in `ticks` ticks, by the latest calibration.
pub fn nanos_in(ticks: u64) -> u64 {
    // Relaxed: as above.
    let ratio = TICKS_PER_1024_NANOS.load(Ordering::Relaxed);
    let nanos = (u128::from(ticks) << 10) / u128::from(ratio);
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// The system's monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub fn now() -> Instant {
    Instant::now()
}

/// When this process first read the clock; no reading here is earlier.
pub fn first() -> Instant {
    ORIGIN.0
}

/// Compares ticks with the system clock since the first call and stores the ratio.
///
/// The monitor calls this periodically; the longer the time since the first call, the better the ratio.
pub fn calibrate() {
    let (first_instant, first_ticks) = *ORIGIN;
    let elapsed = now().duration_since(first_instant);
    if elapsed < CALIBRATION_MIN {
        return;
    }
    let passed = u128::from(ticks().saturating_sub(first_ticks));
    let ratio = (passed << 10) / elapsed.as_nanos();
    if let Ok(ratio) = u64::try_from(ratio) {
        let ratio = ratio.clamp(RATIO_MIN, RATIO_MAX);
        // Relaxed: the value stands alone.
        TICKS_PER_1024_NANOS.store(ratio, Ordering::Relaxed);
    }
}

/// The pair of readings that calibration starts from.
static ORIGIN: LazyLock<(Instant, u64)> =
    LazyLock::new(|| (now(), if HAS_COUNTER { ticks() } else { 0 }));

const CALIBRATION_MIN: Duration = Duration::from_micros(200);

/// Between 0.1 and 16 GHz: a ratio outside says that the counter has jumped.
const RATIO_MIN: u64 = 100;
const RATIO_MAX: u64 = 16 << 10;

/// Until the first calibration x86-64 counts as 2.5 GHz; elsewhere a tick is a nanosecond.
static TICKS_PER_1024_NANOS: AtomicU64 = AtomicU64::new(if HAS_COUNTER { 2560 } else { 1024 });

const HAS_COUNTER: bool = cfg!(all(target_arch = "x86_64", not(miri)));

#[cfg(test)]
mod tests {
    use super::{calibrate, now, ticks, ticks_in};
    use std::time::Duration;

    #[test]
    fn calibrated_ticks_agree_with_the_system_clock() {
        calibrate();
        let (start, start_ticks) = (now(), ticks());
        while now().duration_since(start) < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        calibrate();
        let passed = ticks() - start_ticks;
        let by_clock = ticks_in(u64::try_from(now().duration_since(start).as_nanos()).unwrap());
        assert!(
            passed > by_clock / 2 && passed < by_clock * 2,
            "{passed} {by_clock}"
        );
    }
}
