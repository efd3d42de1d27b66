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
//! # The moment of a wake
//! Whether *every* thread of a pool waits must be exact: a thread that finds this takes any work. A waiter whose latch
//! has been set does not wait any more, although it may not know. So the setter changes the waiter's state, be it
//! before or after the waiter's announcement; an announcement fails that is older than such a change. And one thread after the
//! other announces that it waits, and decides whether it is the last resort (`wait.rs`).
//!
//! Not here: where a thread sleeps (`park.rs`), what it looks for (`worker.rs`, `wait.rs`), and what a searcher owes (`search.rs`).

use crate::sync::{AtomicU64, Ordering, fence};

/// What the thread in a slot does, with the number of sleeps that others have ended.
#[derive(Default)]
pub(crate) struct SlotState(AtomicU64);

/// See [`SlotState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum State {
    /// It runs, or searches.
    Awake = 0,
    /// It sleeps in its main loop.
    Idle = 1,
    /// It sleeps at a latch.
    Waiting = 2,
}

/// The state before a thread sleeps, as [`SlotState::before_sleep`] has seen it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeforeSleep(u64);

impl SlotState {
    /// Whether the thread does this, or did a moment ago.
    pub(crate) fn is(&self, state: State) -> bool {
        self.0.load(Ordering::SeqCst) & STATE == state as u64
    }

    /// The thread itself: what [`Sleep::announce`] compares with.
    pub(crate) fn before_sleep(&self) -> BeforeSleep {
        BeforeSleep(self.0.load(Ordering::SeqCst))
    }

    fn fall_asleep(&self, before: BeforeSleep, state: State) -> bool {
        let asleep = before.0 | state as u64;
        let changed = self
            .0
            .compare_exchange(before.0, asleep, Ordering::SeqCst, Ordering::SeqCst);
        changed.is_ok()
    }

    /// Ends a sleep of this kind.
    fn end(&self, state: State) -> bool {
        let before = self.0.load(Ordering::SeqCst);
        before & STATE == state as u64
            && self
                .0
                .compare_exchange(
                    before,
                    awake_after(before),
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                )
                .is_ok()
    }

    /// Ends a sleep at a latch, be it announced or not. Returns whether it was.
    fn interrupt(&self) -> bool {
        let mut before = self.0.load(Ordering::SeqCst);
        loop {
            if before & STATE == State::Idle as u64 {
                // The thread has noticed by itself, and has left that latch.
                return false;
            }
            let changed = self.0.compare_exchange(
                before,
                awake_after(before),
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
            match changed {
                Ok(_) => return before & STATE == State::Waiting as u64,
                Err(now) => before = now,
            }
        }
    }
}

fn awake_after(before: u64) -> u64 {
    (before & !STATE).wrapping_add(STATE + 1)
}

/// The bits of a [`State`].
const STATE: u64 = 3;

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

    /// A thread announces that it sleeps, unless another one has interrupted it since `before`. What it looks at
    /// afterwards is not older than this.
    pub(crate) fn announce(&self, slot: &SlotState, before: BeforeSleep, state: State) -> bool {
        // First, so that the one who ends the sleep takes away what is there.
        self.0.fetch_add(unit(state), Ordering::SeqCst);
        let is_announced = slot.fall_asleep(before, state);
        if !is_announced {
            self.0.fetch_sub(unit(state), Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        is_announced
    }

    /// Ends the sleep of a thread that has announced it: false if another thread has done so.
    ///
    /// The thread that succeeds unparks the sleeper, if it is not the sleeper itself. A thread that slept idle is
    /// counted as searching from here.
    pub(crate) fn end(&self, slot: &SlotState, state: State) -> bool {
        let has_ended = slot.end(state);
        if has_ended {
            let becomes = if state == State::Idle { SEARCHING } else { 0 };
            self.0
                .fetch_add(becomes.wrapping_sub(unit(state)), Ordering::SeqCst);
        }
        has_ended
    }

    /// What a thread waits for has happened: it does not wait any more from here on, even if it was only about to
    /// announce that. The caller unparks it.
    pub(crate) fn interrupt_wait(&self, slot: &SlotState) {
        if slot.interrupt() {
            self.0.fetch_sub(WAITING, Ordering::SeqCst);
        }
    }

    /// Counts a thread as searching.
    pub(crate) fn begin_search(&self) {
        self.0.fetch_add(SEARCHING, Ordering::SeqCst);
    }

    /// Counts a thread as searching if nobody else does, whatever else happens to the counts meanwhile.
    pub(crate) fn begin_search_alone(&self) -> bool {
        let begin = |before| (Counts(before).searching() == 0).then_some(before + SEARCHING);
        let begun = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, begin);
        begun.is_ok()
    }

    /// A thread does not search any more. Returns whether nobody does now. What it looks at afterwards is not older
    /// than this.
    pub(crate) fn end_search(&self) -> bool {
        let before = Counts(self.0.fetch_sub(SEARCHING, Ordering::SeqCst));
        fence(Ordering::SeqCst);
        before.searching() == 1
    }

    /// A slot loses its thread.
    pub(crate) fn add_idle(&self) {
        self.0.fetch_add(IDLE, Ordering::SeqCst);
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

#[cfg(test)]
mod tests {
    use super::{Sleep, SlotState, State};

    #[test]
    fn an_interrupt_between_looking_and_announcing_keeps_the_thread_awake() {
        let (sleep, slot) = (Sleep::default(), SlotState::default());
        let before = slot.before_sleep();
        sleep.interrupt_wait(&slot);
        assert!(!sleep.announce(&slot, before, State::Waiting));
        assert!(slot.is(State::Awake));
        assert_eq!(sleep.counts().waiting(), 0);
        assert!(sleep.announce(&slot, slot.before_sleep(), State::Waiting));
        assert_eq!(sleep.counts().waiting(), 1);
    }

    #[test]
    fn a_sleep_is_ended_once_and_the_counts_follow() {
        let (sleep, slot) = (Sleep::default(), SlotState::default());
        assert!(sleep.announce(&slot, slot.before_sleep(), State::Idle));
        assert!(sleep.counts().wants_wake());
        sleep.interrupt_wait(&slot);
        assert!(
            slot.is(State::Idle),
            "a late latch is no reason to wake an idle thread"
        );
        assert!(sleep.end(&slot, State::Idle));
        assert!(!sleep.end(&slot, State::Idle));
        let counts = sleep.counts();
        assert_eq!((counts.idle(), counts.searching()), (0, 1));
        assert!(!counts.wants_wake());
        assert!(sleep.end_search());
    }
}
