//! The monitor's rounds: each looks at the whole runtime once, and helps where no worker can.
//!
//! # Blocked threads
//! Where work waits and as many run as may, it looks who of those that run is blocked (`detector.rs`) and
//! marks the slot; the mark is counted, and makes room for another thread. The worker takes the mark away
//! itself when its job ends, or the next round that finds it running.
//!
//! Work that blocks often comes in crowds, and each thread that is added then blocks in the same way. When
//! threads that were just added are found blocked too, the rounds follow each other closely, the patience is
//! short, and two threads more may run than else: so that a crowd of 64 is found in as many
//! rounds as it takes to meet four at a time. That haste ends when nobody more is found, and the longer it
//! lasts the longer the rounds become.
//!
//! # Long computations
//! No thread is added for them, but one for the work behind them when they have held every place for half a
//! second, or for five where they share the processors with others; they are noted.
//!
//! Not here: when rounds are made (`thread.rs`).

use crate::integrations::tracing_events;
use crate::job::SlotNumber;
use crate::runtime::monitor::detector::{Look, ThreadVerdict, Watch};
use crate::runtime::monitor::hill_climbing_sampler::HillClimbingSampler;
use crate::runtime::monitor::memory;
use crate::runtime::worker::slot::WorkerSlot;
use crate::runtime::{LongJob, RuntimeInner, Stall, ThreadChangeReason};
use crate::sync::{clock, processor_load};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What is remembered from round to round.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    watches: HashMap<SlotNumber, Watch>,
    /// The last of the long jobs that was noted, by slot.
    noted: HashMap<SlotNumber, u64>,
    haste: Option<Burst>,
    /// Nobody could run any more since then.
    stalled: Option<Stalled>,
    /// Only where the builder asked for it.
    ascent: Option<HillClimbingSampler>,
    /// So many threads more than the workers may run, says the climber.
    climbed: usize,
    rechecked: Option<Instant>,
    memory_checked: Option<Instant>,
}

/// Threads that block are found one after the other.
#[derive(Debug, Clone, Copy)]
struct Burst {
    since: Instant,
    last_found: Instant,
    rounds_with_findings: u32,
}

#[derive(Debug, Clone, Copy)]
struct Stalled {
    since: Instant,
    is_reported: bool,
}

/// What a round found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweep {
    /// Nobody takes part and nothing is queued.
    Quiet,
    /// Nothing waits.
    Nothing,
    /// Work waits, and those that run get on with it.
    Busy,
    /// Work waits, and some who hold a place are blocked, or may be.
    Watch,
    /// Somebody needed help, or may need it at the next round.
    Trouble,
    /// The next round must follow after this time.
    Burst(Duration),
}

/// How many of those that run are found to do what.
#[derive(Debug, Default)]
struct SweepStats {
    newly_blocked: usize,
    /// Compute, and have been at one job for so long that what waits starves.
    starving: usize,
    /// Are at the same job as at the last look, for too short a time to tell.
    undecided: usize,
}

impl Sweeper {
    /// One look at the whole runtime.
    pub(crate) fn round(&mut self, shared: &RuntimeInner) -> Sweep {
        clock::calibrate();
        shared.attend_to_sockets();
        let now = clock::now();
        if shared.settings.hill_climbing {
            let ascent = self
                .ascent
                .get_or_insert_with(|| HillClimbingSampler::begin(shared, now));
            self.climbed = ascent.extra(shared, now);
        }
        if !shared.has_visible_work(None)
            && !shared.all_slots().any(|slot| slot.deque.has_private(0))
        {
            return self.round_without_work(shared, now);
        }
        self.check_memory(shared, now);
        if !shared.idle.has_room() || self.haste.is_some() {
            let tally = self.look_at_all(shared, now);
            self.react(shared, now, &tally);
            if let Some(haste) = self.haste {
                return Sweep::Burst(haste.pause(now));
            }
            if !shared.idle.has_room() && !shared.idle.is_anyone_searching() {
                return if tally.undecided > 0 || shared.idle.census().detected_blocked > 0 {
                    Sweep::Watch
                } else {
                    Sweep::Busy
                };
            }
        }
        let helped = shared
            .all_slots()
            .filter(|slot| help_if_stuck(slot))
            .count();
        if shared.has_visible_work(None) {
            shared.wake_if_nobody_searches();
            self.report_if_stalled(shared, now);
            return Sweep::Trouble;
        }
        self.stalled = None;
        if helped > 0 {
            Sweep::Trouble
        } else {
            Sweep::Nothing
        }
    }

