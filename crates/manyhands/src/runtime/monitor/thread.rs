//! The monitor's thread: it sees what no worker can, in sweeps over the runtime.
//!
//! The monitor exposes private work of an owner that is stuck in a long job, and opens calls that their threads run alone
//! for longer than expected (`fork_join/unshared_calls.rs`). It wakes a worker where work is visible
//! and no worker searches, and lets one more thread run for each that it detects as blocked inside a job.
//! It advances the outside timer wheel, and the wheels of workers that are late with it.
//! It sweeps only while some thread takes part in the runtime, less and less often while it has nothing to do, and
//! sleeps when all sleep.
//!
//! Not here: what a sweep does (`sweep.rs`), how soon the next one follows (`pace.rs`), and how the monitor is switched on and
//! off (`switch.rs`) and ended (`control.rs`).
//!
//! While the monitor has no thread it is off, except between the switching on and the start that follows. If the
//! system refuses that start, the starting thread switches the monitor off again. A thread that armed it in between
//! gets no monitor. But the runtime is then listed as one that was refused a thread (`refused_starts.rs`), and each
//! thread that tries again checks whether the monitor is needed.

use crate::job::contain;
use crate::runtime::monitor::pace::Pace;
use crate::runtime::monitor::sweep::Sweeper;
use crate::runtime::monitor::switch::State;
use crate::runtime::policy::INTERVAL_MIN;
use crate::runtime::{RuntimeInner, Switch};
use crate::sync::{lock, process, thread, thread_state};
use std::sync::{Arc, Weak};
use std::time::Duration;

impl RuntimeInner {
    /// Whether the monitor has a thread, on or off.
    pub(crate) fn has_monitor(&self) -> bool {
        lock(&self.monitor.thread).is_some()
    }

    /// Wakes the monitor, or starts its thread.
    #[cold]
    pub(crate) fn unpark_or_start_monitor(&self) {
        let switch = &self.monitor.switch;
        let mut thread = lock(&self.monitor.thread);
        if thread.is_some() {
            switch.parker.unpark();
            return;
        }
        // Under the lock, so that `close` joins every thread that is started.
        if switch.state() == State::Closed || process::is_forked() {
            return;
        }
        if self.refusal.may_ask() {
            *thread = start(switch, self.weak());
        }
        if thread.is_some() {
            self.refusal.end();
            return;
        }
        // Off again: the next thread that arms the monitor tries to start it, and so does a waiting thread.
        switch.rest(|| false);
        drop(thread);
        self.note_refused();
    }
}

fn start(switch: &Arc<Switch>, shared: Weak<RuntimeInner>) -> Option<thread::JoinHandle<()>> {
    let switch = Arc::clone(switch);
    let thread = thread::Builder::new().name("manyhands-monitor".to_owned());
    thread.spawn(move || watch_on(&switch, &shared)).ok()
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
                drop(shared);
                switch.parker.park_timeout(limit);
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
        pace.adapt(sweep, shared.open_long_calls());
        if !pace.watches_calls() && shared.unwatch_calls() {
            pace.note_calls();
        }
        if pace.is_slow_after(sweep) {
            switch.slow_down();
        } else {
            switch.speed_up();
        }
        if pace.may_rest() {
            switch.rest(|| {
                !shared.idle.is_inactive()
                    || shared.has_visible_work(None)
                    || shared.unwatch_calls()
            });
        }
    }
}
