//! Turns at something that one runner may use at a time, from which a helper can stay away that would wait for long.
//!
//! A helper for whom it is not free leaves the call, and the thread that ends the turn invites helpers again. So a
//! user's code may take long in its turn, and wait, without keeping more threads from other work.
//!
//! # States
//! `FREE`: nobody has a turn, or its holder is about to begin or has just ended. `TAKEN`: somebody has. `MISSED`: and a
//! helper has left because of that. The holder of the lock sets `TAKEN` and `FREE`, helpers `MISSED`.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, MutexGuard, lock, try_lock};

/// A thing that is used in turns.
pub(crate) struct Turns<T> {
    thing: Mutex<T>,
    state: AtomicU32,
}

impl<T> Turns<T> {
    pub(crate) fn new(thing: T) -> Self {
        Self {
            thing: Mutex::new(thing),
            state: AtomicU32::new(FREE),
        }
    }

    /// Begins a turn, unless another has one.
    pub(crate) fn try_begin(&self) -> Option<MutexGuard<'_, T>> {
        try_lock(&self.thing).inspect(|_| self.note_begin())
    }

    /// Begins a turn when the thing is free; blocks until then.
    pub(crate) fn begin(&self) -> MutexGuard<'_, T> {
        let turn = lock(&self.thing);
        self.note_begin();
        turn
    }

    fn note_begin(&self) {
        // Relaxed: the lock orders its holders; a helper that sees the state late tries again.
        self.state.store(TAKEN, Ordering::Relaxed);
    }

    /// Ends a turn; calls `invite` if a helper has left meanwhile.
    pub(crate) fn end(&self, turn: MutexGuard<'_, T>, invite: impl FnOnce()) {
        // Acquire: pairs with the Release in `leave`, so that the invitation comes after the dismissal.
        let was_missed = self.state.swap(FREE, Ordering::Acquire) == MISSED;
        drop(turn);
        if was_missed {
            invite();
        }
    }

    /// Helper: leaves because another runner has a turn and will call `invite`; `dismiss` tells other helpers to stay
    /// away. False if the turn has ended, so that the helper may try again; then `invite` was called.
    pub(crate) fn leave(&self, dismiss: impl FnOnce(), invite: impl FnOnce()) -> bool {
        dismiss();
        let (state, missed) = (&self.state, |state| (state != FREE).then_some(MISSED));
        // Release: pairs with the Acquire in `end`; also where a helper has left before, because this one has dismissed
        // others too. Relaxed on failure: nothing is published. One word, so the turn ends before this, or sees it.
        let left = state.fetch_update(Ordering::Release, Ordering::Relaxed, missed);
        if left.is_err() {
            invite();
        }
        left.is_ok()
    }
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const MISSED: u32 = 2;
