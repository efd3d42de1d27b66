//! Who sleeps, and how a sleeper is woken.
//!
//! A thread in a slot sleeps idle, in its main loop, or waiting, at a latch. One word counts both kinds, and the
//! threads that search: while one does, new work wakes nobody else. In a pool on a manyhands runtime a slot without a
//! thread counts as idle (`shared.rs`).
//!
//! # Missed wakes
//! A push into a thread's own deque is followed by a plain load of the word: on the frequent path there is no fence.
//! A thread that falls asleep at that very moment may miss the push, and be missed. So its first sleep is a nap, after
//! which it looks again; by then the push is visible. Work from outside is followed by a fence, as is every
//! announcement of sleep.
//!
//! Not here: what a sleeper looks for (`worker.rs`, `wait.rs`).

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What the thread in a slot does.
#[derive(Default)]
pub(crate) struct SlotState(AtomicU8);

/// See [`SlotState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// It runs, or searches.
    Awake = 0,
    /// It sleeps in its main loop.
    Idle = 1,
    /// It sleeps at a latch.
    Waiting = 2,
}

impl SlotState {
    /// Whether the thread does this, or did a moment ago.
    pub(crate) fn is(&self, state: State) -> bool {
        self.0.load(Ordering::SeqCst) == state as u8
    }

    fn change(&self, from: State, to: State) -> bool {
        let changed =
            self.0
                .compare_exchange(from as u8, to as u8, Ordering::SeqCst, Ordering::SeqCst);
        changed.is_ok()
    }
}

/// The counts of a pool.
#[derive(Default)]
pub(crate) struct Sleep(AtomicU64);

const IDLE: u64 = 1;
const WAITING: u64 = 1 << 20;
const SEARCHING: u64 = 1 << 40;
const FIELD: u64 = (1 << 20) - 1;

/// The counts at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Counts(u64);

impl Counts {
    pub(crate) fn idle(self) -> u64 {
        self.0 & FIELD
    }

    pub(crate) fn waiting(self) -> u64 {
        self.0 >> 20 & FIELD
    }

    pub(crate) fn searching(self) -> u64 {
        self.0 >> 40
    }

    /// Whether somebody sleeps and nobody searches.
    #[inline]
    pub(crate) fn wants_wake(self) -> bool {
        self.0.wrapping_sub(1) < SEARCHING - 1
    }
}

impl Sleep {
    /// The counts, as they are or were a moment ago.
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        Counts(self.0.load(Ordering::SeqCst))
    }

    /// A thread announces that it sleeps. What it looks at afterwards is not older than this.
    pub(crate) fn announce(&self, slot: &SlotState, state: State) {
        let is_announced = slot.change(State::Awake, state);
        debug_assert!(is_announced, "only the thread itself falls asleep");
        self.0.fetch_add(unit(state), Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// Ends the sleep of a thread that has announced it: false if another thread has done so.
    ///
    /// The thread that succeeds unparks the sleeper, if it is not the sleeper itself. A thread that slept idle is
    /// counted as searching from here.
    pub(crate) fn end(&self, slot: &SlotState, state: State) -> bool {
        let has_ended = slot.change(state, State::Awake);
        if has_ended {
            let becomes = if state == State::Idle { SEARCHING } else { 0 };
            self.0
                .fetch_add(becomes.wrapping_sub(unit(state)), Ordering::SeqCst);
        }
        has_ended
    }

    /// Counts a thread as searching.
    pub(crate) fn begin_search(&self) {
        self.0.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// Counts a thread as searching if nobody else does.
    pub(crate) fn begin_search_alone(&self) -> bool {
        let before = self.counts();
        before.searching() == 0
            && self
                .0
                .compare_exchange(
                    before.0,
                    before.0 + SEARCHING,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                )
                .is_ok()
    }

    /// A thread does not search any more. Returns whether nobody does now.
    pub(crate) fn end_search(&self) -> bool {
        let before = Counts(self.0.fetch_sub(SEARCHING, Ordering::SeqCst));
        before.searching() == 1
    }

    /// A slot has lost its thread.
    pub(crate) fn add_idle(&self) {
        self.0.fetch_add(IDLE, Ordering::SeqCst);
        std::sync::atomic::fence(Ordering::SeqCst);
    }

    /// A slot has got a thread.
    pub(crate) fn remove_idle(&self) {
        self.0.fetch_sub(IDLE, Ordering::SeqCst);
    }
}

fn unit(state: State) -> u64 {
    match state {
        State::Awake => 0,
        State::Idle => IDLE,
        State::Waiting => WAITING,
    }
}

/// Where the thread in a slot sleeps. A token that came while it was awake ends the next sleep at once.
#[derive(Default)]
pub(crate) struct Parker {
    has_token: Mutex<bool>,
    given: Condvar,
}

impl Parker {
    /// Sleeps until there is a token, or for `limit`. Returns whether there was one.
    pub(crate) fn park(&self, limit: Option<Duration>) -> bool {
        let mut has_token = self
            .has_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match limit {
            Some(limit) => {
                let waited = self.given.wait_timeout_while(has_token, limit, |has| !*has);
                has_token = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            None => {
                let waited = self.given.wait_while(has_token, |has| !*has);
                has_token = waited.unwrap_or_else(PoisonError::into_inner);
            }
        }
        std::mem::take(&mut *has_token)
    }

    pub(crate) fn unpark(&self) {
        *self
            .has_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_one();
    }
}
