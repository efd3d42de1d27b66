//! The monitor: one thread that looks after what no worker can see from inside.
//!
//! It exposes private work of an owner that is stuck in a long job, wakes a worker where work is visible
//! and nobody comes, and lets one more thread run for each that it finds blocked inside a job.
//! It turns the wheel of the outside's timers, and those of workers that are late with it.
//! It makes rounds only while somebody takes part in the runtime, less and less often when it finds nothing
//! to do, and sleeps when all sleep.
//!
//! Not here: what it does in a round (`patrol.rs`).
//!
//! # States
//! `OFF` asleep until armed · `ON` making rounds · `SLOW` making them seldom, until alerted by somebody who
//! brings work and finds as many running as may · `CLOSED` final.
//!
//! # Ordering
//! M1: going `OFF` and the counts of `idle.rs` are SeqCst. Who arms has raised a count before; either it
//! finds `OFF` and switches the monitor on, or the monitor, looking once more after it went `OFF`, finds
//! the count.
//!
//! While there is no thread the state is `OFF`, but between the step to `ON` and the start that follows it. Where
//! the system refuses that start the state goes back to `OFF`; who armed it in between is lost, but the
//! runtime is listed as one that was refused a thread (`refused.rs`), and whoever tries again looks for itself
//! whether the monitor is wanted.

use crate::job::contain;
use crate::runtime::Shared;
use crate::runtime::patrol::{Patrol, Round};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, Parker, lock, thread, thread_state};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The runtime's side of its monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    switch: Arc<Switch>,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

#[derive(Debug)]
struct Switch {
    state: AtomicU32,
    parker: Parker,
}

impl Monitor {
    /// A monitor that is off; its thread starts when it is first armed.
    pub(crate) fn new() -> Self {
        let switch = Switch {
            state: AtomicU32::new(OFF),
            parker: Parker::new(),
        };
        Self {
            switch: Arc::new(switch),
            thread: Mutex::new(None),
        }
    }

    /// Switches the monitor on unless it is.
    #[inline]
    pub(crate) fn arm(&self, shared: &Weak<Shared>) {
        // SeqCst: M1.
        if self.switch.state.load(Ordering::SeqCst) == OFF {
            self.switch_on(shared);
        }
    }

    /// Makes it look soon, unless it does so anyway.
    #[inline]
    pub(crate) fn alert(&self, shared: &Weak<Shared>) {
        // SeqCst: M1.
        match self.switch.state.load(Ordering::SeqCst) {
            OFF => self.switch_on(shared),
            SLOW => self.speed_up(shared),
            _ => {}
        }
    }

    /// Ends the monitor and waits for its thread.
    pub(crate) fn close(&self) {
        // SeqCst: M1; final, so no later arming starts the thread.
        self.switch.state.store(CLOSED, Ordering::SeqCst);
        self.switch.parker.unpark();
        // The lock is given back first: the thread that is waited for may want it.
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread
            && thread.thread().id() != thread::current().id()
        {
            // It contains every panic.
            let _ = thread.join();
        }
    }

    /// Makes it look at the timers anew, on or off.
    pub(crate) fn rouse(&self, shared: &Weak<Shared>) {
        // SeqCst: M1.
        if self.switch.state.load(Ordering::SeqCst) != CLOSED {
            self.unpark_or_start(shared);
        }
    }

    #[cold]
    fn switch_on(&self, shared: &Weak<Shared>) {
        // SeqCst: M1.
        if self.switch.transition(OFF, ON) {
            self.unpark_or_start(shared);
        }
    }

    #[cold]
    fn speed_up(&self, shared: &Weak<Shared>) {
        // SeqCst: M1.
        if self.switch.transition(SLOW, ON) {
            self.unpark_or_start(shared);
        }
    }

    fn unpark_or_start(&self, weak: &Weak<Shared>) {
        let mut thread = lock(&self.thread);
        if thread.is_some() {
            self.switch.parker.unpark();
            return;
        }
        // SeqCst: M1. Under the lock, so that no thread is started that nobody waits for.
        let is_closed = self.switch.state.load(Ordering::SeqCst) == CLOSED;
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
        self.switch.transition(ON, OFF);
        self.switch.transition(SLOW, OFF);
        drop(thread);
        shared.note_refused();
    }

