//! The state of other threads of this process, as far as the system reports it: their processor time, and whether
//! they sleep.
//!
//! If the system does not report it, as under Miri, the answer is `None` and the caller does without.
//!
//! Unsafe: calls of the C library.

use crate::files;
use std::path::Path;

/// Names a thread of this process to the functions below. 0 names none. Nothing is called when a thread ends, so a name must
/// not hold a resource.
///
/// On Linux the lower half is its processor-time clock, the upper half its number in `/proc`.
pub type ThreadName = u64;

/// Names the calling thread.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn current_thread() -> ThreadName {
    // SAFETY: takes nothing, returns a handle of the calling thread.
    let thread = unsafe { libc::pthread_self() };
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the handle is of a running thread, the pointer to a local.
    let failed = unsafe { libc::pthread_getcpuclockid(thread, &raw mut clock) };
    if failed != 0 {
        return 0;
    }
    // SAFETY: takes nothing, returns a number.
    let number = unsafe { libc::gettid() };
    (u64::from(number.cast_unsigned()) << 32) | u64::from(clock.cast_unsigned())
}

/// The system's number of a thread.
pub fn number(thread: ThreadName) -> i32 {
    i32::try_from(thread >> 32).unwrap_or(0)
}

/// The name of the thread with this number, as the system knows it, cut to 15 bytes; empty if it does not say.
pub fn name(number: i32) -> String {
    let path = format!("/proc/self/task/{number}/comm");
    files::lossy(Path::new(&path)).trim_end().to_owned()
}

/// Nanoseconds that a thread has spent on a processor. `None` once it has ended.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn cpu_nanos(thread: ThreadName) -> Option<u64> {
    let clock = u32::try_from(thread & u64::from(u32::MAX))
        .ok()
        .filter(|&clock| clock != 0)?;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local; an unknown clock makes the call fail.
    let failed = unsafe { libc::clock_gettime(clock.cast_signed(), &raw mut time) };
    if failed != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    Some(seconds * 1_000_000_000 + nanos)
}

/// What a thread does, as the system's scheduler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or waits for a processor.
    Runnable,
    /// It sleeps in the kernel.
    Asleep,
}

/// Whether a thread sleeps in the kernel, rather than running or waiting for a processor.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn activity(thread: ThreadName) -> Option<Activity> {
    use std::io::Read;
    let path = format!("/proc/self/task/{}/stat", thread >> 32);
    let mut start = [0; STAT_START_LEN];
    let len = std::fs::File::open(path).ok()?.read(&mut start).ok()?;
    // The state letter follows the name, which is in parentheses and may hold any character.
    let state = start[..len].rsplit(|&byte| byte == b')').next()?;
    match state.trim_ascii_start().first()? {
        b'R' => Some(Activity::Runnable),
        b'S' | b'D' => Some(Activity::Asleep),
        _ => None,
    }
}

/// Number, name of at most 16 bytes, state letter and some more.
#[cfg(all(target_os = "linux", not(miri)))]
const STAT_START_LEN: usize = 64;

/// Makes timed sleeps of the calling thread end within microseconds of their time, instead of the 50 that
/// the system otherwise allows.
#[cfg(all(target_os = "linux", not(miri)))]
pub fn wake_on_time() {
    let slack_nanos: libc::c_ulong = 1_000;
    // SAFETY: sets a number of the calling thread; if that fails, sleeps last a little longer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_nanos) };
}

/// Names the calling thread.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn current_thread() -> ThreadName {
    0
}

/// Nanoseconds that a thread has spent on a processor.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn cpu_nanos(_thread: ThreadName) -> Option<u64> {
    None
}

/// What a thread does, as the system's scheduler sees it.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn activity(_thread: ThreadName) -> Option<Activity> {
    None
}

/// Timed sleeps keep the system's default.
#[cfg(not(all(target_os = "linux", not(miri))))]
pub fn wake_on_time() {}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
mod tests {
    use super::{Activity, activity, cpu_nanos, current_thread};
    use std::sync::mpsc;

    #[test]
    fn a_thread_s_clock_runs_while_it_computes_and_ends_with_it() {
        let thread = current_thread();
        let before = cpu_nanos(thread).unwrap();
        let mut x = 1_u64;
        while cpu_nanos(thread).unwrap() < before + 1_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let ended = std::thread::spawn(current_thread).join().unwrap();
        assert_eq!(cpu_nanos(ended), None);
        assert_eq!(cpu_nanos(0), None);
    }

    #[test]
    fn a_thread_that_waits_is_asleep_and_one_that_runs_is_not() {
        assert_eq!(activity(current_thread()), Some(Activity::Runnable));
        let (name_sender, name) = mpsc::channel();
        let (go, gate) = mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            name_sender.send(current_thread()).unwrap();
            gate.recv().unwrap();
        });
        let sleeper_name = name.recv().unwrap();
        let deadline = crate::clock::now() + std::time::Duration::from_secs(10);
        while activity(sleeper_name) != Some(Activity::Asleep) {
            assert!(
                crate::clock::now() < deadline,
                "the thread never falls asleep"
            );
        }
        go.send(()).unwrap();
        sleeper.join().unwrap();
    }
}