    fn round_without_work(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        self.haste = None;
        self.stalled = None;
        self.set_extra(shared, 0);
        if shared.idle.census().detected_blocked > 0 {
            // So that nobody counts as blocked for long who goes on.
            self.look_at_all(shared, now);
        }
        if shared.idle.is_quiet() {
            Sweep::Quiet
        } else {
            Sweep::Nothing
        }
    }

    /// Looks at everybody that takes part, and marks who is blocked.
    fn look_at_all(&mut self, shared: &RuntimeInner, now: Instant) -> SweepStats {
        let at = now.saturating_duration_since(clock::first());
        let patience = if self.haste.is_some() {
            PATIENCE_IN_HASTE
        } else {
            PATIENCE
        };
        let recheck = self
            .rechecked
            .is_none_or(|last| now.saturating_duration_since(last) >= RECHECKS_APART);
        if recheck {
            self.rechecked = Some(now);
        }
        let mut tally = SweepStats::default();
        let (mut asleep, mut others_run) = (Vec::new(), false);
        for slot in shared.all_slots() {
            let job = slot.job();
            let watch = self.watches.entry(slot.number).or_default();
            if job.is_none() && !slot.detected_blocked.is_set() {
                *watch = Watch::default();
                continue;
            }
            if watch.finding() == ThreadVerdict::Blocked && watch.job() == job && !recheck {
                continue;
            }
            let is_same_job = watch.job() == job;
            let look = Look {
                at,
                job,
                cpu_nanos: slot.cpu_nanos(),
            };
            match watch.look(look, patience, || slot.activity()) {
                ThreadVerdict::Blocked => {
                    asleep.push(slot);
                    continue;
                }
                ThreadVerdict::Unknown => tally.undecided += usize::from(is_same_job),
                found @ (ThreadVerdict::Runs | ThreadVerdict::Starved) => {
                    let running_for = watch.at_it_for(at);
                    tally.starving += usize::from(
                        running_for >= STARVED_AFTER_ALL
                            || (running_for >= STARVED_AFTER && watch.has_processor()),
                    );
                    if found == ThreadVerdict::Runs
                        && running_for >= LONG
                        && job != self.noted.insert(slot.number, job.unwrap_or(0))
                    {
                        note_long(shared, slot, now, running_for);
                    }
                }
            }
            others_run |= job.is_some();
            shared.idle.unmark(&slot.detected_blocked);
        }
        // Asked once for all of them, and only if it matters.
        let mut taken = None;
        let mut are_taken = || *taken.get_or_insert_with(processor_load::all_are_taken);
        for slot in asleep
            .into_iter()
            .filter(|slot| !slot.detected_blocked.is_set())
        {
            let watch = self.watches.entry(slot.number).or_default();
            if watch.is_to_be_replaced(at, others_run, &mut are_taken) {
                shared.note_blocking_kind(slot);
                tally.newly_blocked += usize::from(shared.idle.mark(&slot.detected_blocked));
            } else {
                tally.undecided += 1;
            }
        }
        tally
    }

    /// Makes room, and wakes or starts whom it takes to use it.
    fn react(&mut self, shared: &RuntimeInner, now: Instant, tally: &SweepStats) {
        if tally.newly_blocked > 0 {
            let haste = self.haste.get_or_insert(Burst {
                since: now,
                last_found: now,
                rounds_with_findings: 0,
            });
            haste.last_found = now;
            haste.rounds_with_findings += 1;
        } else if let Some(haste) = self.haste
            && now.saturating_duration_since(haste.last_found) >= HASTE_ENDS_AFTER
        {
            self.haste = None;
        }
        let ahead = match self.haste {
            Some(haste) if haste.rounds_with_findings > 1 => BURST_HEADROOM,
            _ => 0,
        };
        let starved = if shared.has_waiting_tasks() {
            (tally.starving + 1).saturating_sub(shared.idle.limit())
        } else {
            0
        };
        self.set_extra(shared, ahead.max(starved));
        let mut wakes = shared.idle.room();
        while wakes > 0 && shared.has_visible_work(None) && shared.wake_one() {
            wakes -= 1;
        }
        if self.haste.is_some() && !shared.idle.may_grow() {
            // Nobody can be added, so there is no need to hurry.
            self.haste = None;
        }
    }

