//! The monitor's sweeps: each looks at the whole runtime once, and helps where no worker can.
//!
//! # Blocked threads
//! While work waits and the limit is reached, or no thread comes for the work although it is not, a sweep detects which of the
//! running threads are blocked (`detector.rs`) and flags their slots. Each flag is counted, and makes room for another thread. The worker clears
//! its flag when its job ends, or a later sweep that sees the thread run does.
//!
//! Jobs that block often come in crowds, and each thread that is added then blocks in the same way. When a sweep
//! detects threads that were just added, burst mode begins: sweeps follow each other closely, the patience is short,
//! and two threads more may run than otherwise. So a crowd of 64 is detected four at a time. Burst mode ends when
//! sweeps detect no more threads. The longer it lasts, the longer the pauses between its sweeps become.
//!
//! A thread that waits in its start hook, declared or not, counts as blocked after 50 ms. Before, it is on its way to the work
//! that waits, and a thread in its place would wait in the same hook.
//!
//! # Long computations
//! A sweep notes them. When they hold every place, a thread beyond the limit may run short tasks
//! (`worker/short_tasks.rs`). For other work a sweep adds a thread only when they have held every place for half a
//! second, or for five seconds where other threads want the processors.
//!
//! # Missed wakes
//! While work waits and there is room, a sweep wakes a worker, unless one searches, or was woken and has not run yet. For
//! one that has not after 50 ms the sweep wakes another, and so on. If nobody can be woken and none can be started, although
//! no thread runs, the runtime stalls; after 0.1 s that is reported.
//!
//! Not here: when sweeps are made (`thread.rs`).

use crate::integrations::tracing_events;
use crate::job::{JobKind, SlotNumber};
use crate::runtime::monitor::detector::{Look, ThreadVerdict, Watch};
use crate::runtime::monitor::favour::{Favour, Held, is_long, outlasting};
use crate::runtime::monitor::hill_climbing_sampler::HillClimbingSampler;
use crate::runtime::monitor::memory;
use crate::runtime::sleep::{policy, waking};
use crate::runtime::worker::held_places::Places;
use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::runtime::{LongJob, RuntimeInner, Stall};
use crate::sync::{clock, processor_load};
use std::collections::HashMap;
use std::ptr;
use std::time::{Duration, Instant};

/// What the monitor remembers from sweep to sweep.
#[derive(Debug, Default)]
pub(crate) struct Sweeper {
    watches: HashMap<SlotNumber, Watch>,
    /// The kind of each slot's job, or null where other jobs were seen inside it.
    kinds: HashMap<SlotNumber, *const JobKind>,
    /// The last of the long jobs that was noted, by slot.
    noted: HashMap<SlotNumber, u64>,
    burst: Option<Burst>,
    /// Set while no thread can go on.
    stalled: Option<Stalled>,
    /// Only where the builder enabled it.
    sampler: Option<HillClimbingSampler>,
    /// How many threads more than the workers may run, by hill climbing.
    climbed: usize,
    favour: Favour,
    /// Since when a worker that was woken or started has not run yet, at all sweeps with work that waits.
    on_its_way: Option<Instant>,
    rechecked: Option<Instant>,
    memory_checked: Option<Instant>,
}

/// Burst mode.
#[derive(Debug, Clone, Copy)]
struct Burst {
    since: Instant,
    last_detected: Instant,
    sweeps_that_detected: u32,
}

#[derive(Debug, Clone, Copy)]
struct Stalled {
    since: Instant,
    is_reported: bool,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweep {
    /// No thread takes part and nothing is queued.
    Inactive,
    /// Nothing waits.
    Nothing,
    /// The running threads make progress; work waits, or no more may run. Or work waits and no thread can run it.
    Busy,
    /// Work waits, and some of the running threads are blocked, or may be.
    Watch,
    /// Long jobs hold every place, or did a moment ago. Who brings a short task wakes a thread for it.
    Held,
    /// A thread needed help, or may need it at the next sweep.
    Trouble,
    /// The next sweep must follow after this time.
    Burst(Duration),
}

/// How many of the running threads block, starve others, or are undecided.
#[derive(Debug, Default)]
struct SweepStats {
    newly_blocked: usize,
    /// Threads that have computed at one job for so long that waiting work starves.
    starving: usize,
    /// As these, but beyond the limit, in a task that was taken for a short one.
    starving_beyond: usize,
    /// Threads that have computed at one job for so long that a short task need not wait for its end.
    long: usize,
    /// For how long those of these have computed that are beyond the limit, whose task was taken for a short one.
    taken_for_short: Vec<Duration>,
    /// Threads in a job that this sweep is the first to see, of a kind that is known to be long.
    begun_long: usize,
    /// Threads in the same job as at the last sweep, for too short a time to decide.
    undecided: usize,
    /// Threads in the same job as at the last sweep.
    at_same_job: usize,
}

impl SweepStats {
    fn count_long(&mut self, computed_for: Duration, is_in_short_task: bool) {
        self.long += 1;
        if is_in_short_task {
            self.taken_for_short.push(computed_for);
        }
    }

