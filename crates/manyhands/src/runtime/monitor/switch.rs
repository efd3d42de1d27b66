//! Whether the monitor makes rounds, and how it is told to.
//!
//! # States
//! `Off` asleep until armed · `On` making rounds · `Slow` making them seldom, until alerted by somebody who
//! brings work and finds as many running as may · `Closed` final.
//!
//! # Ordering
//! M1: going off and the counts of `idle.rs` are SeqCst. Who arms has raised a count before; either it finds
//! `Off` and switches the monitor on, or the monitor, looking once more after it went off, finds the count.
//!
//! Not here: the monitor's thread (`thread.rs`).

use crate::sync::Parker;
use crate::sync::atomic::{AtomicU32, Ordering};

/// The switch, with the place where the monitor sleeps.
#[derive(Debug)]
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

/// What whoever used the switch owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum AfterSwitch {
    Nothing,
    /// To unpark the monitor, or to start it.
    Unpark,
}

impl Switch {
    /// Off.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU32::new(OFF),
            parker: Parker::new(),
        }
    }

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

    /// Switches on, unless it is.
    #[inline]
    pub(crate) fn arm(&self) -> AfterSwitch {
        // SeqCst: M1.
        if self.state.load(Ordering::SeqCst) == OFF {
            self.owe_for(OFF)
        } else {
            AfterSwitch::Nothing
        }
    }

    /// Makes the monitor look soon, unless it does so anyway.
    #[inline]
    pub(crate) fn alert(&self) -> AfterSwitch {
        // SeqCst: M1.
        match self.state.load(Ordering::SeqCst) {
            before @ (OFF | SLOW) => self.owe_for(before),
            _ => AfterSwitch::Nothing,
        }
    }

    /// The monitor is to look at the timers anew, on or off.
    pub(crate) fn rouse(&self) -> AfterSwitch {
        if self.state() == State::Closed {
            AfterSwitch::Nothing
        } else {
            AfterSwitch::Unpark
        }
    }

    /// Ends the monitor; no later arming starts it.
    pub(crate) fn close(&self) {
        // SeqCst: M1; final.
        self.state.store(CLOSED, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Monitor: makes its rounds seldom from now on.
    pub(crate) fn slow_down(&self) {
        self.transition(ON, SLOW);
    }

    /// Monitor: makes its rounds often again.
    pub(crate) fn speed_up(&self) {
        self.transition(SLOW, ON);
    }

    /// Monitor: switches itself off, unless somebody came meanwhile, which `is_needed` tells.
    pub(crate) fn rest(&self, is_needed: impl FnOnce() -> bool) {
        if (self.transition(ON, OFF) || self.transition(SLOW, OFF)) && is_needed() {
            // If they armed it already, so much the better.
            self.transition(OFF, ON);
        }
    }

    /// No thread could be started: off again.
    pub(crate) fn take_back(&self) {
        self.transition(ON, OFF);
        self.transition(SLOW, OFF);
    }

    #[cold]
    fn owe_for(&self, before: u32) -> AfterSwitch {
        if self.transition(before, ON) {
            AfterSwitch::Unpark
        } else {
            AfterSwitch::Nothing
        }
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
