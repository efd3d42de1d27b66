//! The switch of the monitor: whether it sweeps, and how often.
//!
//! # States
//! `Off`: the monitor sleeps until armed. `On`: it sweeps. `Slow`: it sweeps seldom, until a thread that brings work
//! while the limit is reached alerts it. `Closed`: final.
//!
//! # Ordering
//! M1: switching off and the counts of `idle.rs` are SeqCst. A thread that arms the monitor has raised a count
//! before. Either it sees `Off` and switches the monitor on, or the monitor, which looks at the counts after it has
//! switched itself off, sees the raised count.
//!
//! Not here: the monitor's thread (`thread.rs`).

use crate::sync::Parker;
use crate::sync::atomic::{AtomicU32, Ordering};

/// The switch, with the parker of the monitor's thread.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    state: AtomicU32,
    pub(crate) parker: Parker,
}

/// What the monitor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    Off,
    On,
    Slow,
    Closed,
}

impl Switch {
    /// What it is set to.
    pub(crate) fn state(&self) -> State {
        // SeqCst: M1.
        let state = self.state.load(Ordering::SeqCst);
        [State::Off, State::On, State::Slow, State::Closed][state as usize]
    }

    /// Switches on, unless it is. Returns whether the caller must unpark the monitor, or start it.
    #[inline]
    #[must_use]
    pub(crate) fn arm(&self) -> bool {
        // SeqCst: M1.
        self.state.load(Ordering::SeqCst) == State::Off as u32 && self.switch_on_from(State::Off)
    }

    /// Makes the monitor sweep soon, unless it does so anyway. Returns the same as [`arm`](Self::arm).
    #[inline]
    #[must_use]
    pub(crate) fn alert(&self) -> bool {
        // SeqCst: M1.
        let before = self.state.load(Ordering::SeqCst);
        let switches_from = |state: State| before == state as u32 && self.switch_on_from(state);
        switches_from(State::Off) || switches_from(State::Slow)
    }

    /// Ends the monitor; no later arming starts it.
    pub(crate) fn close(&self) {
        // SeqCst: M1; final.
        self.state.store(State::Closed as u32, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Monitor: sweeps seldom from now on.
    pub(crate) fn slow_down(&self) {
        self.transition(State::On, State::Slow);
    }

    /// Monitor: sweeps often again.
    pub(crate) fn speed_up(&self) {
        self.transition(State::Slow, State::On);
    }

    /// Monitor, or a thread that could not start it: switches off, and on again if `is_needed` then returns true.
    pub(crate) fn rest(&self, is_needed: impl FnOnce() -> bool) {
        let goes_off = |from| self.transition(from, State::Off);
        if (goes_off(State::On) || goes_off(State::Slow)) && is_needed() {
            // This fails if another thread has armed it already.
            self.transition(State::Off, State::On);
        }
    }

    #[cold]
    fn switch_on_from(&self, before: State) -> bool {
        self.transition(before, State::On)
    }

    fn transition(&self, from: State, to: State) -> bool {
        let (from, to) = (from as u32, to as u32);
        // SeqCst: M1. Relaxed on failure: nothing is read.
        self.state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}