    fn count_starving(&mut self, slot: &WorkerSlot, starves: bool) {
        let count = if slot.in_short_task.is_set() {
            &mut self.starving_beyond
        } else {
            &mut self.starving
        };
        *count += usize::from(starves);
    }

    /// How many threads starve waiting work. One beyond the limit is made up for where short tasks are favoured, and counts
    /// only where it has a place that nobody else has.
    fn starving(&self, shared: &RuntimeInner) -> usize {
        let others = shared.idle.running_others();
        let places = shared.idle.limit().saturating_sub(others);
        self.starving + self.starving_beyond.min(places)
    }
}

impl Sweeper {
    /// Looks at the whole runtime once.
    pub(crate) fn sweep(&mut self, shared: &RuntimeInner) -> Sweep {
        clock::calibrate();
        shared.ensure_poller();
        self.sweep_at(shared, clock::now())
    }

    fn sweep_at(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        if shared.settings.hill_climbing {
            let sampler = self
                .sampler
                .get_or_insert_with(|| HillClimbingSampler::begin(shared, now));
            self.climbed = sampler.extra(shared, now);
        }
        if !shared.has_visible_work(None)
            && !shared.all_slots().any(|slot| slot.deque.has_private(0))
        {
            return self.sweep_without_work(shared, now);
        }
        self.check_memory(shared, now, memory::is_scarce);
        let looks = !shared.idle.has_room() || self.burst.is_some();
        if looks {
            let mut stats = self.look_at_all(shared, now);
            self.react(shared, now, &stats);
            self.favour_short_tasks(shared, now, &mut stats);
            if let Some(burst) = self.burst {
                return Sweep::Burst(burst.pause(now));
            }
            if !shared.idle.has_room() && !shared.idle.is_anyone_searching() {
                self.stalled = None;
                let is_open = stats.undecided > 0 || shared.idle.census().detected_blocked > 0;
                return if is_open {
                    Sweep::Watch
                } else if self.favour.is_on() {
                    Sweep::Held
                } else if stats.long > 0 {
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
            if self.brings_worker(shared, now) {
                self.stalled = None;
                return Sweep::Trouble;
            }
            if !looks {
                // There is room that no thread can use, so that only this shows whether those that run are blocked.
                let _ = self.look_at_all(shared, now);
            }
            return self.report_if_stalled(shared, now);
        }
        self.stalled = None;
        if helped > 0 {
            Sweep::Trouble
        } else {
            Sweep::Nothing
        }
    }

    /// Whether a worker comes for the work that waits: one that searches, one on its way, or one that this wakes.
    fn brings_worker(&mut self, shared: &RuntimeInner, now: Instant) -> bool {
        let is_searching = shared.idle.is_anyone_searching();
        let searcher_comes = policy::searcher_comes(shared.idle.running(), is_searching);
        self.awaits_worker(shared, now) || searcher_comes || shared.wake_one()
    }

    /// Whether a worker was woken or started that has not run yet, but not for too long.
    fn awaits_worker(&mut self, shared: &RuntimeInner, now: Instant) -> bool {
        if !is_worker_on_its_way(shared) {
            self.on_its_way = None;
            return false;
        }
        let since = *self.on_its_way.get_or_insert(now);
        let is_late = now.saturating_duration_since(since) >= ON_ITS_WAY_MAX;
        if is_late {
            self.on_its_way = None;
        }
        !is_late
    }

    fn sweep_without_work(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        self.burst = None;
        self.stalled = None;
        self.set_extra(shared, 0);
        // So that no thread counts as blocked for long after it has gone on, and long jobs are known.
        let looks = !shared.idle.has_room() || shared.idle.census().detected_blocked > 0;
        let mut stats = if looks {
            self.look_at_all(shared, now)
        } else {
            SweepStats::default()
        };
        self.favour_short_tasks(shared, now, &mut stats);
        if !shared.idle.has_room() && self.favour.is_on() {
            return Sweep::Held;
        }
        if !shared.idle.has_room() && stats.at_same_job == 0 {
            return Sweep::Busy;
        }
        if shared.idle.is_inactive() {
            Sweep::Inactive
        } else {
            Sweep::Nothing
        }
    }

    /// Looks at every thread that takes part, and flags those that are blocked.
    fn look_at_all(&mut self, shared: &RuntimeInner, now: Instant) -> SweepStats {
        let at = now.saturating_duration_since(clock::first());
        let recheck = self.begins_recheck(now);
        let mut stats = SweepStats::default();
        let (mut asleep, mut others_run) = (Vec::new(), false);
        for slot in shared.all_slots() {
            let (job, patience) = (slot.job(), self.patience_with(slot));
            let watch = self.watches.entry(slot.number).or_default();
            if job.is_none() && !slot.detected_blocked.is_set() {
                *watch = Watch::default();
                continue;
            }
            if watch.verdict() == ThreadVerdict::Blocked && watch.job() == job && !recheck {
                continue;
            }
            let is_same_job = watch.job() == job;
            stats.at_same_job += usize::from(is_same_job);
            let kind = kind_of_job(&mut self.kinds, slot, is_same_job);
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
                ThreadVerdict::Unknown if is_same_job => stats.undecided += 1,
                ThreadVerdict::Unknown => {
                    stats.begun_long += usize::from(shared.long_kinds.has(kind));
                }
                verdict @ (ThreadVerdict::Runs | ThreadVerdict::Starved) => {
                    let running_for = watch.at_it_for(at);
                    let computed_for = watch.computed_for(at);
                    let is_long = is_long(&shared.long_kinds, kind, running_for, computed_for);
                    let is_in_short_task = slot.in_short_task.is_set();
                    if is_long {
                        stats.count_long(computed_for, is_in_short_task);
                    }
                    let starves = policy::starves(running_for, watch.has_processor());
                    stats.count_starving(slot, starves);
                    if verdict == ThreadVerdict::Runs
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
        // Read once for all of them, and only if it matters.
        let mut taken = None;
        let mut are_taken = || *taken.get_or_insert_with(processor_load::all_are_taken);
        asleep.retain(|slot| !slot.detected_blocked.is_set());
        for slot in asleep {
            let watch = self.watches.entry(slot.number).or_default();
            if watch.is_to_be_replaced(at, others_run, &mut are_taken) {
                stats.newly_blocked += usize::from(count_as_blocked(shared, slot));
            } else {
                stats.undecided += 1;
            }
        }
        stats
    }

    /// How long the thread on `slot` must be off the processor to be blocked.
    fn patience_with(&self, slot: &WorkerSlot) -> Duration {
        if slot.occupant() == SlotState::Starting {
            // It will come to the work that waits.
            ON_ITS_WAY_MAX
        } else if self.burst.is_some() {
            PATIENCE_IN_BURST
        } else {
            PATIENCE
        }
    }

    /// Whether threads that count as blocked are looked at in this sweep too.
    fn begins_recheck(&mut self, now: Instant) -> bool {
        let is_due = self
            .rechecked
            .is_none_or(|last| now.saturating_duration_since(last) >= RECHECKS_APART);
        if is_due {
            self.rechecked = Some(now);
        }
        is_due
    }

    /// Makes room, and wakes or starts workers that use it.
    fn react(&mut self, shared: &RuntimeInner, now: Instant, stats: &SweepStats) {
        if stats.newly_blocked > 0 {
            let burst = self.burst.get_or_insert(Burst {
                since: now,
                last_detected: now,
                sweeps_that_detected: 0,
            });
            burst.last_detected = now;
            burst.sweeps_that_detected += 1;
        } else if let Some(burst) = self.burst
            && now.saturating_duration_since(burst.last_detected) >= BURST_ENDS_AFTER
        {
            self.burst = None;
        }
        if !shared.idle.may_grow() {
            // No thread can be added, so neither frequent sweeps nor threads ahead are of any use.
            self.burst = None;
        }
        let burst_sweeps = self.burst.map_or(0, |burst| burst.sweeps_that_detected);
        let starving = shared.has_waiting_tasks().then(|| stats.starving(shared));
        let beyond = policy::threads_beyond(shared.idle.limit(), starving, burst_sweeps);
        self.set_extra(shared, beyond);
        let mut wakes = shared.idle.room();
        while wakes > 0 && shared.has_visible_work(None) && shared.wake_one() {
            wakes -= 1;
        }
    }

    /// Lets threads beyond the limit run short tasks while long jobs hold every place.
    fn favour_short_tasks(&mut self, shared: &RuntimeInner, now: Instant, stats: &mut SweepStats) {
        let was_on = self.favour.is_on();
        let is_new = !was_on && shared.idle.favours_short_tasks();
        let threads = self.favour.update(Held {
            now,
            long: stats.long,
            begun_long: stats.begun_long,
            by_kinds: is_new || matches!(shared.places_of_long_kinds(), Places::Held(_)),
            running: shared.idle.running(),
            in_short_tasks: shared.idle.in_short_tasks(),
            outlasting: outlasting(&mut stats.taken_for_short),
            limit: shared.idle.limit(),
        });
        let threads = u32::try_from(threads).unwrap_or(u32::MAX);
        if was_on || self.favour.is_on() {
            // Else who brings a task may just have begun it.
            shared.idle.set_extra_for_short_tasks(threads);
        }
        if shared.has_waiting_tasks() && self.favour.wakes(now, shared.short_tasks_found.read()) {
            waking::wake_for_short_task(shared);
        }
    }

    /// Lets `extra` threads more than the workers run, or as many as hill climbing advises if that is more.
    fn set_extra(&self, shared: &RuntimeInner, extra: usize) {
        let extra = extra.max(self.climbed);
        shared.idle.set_extra(u32::try_from(extra).unwrap_or(0));
    }

    /// Called when work waits and no worker comes for it. If no thread runs either, the runtime stalls.
    fn report_if_stalled(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        if shared.idle.running() > 0 {
            self.stalled = None;
            return Sweep::Watch;
        }
        let stalled = self.stalled.get_or_insert(Stalled {
            since: now,
            is_reported: false,
        });
        if !stalled.is_reported && now.saturating_duration_since(stalled.since) >= STALLED_AFTER {
            stalled.is_reported = true;
            let stall = Stall::of(shared);
            shared.note_change(stall.threads, stall.reason);
            shared.settings.report_stall(&stall);
        }
        Sweep::Busy
    }

    /// Reads the memory use at intervals while there are more threads than may run; and while it is scarce, because no such
    /// thread can be started before it is not.
    fn check_memory(
        &mut self,
        shared: &RuntimeInner,
        now: Instant,
        is_scarce: impl FnOnce() -> bool,
    ) {
        let is_due = self
            .memory_checked
            .is_none_or(|last| now.saturating_duration_since(last) >= MEMORY_CHECKS_APART);
        if is_due && (shared.idle.has_spare_threads() || shared.idle.is_scarce()) {
            self.memory_checked = Some(now);
            shared.idle.set_scarce(is_scarce());
        }
    }
}

impl Burst {
    fn pause(self, now: Instant) -> Duration {
        let lasted = now.saturating_duration_since(self.since);
        (lasted / BURST_SHARE).max(PAUSE_IN_BURST)
    }
}

/// Demands that an owner expose an entry; if the owner has not answered since the last sweep, forces it.
/// Returns whether the monitor should look again soon.
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

/// Whether a worker was woken or started that has not run yet. It will look for work, and wake another one if there is
/// more. Were others woken in its place, each sweep would wake one for the same task where a woken thread has to wait for
/// a processor.
fn is_worker_on_its_way(shared: &RuntimeInner) -> bool {
    (0..shared.idle.started()).any(|worker| {
        let occupant = shared.slot_at(worker).map(WorkerSlot::occupant);
        match occupant.unwrap_or(SlotState::None) {
            SlotState::None => !shared.idle.is_vacant(worker),
            SlotState::Idle => !shared.idle.is_announced(worker),
            SlotState::Running | SlotState::Waiting | SlotState::Starting => false,
        }
    })
}

/// The kind of the job of the thread on `slot`, or null where another kind was seen at an earlier look at the same job:
/// the job ran others inside it, or the thread had just gone on to the next. An external thread's call is of no kind.
fn kind_of_job(
    kinds: &mut HashMap<SlotNumber, *const JobKind>,
    slot: &WorkerSlot,
    is_same_job: bool,
) -> *const JobKind {
    if !slot.is_worker() {
        return ptr::null();
    }
    let now = slot.kind();
    let kind = kinds.entry(slot.number).or_insert(now);
    if !is_same_job {
        *kind = now;
    } else if !ptr::eq(*kind, now) {
        *kind = ptr::null();
    }
    *kind
}

/// Returns whether it did not count as blocked before.
fn count_as_blocked(shared: &RuntimeInner, slot: &WorkerSlot) -> bool {
    shared.note_blocking_kind(slot);
    let is_new = shared.idle.mark(&slot.detected_blocked);
    waking::block_in_short_task(shared, &slot.in_short_task);
    is_new
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

/// A thread that is off the processor for this long inside a job is blocked; shorter waits are not worth
/// another thread.
const PATIENCE: Duration = Duration::from_micros(400);
/// In burst mode.
const PATIENCE_IN_BURST: Duration = Duration::from_micros(50);
const PAUSE_IN_BURST: Duration = Duration::from_micros(60);
/// A pause is this part of the time that the burst has lasted, so that it costs little in the long run.
const BURST_SHARE: u32 = 64;
const BURST_ENDS_AFTER: Duration = Duration::from_millis(2);
/// Time between two checks of a thread that was detected as blocked.
const RECHECKS_APART: Duration = Duration::from_millis(1);
/// A computation of this length is noted.
const LONG: Duration = Duration::from_millis(10);
/// Work that waits while nothing runs is reported after this time.
pub(crate) const STALLED_AFTER: Duration = Duration::from_millis(100);
const ON_ITS_WAY_MAX: Duration = Duration::from_millis(50);
const MEMORY_CHECKS_APART: Duration = Duration::from_millis(100);

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
