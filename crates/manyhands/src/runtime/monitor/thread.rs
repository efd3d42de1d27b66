//! The monitor's thread: it sees what no worker can, in sweeps over the runtime.
//!
//! The monitor exposes private work of an owner that is stuck in a long job, and opens calls that their threads run alone
//! for longer than expected (`fork_join/unshared_calls.rs`). It wakes a worker where work is visible
//! and no worker searches, and lets one more thread run for each that it detects as blocked inside a job.
//! It advances the outside timer wheel, and the wheels of workers that are late with it.
//! It sweeps only while some thread takes part in the runtime, less and less often while it has nothing to do, and
//! sleeps when all sleep.
//!
//! Not here: what a sweep does (`sweep.rs`), and how the monitor is switched on and off (`switch.rs`) and ended
//! (`control.rs`).
//!
//! While the monitor has no thread it is off, except between the switching on and the start that follows. If the
//! system refuses that start, the starting thread switches the monitor off again. A thread that armed it in between
//! gets no monitor. But the runtime is then listed as one that was refused a thread (`refused_starts.rs`), and each
//! thread that tries again checks whether the monitor is needed.

use crate::job::contain;
use crate::runtime::RuntimeInner;
use crate::runtime::monitor::sweep::{Sweep, Sweeper};
use crate::runtime::monitor::switch::{AfterSwitch, State, Switch};
use crate::runtime::policy::{
    BLOCKED_AFTER, IN_DOUBT, INTERVAL_MAX, INTERVAL_MIN, INTERVAL_SATURATED, LONG,
};
use crate::sync::atomic::Ordering;
use crate::sync::{lock, thread, thread_state};
use std::sync::{Arc, Weak};
use std::time::Duration;

impl RuntimeInner {
    /// Makes sure that the monitor watches.
    #[inline]
    pub(crate) fn arm_monitor(&self) {
        if self.monitor.switch.arm() == AfterSwitch::Unpark {
            self.unpark_or_start_monitor();
        }
    }

    /// As [`arm_monitor`](Self::arm_monitor); returns whether the monitor watches: the system may refuse its thread.
    pub(crate) fn arms_monitor(&self) -> bool {
        self.arm_monitor();
        matches!(self.monitor.switch.state(), State::On | State::Slow)
    }

    /// Whether the monitor has a thread, on or off.
    pub(crate) fn has_monitor(&self) -> bool {
        lock(&self.monitor.thread).is_some()
    }

    /// Makes the monitor sweep soon, unless it does so anyway.
    #[inline]
    pub(crate) fn alert_monitor(&self) {
        if self.monitor.switch.alert() == AfterSwitch::Unpark {
            self.unpark_or_start_monitor();
        }
    }

    /// Makes the monitor look at the outside's timers anew, on or off.
    pub(crate) fn rouse_monitor(&self) {
        if self.monitor.switch.rouse() == AfterSwitch::Unpark {
            self.unpark_or_start_monitor();
        }
    }

    #[cold]
    fn unpark_or_start_monitor(&self) {
        let switch = &self.monitor.switch;
        let mut thread = lock(&self.monitor.thread);
        if thread.is_some() {
            switch.parker.unpark();
            return;
        }
        // Under the lock, so that `close` joins every thread that is started.
        let is_closed = switch.state() == State::Closed;
        let Some(_shared) = self.this().filter(|_| !is_closed) else {
            return;
        };
        if self.refusal.may_ask() {
            *thread = start(switch, self.weak());
        }
        if thread.is_some() {
            self.refusal.end();
            return;
        }
        // Off again: the next thread that arms the monitor tries to start it, and so does a waiting thread.
        switch.take_back();
        drop(thread);
        self.note_refused();
    }
}

fn start(switch: &Arc<Switch>, shared: Weak<RuntimeInner>) -> Option<thread::JoinHandle<()>> {
    let switch = Arc::clone(switch);
    let name = "manyhands-monitor".to_owned();
    let spawned = thread::Builder::new()
        .name(name)
        .spawn(move || watch_on(&switch, &shared));
    spawned.ok()
}

/// The monitor's thread. A panic in a sweep ends that sweep, not the thread.
fn watch_on(switch: &Switch, weak: &Weak<RuntimeInner>) {
    let mut has_ended = false;
    while !has_ended {
        contain(|| {
            watch(switch, weak);
            has_ended = true;
        });
    }
}

