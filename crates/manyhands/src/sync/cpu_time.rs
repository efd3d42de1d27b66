//! Processor time used by single threads and by the process.
//!
//! Where the system does not tell, the answer is `None` and whoever asked does without.
//!
//! Unsafe: three calls of the C library.

/// Names the calling thread's processor-time clock; 0 when there is none.
#[cfg(target_os = "linux")]
pub(crate) fn current_thread_clock() -> u64 {
    // SAFETY: takes nothing, returns a handle of the calling thread.
    let thread = unsafe { libc::pthread_self() };
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the handle is of a live thread, the pointer to a local.
    let failed = unsafe { libc::pthread_getcpuclockid(thread, &raw mut clock) };
    if failed == 0 {
        u64::from(clock.cast_unsigned())
    } else {
        0
    }
}

/// Nanoseconds that the thread behind `clock` has spent on a processor. `None` once it has ended.
#[cfg(target_os = "linux")]
pub(crate) fn thread_nanos(clock: u64) -> Option<u64> {
    let clock = u32::try_from(clock).ok().filter(|&clock| clock != 0)?;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local; an unknown clock makes the call fail.
    let failed = unsafe { libc::clock_gettime(clock.cast_signed(), &raw mut time) };
    if failed != 0 {
        return None;
    }
    let (seconds, nanos) = (
        u64::try_from(time.tv_sec).ok()?,
        u64::try_from(time.tv_nsec).ok()?,
    );
    Some(seconds * 1_000_000_000 + nanos)
}

/// Names the calling thread's processor-time clock; 0 when there is none.
#[cfg(not(target_os = "linux"))]
pub(crate) fn current_thread_clock() -> u64 {
    0
}

/// Nanoseconds that the thread behind `clock` has spent on a processor.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_nanos(_clock: u64) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{current_thread_clock, thread_nanos};

    #[test]
    fn a_thread_s_clock_runs_while_it_computes_and_ends_with_it() {
        let clock = current_thread_clock();
        let before = thread_nanos(clock).unwrap();
        let mut x = 1_u64;
        while thread_nanos(clock).unwrap() < before + 1_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let ended = std::thread::spawn(current_thread_clock).join().unwrap();
        assert_eq!(thread_nanos(ended), None);
        assert_eq!(thread_nanos(0), None);
    }
}