    /// Lets so many threads more than the workers run, or as many as the climber says.
    fn set_extra(&self, shared: &RuntimeInner, extra: usize) {
        let extra = extra.max(self.climbed);
        shared.idle.set_extra(u32::try_from(extra).unwrap_or(0));
    }

    /// There is room and work, but nobody to be woken: if nobody runs either, nothing goes on.
    fn report_if_stalled(&mut self, shared: &RuntimeInner, now: Instant) {
        if shared.idle.running() > 0 {
            self.stalled = None;
            return;
        }
        let stalled = self.stalled.get_or_insert(Stalled {
            since: now,
            is_reported: false,
        });
        if stalled.is_reported || now.saturating_duration_since(stalled.since) < STALLED_AFTER {
            return;
        }
        stalled.is_reported = true;
        let reason = if shared.idle.threads() >= shared.settings.threads_max {
            ThreadChangeReason::LimitReached
        } else if shared.idle.may_grow() {
            ThreadChangeReason::NotStarted
        } else {
            ThreadChangeReason::MemoryScarce
        };
        shared.note_change(shared.idle.threads(), reason);
        shared.settings.report_stall(&Stall::of(shared, reason));
    }

    /// Looks at the memory now and then while there are more threads than may run.
    fn check_memory(&mut self, shared: &RuntimeInner, now: Instant) {
        let is_due = self
            .memory_checked
            .is_none_or(|last| now.saturating_duration_since(last) >= MEMORY_CHECKS_APART);
        if is_due && shared.idle.has_spare_threads() {
            self.memory_checked = Some(now);
            shared.idle.set_scarce(memory::is_scarce());
        }
    }
}

impl Burst {
    fn pause(self, now: Instant) -> Duration {
        let lasted = now.saturating_duration_since(self.since);
        (lasted / HASTE_SHARE).max(PAUSE_IN_HASTE)
    }
}

/// Asks an owner to expose something; if it has not answered since the last round, does it in its place.
/// Returns whether this needs another look soon.
fn help_if_stuck(slot: &WorkerSlot) -> bool {
    if !slot.deque.has_private(0) || slot.deque.has_public(0) {
        return false;
    }
    if slot.deque.is_demand_pending() {
        slot.deque.force(1);
    } else {
        slot.deque.demand();
    }
    true
}

fn note_long(shared: &RuntimeInner, slot: &WorkerSlot, at: Instant, running_for: Duration) {
    let (worker, task) = (slot.worker(), slot.task());
    tracing_events::long_job(&shared.settings.name, running_for, worker, task);
    shared.long_jobs_noted.bump();
    shared.long_jobs.push(LongJob {
        at,
        running_for,
        worker,
        task,
    });
}

/// A thread that is off the processor for so long inside a job is blocked; shorter waits are not worth
/// another thread.
const PATIENCE: Duration = Duration::from_micros(400);
/// While others are found blocked one after the other.
const PATIENCE_IN_HASTE: Duration = Duration::from_micros(50);
const PAUSE_IN_HASTE: Duration = Duration::from_micros(60);
/// A pause is this part of the time that the haste has lasted, so that it costs little in the long run.
const HASTE_SHARE: u32 = 64;
const HASTE_ENDS_AFTER: Duration = Duration::from_millis(2);
/// In haste so many more than the limit may run: those who are not found yet.
const BURST_HEADROOM: usize = 2;
/// Who was found blocked is looked at again.
const RECHECKS_APART: Duration = Duration::from_millis(1);
/// A computation that is worth a note.
const LONG: Duration = Duration::from_millis(10);
/// Computations that hold every place for so long, each with a processor of its own, get company.
const STARVED_AFTER: Duration = Duration::from_millis(500);
/// And after so long even if others want the processors: they may wait for what is queued.
const STARVED_AFTER_ALL: Duration = Duration::from_secs(5);
const STALLED_AFTER: Duration = Duration::from_millis(100);
const MEMORY_CHECKS_APART: Duration = Duration::from_millis(100);
