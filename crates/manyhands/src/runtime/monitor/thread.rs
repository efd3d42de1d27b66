//! The monitor: one thread that looks after what no worker can see from inside.
//!
//! It exposes private work of an owner that is stuck in a long job, wakes a worker where work is visible
//! and nobody comes, and lets one more thread run for each that it finds blocked inside a job.
//! It turns the wheel of the outside's timers, and those of workers that are late with it.
//! It makes rounds only while somebody takes part in the runtime, less and less often when it finds nothing
//! to do, and sleeps when all sleep.
//!
//! Not here: what it does in a round (`sweep.rs`), and how it is switched on and off (`switch.rs`).
//!
//! While there is no thread it is off, but between the switching on and the start that follows it. Where the
//! system refuses that start it is switched off again; who armed it in between is lost, but the runtime is
//! listed as one that was refused a thread (`refused_starts.rs`), and whoever tries again looks for itself whether the
//! monitor is wanted.

use crate::job::contain;
use crate::runtime::RuntimeInner;
use crate::runtime::monitor::sweep::{Sweep, Sweeper};
use crate::runtime::monitor::switch::{AfterSwitch, State, Switch};
use crate::sync::{Mutex, lock, thread, thread_state};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The runtime's side of its monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    switch: Arc<Switch>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl Monitor {
    /// A monitor that is off; its thread starts when it is first armed.
    pub(crate) fn new() -> Self {
        Self {
            switch: Arc::new(Switch::new()),
            thread: Mutex::new(None),
        }
    }

    /// Switches the monitor on unless it is.
    #[inline]
    pub(crate) fn arm(&self, shared: &Weak<RuntimeInner>) {
        if self.switch.arm() == AfterSwitch::Unpark {
            self.unpark_or_start(shared);
        }
    }

    /// Makes it look soon, unless it does so anyway.
    #[inline]
    pub(crate) fn alert(&self, shared: &Weak<RuntimeInner>) {
        if self.switch.alert() == AfterSwitch::Unpark {
            self.unpark_or_start(shared);
        }
    }

    /// Ends the monitor and waits for its thread.
    pub(crate) fn close(&self) {
        self.switch.close();
        // The lock is given back first: the thread that is waited for may want it.
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // It contains every panic: of the user's hook, of wakers, of a broken error stream. It never panics. Held by
            // `tests/it/survival.rs::a_stall_hook_that_panics_with_anything_keeps_the_monitor`.
            let _ = thread.join();
        }
    }

    /// Makes it look at the timers anew, on or off.
    pub(crate) fn rouse(&self, shared: &Weak<RuntimeInner>) {
        if self.switch.rouse() == AfterSwitch::Unpark {
            self.unpark_or_start(shared);
        }
    }

    #[cold]
    fn unpark_or_start(&self, weak: &Weak<RuntimeInner>) {
        let mut thread = lock(&self.thread);
        if thread.is_some() {
            self.switch.parker.unpark();
            return;
        }
        // Under the lock, so that no thread is started that nobody waits for.
        let is_closed = self.switch.state() == State::Closed;
        let Some(shared) = weak.upgrade().filter(|_| !is_closed) else {
            return;
        };
        if shared.refusal.may_ask() {
            *thread = self.start(weak);
        }
        if thread.is_some() {
            shared.refusal.end();
            return;
        }
        // No state says that there is a thread: the next one that arms it tries again, and so does who waits.
        self.switch.take_back();
        drop(thread);
        shared.note_refused();
    }

    fn start(&self, weak: &Weak<RuntimeInner>) -> Option<thread::JoinHandle<()>> {
        let (switch, shared) = (Arc::clone(&self.switch), Weak::clone(weak));
        let name = "manyhands-monitor".to_owned();
        let spawned = thread::Builder::new()
            .name(name)
            .spawn(move || watch_on(&switch, &shared));
        spawned.ok()
    }
}

/// The monitor's thread. Whatever panics in a round ends that round, not the thread, on which others rely.
fn watch_on(switch: &Switch, weak: &Weak<RuntimeInner>) {
    let mut has_ended = false;
    while !has_ended {
        contain(|| {
            watch(switch, weak);
            has_ended = true;
        });
    }
}

/// Makes rounds until it is closed.
fn watch(switch: &Switch, weak: &Weak<RuntimeInner>) {
    thread_state::wake_on_time();
    let mut pace = Pace::default();
    let mut sweep = Sweeper::default();
    loop {
        let Some(shared) = weak.upgrade() else {
            return;
        };
        let state = switch.state();
        match state {
            State::On | State::Slow => {
                let timers = shared.fire_overdue_timers().unwrap_or(Duration::MAX);
                drop(shared);
                let interval = pace.interval.min(timers.max(TIMERS_APART));
                switch.parker.park_timeout(interval);
            }
            State::Off => {
                let limit = shared.fire_outside_timers();
                drop(shared);
                match limit {
                    None => switch.parker.park(),
                    Some(limit) => switch.parker.park_timeout(limit),
                }
                pace = Pace::default();
                continue;
            }
            State::Closed => return,
        }
        let Some(shared) = weak.upgrade() else {
            return;
        };
        if state == State::Slow && switch.state() == State::On {
            pace = Pace::default();
        }
        let round = sweep.round(&shared);
        pace.adapt(round);
        if pace.is_slow_after(round) {
            switch.slow_down();
        } else {
            switch.speed_up();
        }
        if pace.quiet >= QUIET_MIN {
            switch.rest(|| !shared.idle.is_quiet() || shared.has_visible_work(None));
        }
    }
}

/// How often it makes rounds.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    /// How long all has been quiet.
    quiet: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: INTERVAL_MIN,
            quiet: Duration::ZERO,
        }
    }
}

impl Pace {
    fn adapt(&mut self, round: Sweep) {
        self.interval = match round {
            Sweep::Burst(pause) => pause,
            Sweep::Trouble => (self.interval / 2).max(INTERVAL_MIN),
            Sweep::Watch => (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_SLOW),
            Sweep::Quiet | Sweep::Nothing | Sweep::Busy => {
                (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_MAX)
            }
        };
        self.quiet = if round == Sweep::Quiet {
            self.quiet + self.interval
        } else {
            Duration::ZERO
        };
    }

    /// Whether somebody who brings work should be able to hurry it. Not where those who run are known to get
    /// on: there everybody who brings work would.
    fn is_slow_after(&self, round: Sweep) -> bool {
        self.interval >= INTERVAL_SLOW && round != Sweep::Busy
    }
}

/// Looks at the timers of busy workers are at least so far apart.
const TIMERS_APART: Duration = Duration::from_micros(500);
const INTERVAL_MIN: Duration = Duration::from_micros(200);
const INTERVAL_SLOW: Duration = Duration::from_millis(1);
const INTERVAL_MAX: Duration = Duration::from_millis(10);
/// So long without anybody, and the monitor sleeps. Waking it again costs who comes next a system call.
const QUIET_MIN: Duration = Duration::from_millis(100);
