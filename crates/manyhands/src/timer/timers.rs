//! A wheel behind a lock, with its next tick outside.
//!
//! # Threads
//! Any thread may call anything. Only the worker adds entries to its own timers. The worker advances them, or the
//! monitor if the worker is late.
//!
//! # Ordering
//! `next_due` is written under the lock only. It is a hint: a thread that advances the wheel too early finds nothing
//! due, and the thread that makes the next tick earlier notifies the thread that must not be late (see
//! `runtime/sleep/timers.rs`).
//!
//! Unsafe: entries are reached through their nodes.

use crate::job::wake;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, lock, lock_or_end};
use crate::timer::entry::Entry;
use crate::timer::wheel::{Node, Step, Wheel};
use std::ptr::NonNull;
use std::task::Waker;

/// A wheel that threads may share.
pub(crate) struct Timers {
    /// A tick before which nothing is due, or [`NEVER`].
    next_due: AtomicU64,
    pub(super) slots: Mutex<Slots>,
}

/// The wheel under its lock.
#[derive(Default)]
pub(super) struct Slots {
    /// Made when it is first needed.
    wheel: Option<Wheel>,
    lateness: Lateness,
    closed: bool,
}

/// How late timers were.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Lateness {
    /// Timers that have fired.
    pub(crate) fired: u64,
    pub(crate) total_millis: u64,
    pub(crate) max_millis: u64,
}

impl Default for Timers {
    /// Timers that allocate nothing until the first entry.
    fn default() -> Self {
        Self {
            next_due: AtomicU64::new(NEVER),
            slots: Mutex::default(),
        }
    }
}

impl Timers {
    /// A tick before which nothing is due, or [`NEVER`].
    #[inline]
    pub(crate) fn next_due(&self) -> u64 {
        // Relaxed: a hint; see above.
        self.next_due.load(Ordering::Relaxed)
    }

    /// Wakes the waiters of all ticks up to `now`, in the order of the ticks. Returns whether there was
    /// one.
    ///
    /// # Blocking
    /// The lock is never held for more than a batch, and never while a waker runs.
    pub(crate) fn fire(&self, now: u64) -> bool {
        let mut has_fired = false;
        loop {
            let (batch, is_last) = self.take_due(now);
            has_fired |= wake_all(batch);
            if is_last {
                return has_fired;
            }
        }
    }

    /// Fires as of `now` if the next timer is due by tick `due_by`. Returns the next tick then.
    pub(crate) fn fire_by(&self, now: u64, due_by: u64) -> u64 {
        if self.next_due() <= due_by {
            self.fire(now);
        }
        self.next_due()
    }

    /// Closes: wakes all waiters, so that they register elsewhere, frees the wheel, and accepts nothing more.
    pub(crate) fn close(&self) {
        while wake_all(self.take_any()) {}
    }

    /// Accepts entries again, and counts from 0.
    pub(crate) fn open(&self) {
        let mut slots = lock(&self.slots);
        slots.closed = false;
        slots.lateness = Lateness::default();
    }

    /// How late timers were since the last [`open`](Self::open).
    pub(crate) fn lateness(&self) -> Lateness {
        lock_or_end(&self.slots).lateness
    }

    /// Under the lock: an entry was inserted that is due at `tick`. Returns whether that is before all others.
    pub(super) fn note_inserted(&self, _locked: &MutexGuard<'_, Slots>, tick: u64) -> bool {
        let is_earliest = tick < self.next_due();
        if is_earliest {
            // Relaxed: a hint; see above.
            self.next_due.store(tick, Ordering::Relaxed);
        }
        is_earliest
    }

    /// Takes out some of the due entries; returns whether these are all.
    fn take_due(&self, now: u64) -> (Batch, bool) {
        let mut batch: Batch = [const { None }; BATCH];
        let mut slots = lock(&self.slots);
        let slots = &mut *slots;
        let Some(wheel) = &mut slots.wheel else {
            return (batch, true);
        };
        let mut is_last = false;
        for place in &mut batch {
            match wheel.step(now) {
                Step::Due(node) => {
                    // SAFETY: the node was taken out just now, so it is valid and no other thread reaches it.
                    let deadline = unsafe { Node::deadline(node) };
                    slots.lateness.add(now.saturating_sub(deadline.tick_due()));
                    // SAFETY: the lock is held, and the node was taken out just now.
                    *place = unsafe { Entry::fire(node, true) };
                }
                Step::Moved => break,
                Step::Done => {
                    is_last = true;
                    break;
                }
            }
        }
        let next_due = wheel.next_due().unwrap_or(NEVER);
        // Relaxed: a hint; see above.
        self.next_due.store(next_due, Ordering::Relaxed);
        (batch, is_last)
    }

    /// Takes out some entries, due or not; closes when there are none.
    fn take_any(&self) -> Batch {
        let mut batch: Batch = [const { None }; BATCH];
        let mut slots = lock(&self.slots);
        slots.closed = true;
        for place in &mut batch {
            let Some(node) = slots.wheel.as_mut().and_then(Wheel::take_any) else {
                slots.wheel = None;
                // Relaxed: a hint; see above.
                self.next_due.store(NEVER, Ordering::Relaxed);
                break;
            };
            // SAFETY: the lock is held, and the node was taken out just now.
            *place = unsafe { Entry::fire(node, false) };
        }
        batch
    }
}

impl Lateness {
    fn add(&mut self, millis: u64) {
        self.fired += 1;
        self.total_millis += millis;
        self.max_millis = self.max_millis.max(millis);
    }
}

impl Slots {
    /// The wheel, made at tick `now` if there is none; `None` if it is closed.
    pub(super) fn open_at(&mut self, now: u64) -> Option<&mut Wheel> {
        let is_open = !self.closed;
        is_open.then(|| self.wheel.get_or_insert_with(|| Wheel::new(now)))
    }

    /// Takes a node out.
    ///
    /// # Safety
    /// The node is valid and linked in this wheel.
    pub(super) unsafe fn remove(&mut self, node: NonNull<Node>) {
        if let Some(wheel) = &mut self.wheel {
            // SAFETY: by the caller's promise.
            unsafe { wheel.remove(node) };
        }
    }
}

/// Some wakers, taken under the lock to be woken outside.
type Batch = [Option<Waker>; BATCH];

/// Wakes them; returns whether there was any.
fn wake_all(batch: Batch) -> bool {
    let has_any = batch.iter().any(Option::is_some);
    batch.into_iter().flatten().for_each(wake);
    has_any
}

/// Instead of a tick: no entry waits.
pub(crate) const NEVER: u64 = u64::MAX;

/// The most wakers taken in one critical section.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };
