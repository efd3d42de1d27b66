//! The clocks: wall time, and the CPU time of the whole process.

use std::time::{Duration, Instant};

/// Reads the wall clock.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since `start`.
pub(crate) fn nanos_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9
}

/// What two successive readings of the wall clock differ by, in nanoseconds: the part of a single
/// timed call that is the clock's own.
pub(crate) fn overhead_nanos() -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..1_000 {
        least = least.min(nanos_since(now()));
    }
    least
}

/// CPU time used so far by all threads of this process.
pub(crate) fn process_cpu() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid, exclusively borrowed timespec.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "the process CPU clock cannot be read");
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}