/// Sweeps until the monitor is closed.
fn watch(switch: &Switch, weak: &Weak<RuntimeInner>) {
    thread_state::wake_on_time();
    let mut pace = Pace::default();
    let mut sweeper = Sweeper::default();
    loop {
        let Some(shared) = weak.upgrade() else {
            return;
        };
        let state = switch.state();
        match state {
            State::On | State::Slow => {
                let timers = shared.fire_overdue_timers().unwrap_or(Duration::MAX);
                drop(shared);
                let interval = pace.interval.min(timers.max(INTERVAL_MIN));
                switch.parker.park_timeout(interval);
            }
            State::Off => {
                let limit = shared.fire_outside_timers();
                // Relaxed: it sweeps often as soon as it is armed.
                shared.monitor.sweeps_seldom.store(false, Ordering::Relaxed);
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
        let sweep = sweeper.sweep(&shared);
        pace.adapt(sweep);
        let sweeps_seldom = &shared.monitor.sweeps_seldom;
        // Relaxed: F5 of `unshared_calls.rs`; else a call is measured that need not be.
        sweeps_seldom.store(pace.is_seldom(), Ordering::Relaxed);
        if shared.open_long_calls() || (pace.is_seldom() && shared.unwatch_calls()) {
            pace.stay_close();
            sweeps_seldom.store(false, Ordering::Relaxed);
        }
        if pace.is_slow_after(sweep) {
            switch.slow_down();
        } else {
            switch.speed_up();
        }
        if pace.inactive_for >= IN_DOUBT {
            switch.rest(|| {
                !shared.idle.is_inactive()
                    || shared.has_visible_work(None)
                    || shared.unwatch_calls()
            });
        }
    }
}

/// How often it sweeps.
#[derive(Debug)]
struct Pace {
    interval: Duration,
    /// How long no thread has taken part.
    inactive_for: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: INTERVAL_MIN,
            inactive_for: Duration::ZERO,
        }
    }
}

impl Pace {
    fn adapt(&mut self, sweep: Sweep) {
        self.interval = match sweep {
            Sweep::Burst(pause) => pause,
            Sweep::Trouble => (self.interval / 2).max(INTERVAL_MIN),
            Sweep::Watch => (self.interval * 2).clamp(INTERVAL_MIN, LONG),
            Sweep::Saturated => (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_SATURATED),
            Sweep::Inactive | Sweep::Nothing | Sweep::Busy => {
                (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_MAX)
            }
        };
        self.inactive_for = if sweep == Sweep::Inactive {
            self.inactive_for + self.interval
        } else {
            Duration::ZERO
        };
    }

    /// Whether a call that a thread runs alone, and that goes on, would be opened late.
    fn is_seldom(&self) -> bool {
        self.interval >= INTERVAL_SATURATED
    }

    /// Threads run calls alone: one that goes on must be opened soon.
    fn stay_close(&mut self) {
        self.interval = self.interval.min(BLOCKED_AFTER);
        self.inactive_for = Duration::ZERO;
    }

    /// Whether a thread that brings work may alert the monitor. Not where the running threads make progress:
    /// there each thread that brings work would alert it.
    fn is_slow_after(&self, sweep: Sweep) -> bool {
        self.interval >= LONG && !matches!(sweep, Sweep::Busy | Sweep::Saturated)
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERVAL_MAX, INTERVAL_SATURATED, LONG, Pace};
    use crate::runtime::monitor::sweep::Sweep;
    use std::time::Duration;

    /// Time between two sweeps after many with this result, and whether a thread that brings work may alert the monitor.
    fn settled(sweep: Sweep) -> (Duration, bool) {
        let mut pace = Pace::default();
        (0..20).for_each(|_| pace.adapt(sweep));
        (pace.interval, pace.is_slow_after(sweep))
    }

    #[test]
    fn sweeps_become_seldom_and_only_those_that_an_alert_could_help_can_be_hastened() {
        assert_eq!(settled(Sweep::Nothing), (INTERVAL_MAX, true));
        assert_eq!(settled(Sweep::Busy), (INTERVAL_MAX, false));
        assert_eq!(settled(Sweep::Watch), (LONG, true));
        assert_eq!(settled(Sweep::Saturated), (INTERVAL_SATURATED, false));
    }
}
