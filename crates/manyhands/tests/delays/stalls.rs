//! Stalls threads of this process at random instants: a signal handler sleeps on them.
#![expect(unsafe_code, reason = "calls of the C library")]

use super::random::Random;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// A stall every few milliseconds, of at most one.
    Light,
    /// A stall every few hundred microseconds, of at most five milliseconds.
    Heavy,
}

/// While this value exists, threads of this process are stalled.
pub(crate) struct Stalls {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stalls {
    pub(crate) fn begin(seed: u64, strength: Strength) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (longest_micros, pause_micros) = match strength {
            Strength::Light => (1_000, 4_000),
            Strength::Heavy => (5_000, 300),
        };
        let thread = thread::Builder::new().name("stalls".to_owned()).spawn({
            let (is_over, random) = (Arc::clone(&is_over), Random::new(seed));
            move || stall_others(&is_over, random, (longest_micros, pause_micros))
        });
        Self {
            is_over,
            thread: Some(thread.expect("a thread can be started")),
        }
    }
}

impl fmt::Debug for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = STALLS.load(Ordering::Relaxed);
        f.debug_struct("Stalls")
            .field("count", &count)
            .finish_non_exhaustive()
    }
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("it only sends signals");
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the delays are random times")]
fn stall_others(is_over: &AtomicBool, mut random: Random, (longest, pause): (u64, u64)) {
    if !system::install() {
        return;
    }
    let mut threads = Vec::new();
    for round in 0_u64.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        if round.is_multiple_of(8) {
            threads = system::other_threads();
        }
        let micros = length(&mut random, longest);
        NANOS.store(micros * 1_000, Ordering::Relaxed);
        // Sometimes two at the same time.
        for _ in 0..if random.is_one_in(4) { 2 } else { 1 } {
            stall_one(&threads, &mut random);
        }
        // Signals of a thread queue up, so none is sent before the last are over: else the thread would do nothing
        // else.
        thread::sleep(Duration::from_micros(micros + random.below(pause)));
    }
}

/// From 10 µs to the longest; short ones as often as long ones on a logarithmic scale.
fn length(random: &mut Random, longest: u64) -> u64 {
    let shortest = 10 << random.below(10);
    (shortest + random.below(shortest)).min(longest)
}

fn stall_one(threads: &[i32], random: &mut Random) {
    if !threads.is_empty() {
        // Prefers a running thread: most threads of a large pool sleep.
        let candidates = [(); 3].map(|()| random.pick(threads));
        let running = candidates.into_iter().find(|&it| system::is_running(it));
        system::signal(running.unwrap_or(candidates[0]));
        STALLS.fetch_add(1, Ordering::Relaxed);
    }
}

static STALLS: AtomicU64 = AtomicU64::new(0);
/// The longest stall that begins now.
static NANOS: AtomicU64 = AtomicU64::new(0);

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    //! Signals of Linux.

    use super::{NANOS, Ordering};
    use libc::{c_int, pid_t};
    use std::mem::MaybeUninit;
    use std::{fs, ptr};

    /// Installs the handler; false if the system refuses.
    pub(super) fn install() -> bool {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: zero is a value of each of its fields.
        let action = unsafe { action.assume_init_mut() };
        action.sa_sigaction = stall as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler calls only what is async-signal-safe; the action is initialised and outlives the call.
        unsafe { libc::sigaction(number(), action, ptr::null_mut()) == 0 }
    }

    /// A signal that nothing else uses.
    fn number() -> c_int {
        libc::SIGRTMIN() + 4
    }

    extern "C" fn stall(_signal: c_int) {
        // An atomic: allowed in a handler.
        let nanos = NANOS.load(Ordering::Relaxed);
        let pause = libc::timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(nanos).unwrap_or(0),
        };
        // SAFETY: the address of this thread's own number, which is always there.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above; no other code has a reference to it.
        let before = unsafe { errno.read() };
        // SAFETY: async-signal-safe; the time is less than a second.
        unsafe { libc::nanosleep(&raw const pause, ptr::null_mut()) };
        // SAFETY: as the read. What was interrupted finds the number as it left it.
        unsafe { errno.write(before) };
    }

    /// All threads of this process but the caller.
    pub(super) fn other_threads() -> Vec<pid_t> {
        // SAFETY: has no conditions.
        let own = unsafe { libc::gettid() };
        let Ok(threads) = fs::read_dir("/proc/self/task") else {
            return Vec::new();
        };
        let names = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
        let numbers = names.filter_map(|name| name.parse().ok());
        numbers.filter(|&number| number != own).collect()
    }

    /// Whether a thread has, or waits for, a processor.
    pub(super) fn is_running(thread: pid_t) -> bool {
        let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
        stat.is_ok_and(|stat| stat.contains(") R "))
    }

    /// Stalls a thread, which may have ended.
    pub(super) fn signal(thread: pid_t) {
        // SAFETY: has no conditions.
        let process = unsafe { libc::getpid() };
        // SAFETY: a thread that has ended is an error; one of another process is not reached.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, number()) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    //! Nothing is stalled here.

    pub(super) fn install() -> bool {
        false
    }

    pub(super) fn other_threads() -> Vec<i32> {
        Vec::new()
    }

    pub(super) fn is_running(_thread: i32) -> bool {
        false
    }

    pub(super) fn signal(_thread: i32) {}
}
