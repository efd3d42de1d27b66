//! Threads that the system has refused, and the tries to start them again.
//!
//! A start is refused for a moment where a limit of processes or of memory is reached. The monitor tries again at each
//! sweep in which work waits, and so does new work, but not more often than once in a millisecond. Perhaps there is no
//! monitor, because its thread is refused too. So a runtime that was refused a thread is listed. While the list has an
//! entry each thread that enters a runtime, and each that waits in this library, tries to start the monitor every few
//! milliseconds. If that is refused it does what the monitor would: it starts workers, fires timers and reports a stall.
//! After ten seconds threads that wait for the pool's work panic, if the pool has no thread: what they wait for may never
//! come.
//!
//! A thread that waits in a channel, and was asleep before the list had an entry, does not try. Nothing is lost by that as
//! long as any other thread does.
//!
//! Not here: the list itself (`refused_list.rs`).

use crate::runtime::policy::{GIVEN_UP_AFTER, STALLED_AFTER, TRIES_APART, TRIES_BEFORE_HELPING};
use crate::runtime::worker::refused_list::RefusedList;
use crate::runtime::{Pool, RuntimeInner, Stall, WorkerSlot, current, waking};
use crate::sync::atomic::AtomicBool;
use crate::sync::{Mutex, Parker, global};
use std::sync::{Arc, Weak};
use std::time::Duration;

impl RuntimeInner {
    /// The system has refused a thread, or would just now: others are to try again. The caller holds no lock.
    pub(crate) fn note_refused(&self) {
        self.refusal.note();
        self.list();
    }

    fn list(&self) {
        REFUSED.add(self.weak(), Weak::ptr_eq, WorkerSlot::unpark_all);
    }

    /// Starts the monitor if that was refused, and in its place the worker that is needed.
    fn try_again(&self) {
        if self.ending.has_ended() {
            return;
        }
        // On or off, for the outside's timers.
        self.rouse_monitor();
        if !self.idle.is_inactive() || self.has_visible_work(None) {
            self.arm_monitor();
        }
        if !self.has_monitor() {
            waking::use_room(self);
        } else if self.lacks_thread() {
            // The monitor tries.
            self.list();
        }
    }

    /// After [`try_again`](Self::try_again): fires timers and reports in place of the monitor, if its thread is refused
    /// too. Both call code of the user, so the caller holds no lock.
    fn stand_in(&self) {
        if !self.lacks_thread() {
            self.refusal.forget();
        }
        if self.ending.has_ended() || self.has_monitor() {
            return;
        }
        let _ = self.fire_outside_timers();
        let stalls = self.lacks_thread() && self.idle.running() == 0;
        if stalls && self.refusal.lasts() >= STALLED_AFTER && self.refusal.begin_report() {
            self.settings.report_stall(&Stall::of(self));
        }
    }

    /// Whether work waits, and the last thread was refused.
    fn lacks_thread(&self) -> bool {
        self.refusal.is_refused() && self.has_visible_work(None)
    }
}

/// For a thread that waits for what may be the pool's work.
///
/// # Panics
/// If it [may wait for ever](is_given_up).
#[inline]
pub(crate) fn panic_if_given_up() {
    assert!(
        !is_given_up(),
        "the system has refused every thread of this runtime for ten seconds, and work waits for one"
    );
}

/// Whether the calling thread may wait for ever: its runtime has work and no thread, and has been refused one for ten
/// seconds.
#[inline]
pub(crate) fn is_given_up() -> bool {
    REFUSED.is_any()
        && own_runtime_still(|shared| {
            shared.lacks_thread()
                && shared.idle.threads() == 0
                && shared.refusal.lasts() >= GIVEN_UP_AFTER
        })
}

/// For a thread that waits, in a runtime that was refused threads: waits up to 0.3 s for a thread, or until `is_over`. True: no
/// thread came, and the waiter should run the work itself, though that may in turn wait for a task.
#[inline]
pub(crate) fn must_help_itself(is_over: impl Fn() -> bool) -> bool {
    REFUSED.is_any() && gets_no_thread(&is_over)
}

fn gets_no_thread(is_over: &dyn Fn() -> bool) -> bool {
    let nobody_wakes = Parker::default();
    (0..TRIES_BEFORE_HELPING).all(|_| {
        let waits = !is_over() && own_runtime_still(RuntimeInner::lacks_thread);
        if waits {
            nobody_wakes.park_timeout(TRIES_APART);
        }
        waits
    })
}

/// Tries again, and returns whether the calling thread's runtime meets the condition all the same.
fn own_runtime_still(condition: fn(&RuntimeInner) -> bool) -> bool {
    try_again();
    current::with_existing_runtime(condition).unwrap_or(false)
}

/// How long a thread may sleep before it tries again; `None` where nothing was refused.
pub(crate) fn retry_pause() -> Option<Duration> {
    REFUSED.is_any().then_some(TRIES_APART)
}

/// Tries for the runtimes on the list, if there are any. Those that lack a thread still come back.
pub(crate) fn try_again() {
    if !REFUSED.is_any() {
        return;
    }
    let mut tried: Vec<Arc<RuntimeInner>> = Vec::new();
    REFUSED.try_all(|listed| {
        tried.extend(listed.iter().filter_map(Weak::upgrade));
        tried.iter().for_each(|shared| shared.try_again());
    });
    tried.iter().for_each(|shared| shared.stand_in());
}

global! {
    /// The runtimes of this process that wait for a thread that was refused.
    static REFUSED: RefusedList<Weak<RuntimeInner>> = RefusedList {
        is_any: AtomicBool::new(false),
        list: Mutex::new(Vec::new()),
    };
}
