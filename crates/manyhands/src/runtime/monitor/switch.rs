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
        match self.state.load(Ordering::SeqCst) {
            OFF => State::Off,
            ON => State::On,
            SLOW => State::Slow,
            _ => State::Closed,
        }
    }

    /// Switches on, unless it is. Returns whether the caller must unpark the monitor, or start it.
    #[inline]
    #[must_use]
    pub(crate) fn arm(&self) -> bool {
        // SeqCst: M1.
        self.state.load(Ordering::SeqCst) == OFF && self.switch_on_from(OFF)
    }

    /// Makes the monitor sweep soon, unless it does so anyway. Returns the same as [`arm`](Self::arm).
    #[inline]
    #[must_use]
    pub(crate) fn alert(&self) -> bool {
        // SeqCst: M1.
        let before = self.state.load(Ordering::SeqCst);
        matches!(before, OFF | SLOW) && self.switch_on_from(before)
    }

    /// Makes the monitor look at the timers again, on or off. Returns the same as [`arm`](Self::arm).
    #[must_use]
    pub(crate) fn rouse(&self) -> bool {
        self.state() != State::Closed
    }

    /// Ends the monitor; no later arming starts it.
    pub(crate) fn close(&self) {
        // SeqCst: M1; final.
        self.state.store(CLOSED, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Monitor: sweeps seldom from now on.
    pub(crate) fn slow_down(&self) {
        self.transition(ON, SLOW);
    }

    /// Monitor: sweeps often again.
    pub(crate) fn speed_up(&self) {
        self.transition(SLOW, ON);
    }

    /// Monitor: switches itself off, and on again if `is_needed` then returns true.
    pub(crate) fn rest(&self, is_needed: impl FnOnce() -> bool) {
        if (self.transition(ON, OFF) || self.transition(SLOW, OFF)) && is_needed() {
            // This fails if another thread has armed it already.
            self.transition(OFF, ON);
        }
    }

    /// Switches off again after the thread could not be started.
    pub(crate) fn take_back(&self) {
        self.transition(ON, OFF);
        self.transition(SLOW, OFF);
    }

    #[cold]
    fn switch_on_from(&self, before: u32) -> bool {
        self.transition(before, ON)
    }

    fn transition(&self, from: u32, to: u32) -> bool {
        // SeqCst: M1. Relaxed on failure: nothing is read.
        self.state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

const OFF: u32 = 0;
const ON: u32 = 1;
const CLOSED: u32 = 2;
const SLOW: u32 = 3;
