//! The state of other threads, as the scheduler knows it.

use crate::world;

/// Names a thread. 0 names none.
pub type ThreadName = u64;

/// Names the calling thread.
pub fn current_thread() -> ThreadName {
    world::current() as u64 + 1
}

/// The system's number of a thread.
pub fn number(thread: ThreadName) -> i32 {
    i32::try_from(thread).unwrap_or(0)
}

/// The time that a thread has run.
pub fn cpu_nanos(thread: ThreadName) -> Option<u64> {
    world::nanos_run(usize::try_from(thread.checked_sub(1)?).ok()?)
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// It runs, or may be chosen to.
    Runnable,
    /// It waits.
    Asleep,
}

/// Whether a thread sleeps.
pub fn activity(thread: ThreadName) -> Option<Activity> {
    let thread = usize::try_from(thread.checked_sub(1)?).ok()?;
    world::nanos_run(thread)?;
    Some(if world::is_blocked(thread) {
        Activity::Asleep
    } else {
        Activity::Runnable
    })
}

/// Timed sleeps end when the scheduler lets them.
pub fn wake_on_time() {}
