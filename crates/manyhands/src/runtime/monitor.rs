//! The monitor: one thread that looks after what no worker can see from inside.
//!
//! It exposes private work of an owner that is stuck in a long job, wakes a worker where work is visible
//! and nobody comes, and lets one more thread run for each that it finds off the processor inside a job.
//! It turns the wheel of the outside's timers, and those of workers that are late with it.
//! It ticks only while somebody takes part in the runtime, less and less often when it finds nothing to
//! do, and sleeps when all sleep.
//!
//! # States
//! `OFF` asleep until armed · `ON` ticking · `CLOSED` final.
//!
//! # Ordering
//! M1: going `OFF` and the counts of `idle.rs` are SeqCst. Who arms has raised a count before; either it
//! finds `OFF` and switches the monitor on, or the monitor, looking once more after it went `OFF`, finds
//! the count.

use crate::job::SeatNumber;
use crate::runtime::Shared;
use crate::runtime::seat::{Occupant, Seat};
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, Parker, clock, lock, thread};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

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

    /// Ends the monitor and waits for its thread.
    pub(crate) fn close(&self) {
        // SeqCst: M1; final, so no later arming starts the thread.
        self.switch.state.store(CLOSED, Ordering::SeqCst);
        self.switch.parker.unpark();
        if let Some(thread) = lock(&self.thread).take()
            && thread.thread().id() != thread::current().id()
        {
            // The monitor runs no user code, so it does not panic.
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

    fn unpark_or_start(&self, shared: &Weak<Shared>) {
        let mut thread = lock(&self.thread);
        if thread.is_some() {
            self.switch.parker.unpark();
            return;
        }
        let (switch, shared) = (Arc::clone(&self.switch), Weak::clone(shared));
        let name = "manyhands-monitor".to_owned();
        let spawned = thread::Builder::new()
            .name(name)
            .spawn(move || watch(&switch, &shared));
        // Without a monitor everything still runs; only stuck owners are not helped.
        *thread = spawned.ok();
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

/// What a tick found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// Nobody takes part and nothing is queued.
    Quiet,
    /// All is well.
    Nothing,
    /// Somebody needed help, or may need it at the next tick.
    Trouble,
}

/// The monitor's thread.
fn watch(switch: &Switch, weak: &Weak<Shared>) {
    let mut interval = INTERVAL_MIN;
    let mut quiet = Duration::ZERO;
    let mut samples = Samples::default();
    loop {
        let Some(shared) = weak.upgrade() else {
            return;
        };
        // SeqCst: M1.
        match switch.state.load(Ordering::SeqCst) {
            ON => {
                let limit = shared.fire_overdue_timers().unwrap_or(Duration::MAX);
                drop(shared);
                switch
                    .parker
                    .park_timeout(interval.min(limit.max(TIMERS_APART)));
            }
            OFF => {
                let limit = shared.fire_outside_timers();
                drop(shared);
                match limit {
                    None => switch.parker.park(),
                    Some(limit) => switch.parker.park_timeout(limit),
                }
                interval = INTERVAL_MIN;
                quiet = Duration::ZERO;
                continue;
            }
            _ => return,
        }
        let Some(shared) = weak.upgrade() else {
            return;
        };
        let finding = tick(&shared, &mut samples);
        interval = match finding {
            Finding::Trouble => (interval / 2).max(INTERVAL_MIN),
            Finding::Nothing | Finding::Quiet => (interval * 2).min(INTERVAL_MAX),
        };
        quiet = if finding == Finding::Quiet {
            quiet + interval
        } else {
            Duration::ZERO
        };
        if quiet >= QUIET_MIN
            && switch.transition(ON, OFF)
            && (!shared.idle.is_quiet() || shared.has_visible_work(None))
        {
            // Somebody came between the tick and the switch. If they armed it already, so much the better.
            switch.transition(OFF, ON);
        }
    }
}

/// One look at the whole runtime.
fn tick(shared: &Shared, samples: &mut Samples) -> Finding {
    clock::calibrate();
    let visible = shared.has_visible_work(None);
    let private = shared.all_seats().any(|seat| seat.deque.has_private(0));
    if !visible && !private {
        shared.idle.set_found_blocked(0);
        return if shared.idle.is_quiet() {
            Finding::Quiet
        } else {
            Finding::Nothing
        };
    }
    if !shared.idle.has_room() {
        let Some(blocked) = samples.count_off_processor(shared) else {
            return Finding::Nothing;
        };
        shared.idle.set_found_blocked(blocked);
        if !shared.idle.has_room() && !shared.idle.is_anyone_searching() {
            return Finding::Nothing;
        }
    }
    let helped = shared
        .all_seats()
        .filter(|seat| help_if_stuck(seat))
        .count();
    if shared.has_visible_work(None) {
        shared.wake_if_nobody_searches();
        return Finding::Trouble;
    }
    if helped > 0 {
        Finding::Trouble
    } else {
        Finding::Nothing
    }
}

/// Asks an owner to expose something; if it has not answered since the last tick, does it in its place.
/// Returns whether this needs another look soon.
fn help_if_stuck(seat: &Seat) -> bool {
    if !seat.deque.has_private(0) || seat.deque.has_public(0) {
        return false;
    }
    if seat.deque.is_demand_pending() {
        seat.deque.force(1);
    } else {
        seat.deque.demand();
    }
    true
}

/// Processor time of each seat at the last look.
#[derive(Debug, Default)]
struct Samples {
    taken: Option<Instant>,
    cpu_nanos: HashMap<SeatNumber, u64>,
}

impl Samples {
    /// How many threads that count as running were off the processor for nearly all the time since the
    /// last look. `None` when that was too short ago to tell.
    fn count_off_processor(&mut self, shared: &Shared) -> Option<usize> {
        let now = clock::now();
        let elapsed = self.taken.map(|taken| now.duration_since(taken));
        if elapsed.is_some_and(|elapsed| elapsed < SAMPLE_MIN) {
            return None;
        }
        let before = std::mem::take(&mut self.cpu_nanos);
        self.taken = Some(now);
        let running = shared
            .all_seats()
            .filter(|seat| seat.occupant() == Occupant::Running);
        self.cpu_nanos = running
            .filter_map(|seat| Some((seat.number, seat.cpu_nanos()?)))
            .collect();
        let elapsed = elapsed.filter(|&elapsed| elapsed < SAMPLE_MAX)?.as_nanos();
        let off = self.cpu_nanos.iter().filter(|(number, nanos)| {
            before.get(number).is_some_and(|before| {
                u128::from(nanos.saturating_sub(*before)) * OFF_PROCESSOR_SHARE < elapsed
            })
                // A thread that only waits for a processor would not be helped by one more thread.
                && Seat::by_number(**number).is_some_and(Seat::is_thread_asleep)
        });
        Some(off.count())
    }
}

const OFF: u32 = 0;
const ON: u32 = 1;
const CLOSED: u32 = 2;

/// Looks at the timers of busy workers are at least so far apart.
const TIMERS_APART: Duration = Duration::from_micros(500);
const INTERVAL_MIN: Duration = Duration::from_micros(200);
const INTERVAL_MAX: Duration = Duration::from_millis(10);
/// So long without anybody, and the monitor sleeps. Waking it again costs who comes next a system call.
const QUIET_MIN: Duration = Duration::from_millis(100);
/// A thread that used less than this part of the time was off the processor: blocked, not just preempted.
const OFF_PROCESSOR_SHARE: u128 = 8;
/// Looks closer together than this say nothing; further apart, too much has happened in between.
const SAMPLE_MIN: Duration = Duration::from_millis(2);
const SAMPLE_MAX: Duration = Duration::from_millis(50);