    fn start(&self, weak: &Weak<Shared>) -> Option<thread::JoinHandle<()>> {
        let (switch, shared) = (Arc::clone(&self.switch), Weak::clone(weak));
        let name = "manyhands-monitor".to_owned();
        let spawned = thread::Builder::new()
            .name(name)
            .spawn(move || watch_on(&switch, &shared));
        spawned.ok()
    }
}

impl Switch {
    fn transition(&self, from: u32, to: u32) -> bool {
        // SeqCst: M1. Relaxed on failure: nothing is read.
        self.state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

/// The monitor's thread. Whatever panics in a round ends that round, not the thread, on which others rely.
fn watch_on(switch: &Switch, weak: &Weak<Shared>) {
    let mut has_ended = false;
    while !has_ended {
        contain(|| {
            watch(switch, weak);
            has_ended = true;
        });
    }
}

/// Makes rounds until it is closed.
fn watch(switch: &Switch, weak: &Weak<Shared>) {
    thread_state::wake_on_time();
    let mut pace = Pace::default();
    let mut patrol = Patrol::default();
    loop {
        let Some(shared) = weak.upgrade() else {
            return;
        };
        // SeqCst: M1.
        let state = switch.state.load(Ordering::SeqCst);
        match state {
            ON | SLOW => {
                let timers = shared.fire_overdue_timers().unwrap_or(Duration::MAX);
                drop(shared);
                let interval = pace.interval.min(timers.max(TIMERS_APART));
                switch.parker.park_timeout(interval);
            }
            OFF => {
                let limit = shared.fire_outside_timers();
                drop(shared);
                match limit {
                    None => switch.parker.park(),
                    Some(limit) => switch.parker.park_timeout(limit),
                }
                pace = Pace::default();
                continue;
            }
            _ => return,
        }
        let Some(shared) = weak.upgrade() else {
            return;
        };
        // SeqCst: M1.
        if state == SLOW && switch.state.load(Ordering::SeqCst) == ON {
            pace = Pace::default();
        }
        let round = patrol.round(&shared);
        pace.adapt(round);
        if pace.is_slow_after(round) {
            switch.transition(ON, SLOW);
        } else {
            switch.transition(SLOW, ON);
        }
        if pace.quiet >= QUIET_MIN
            && (switch.transition(ON, OFF) || switch.transition(SLOW, OFF))
            && (!shared.idle.is_quiet() || shared.has_visible_work(None))
        {
            // Somebody came between the round and the switch. If they armed it already, so much the better.
            switch.transition(OFF, ON);
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
    fn adapt(&mut self, round: Round) {
        self.interval = match round {
            Round::Haste(pause) => pause,
            Round::Trouble => (self.interval / 2).max(INTERVAL_MIN),
            Round::Watch => (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_SLOW),
            Round::Quiet | Round::Nothing | Round::Busy => {
                (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_MAX)
            }
        };
        self.quiet = if round == Round::Quiet {
            self.quiet + self.interval
        } else {
            Duration::ZERO
        };
    }

    /// Whether somebody who brings work should be able to hurry it. Not where those who run are known to get
    /// on: there everybody who brings work would.
    fn is_slow_after(&self, round: Round) -> bool {
        self.interval >= INTERVAL_SLOW && round != Round::Busy
    }
}

const OFF: u32 = 0;
const ON: u32 = 1;
const CLOSED: u32 = 2;
const SLOW: u32 = 3;

/// Looks at the timers of busy workers are at least so far apart.
const TIMERS_APART: Duration = Duration::from_micros(500);
const INTERVAL_MIN: Duration = Duration::from_micros(200);
const INTERVAL_SLOW: Duration = Duration::from_millis(1);
const INTERVAL_MAX: Duration = Duration::from_millis(10);
/// So long without anybody, and the monitor sleeps. Waking it again costs who comes next a system call.
const QUIET_MIN: Duration = Duration::from_millis(100);
