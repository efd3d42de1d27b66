//! The monitor's sweeps: each looks at the whole runtime once, and helps where no worker can.
//!
//! Four detectors say what is wrong, each in its file: threads that are blocked (`blocked.rs`), crowds of them
//! (`burst.rs`), work that starves behind long computations (`starved.rs`), and work that no worker takes
//! (`stalled.rs`). A sweep asks them, and makes room, wakes and starts workers by what they say.
//!
//! Not here: when sweeps are made (`thread.rs`).

use crate::runtime::monitor::blocked::{Found, Threads};
use crate::runtime::monitor::burst::BurstMode;
use crate::runtime::monitor::hill_climbing::HillClimbingSampler;
use crate::runtime::monitor::overcommit::{
    OvercommitForShort, SaturationSample, count_overrunning,
};
use crate::runtime::monitor::stalled::Stalls;
use crate::runtime::policy;
use crate::runtime::worker::saturation::Saturation;
use crate::runtime::{RuntimeInner, WorkerSlot, waking};
use crate::sync::clock;
use std::time::{Duration, Instant};

/// What the monitor remembers from sweep to sweep.
#[derive(Default)]
pub(crate) struct Sweeper {
    threads: Threads,
    burst: BurstMode,
    stalls: Stalls,
    /// Only where the builder enabled it.
    sampler: Option<HillClimbingSampler>,
    overcommit: OvercommitForShort,
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
    /// Long jobs occupy every worker, or did a moment ago. A push of a short task wakes a thread for it.
    Saturated,
    /// A thread needed help, or may need it at the next sweep.
    Trouble,
    /// The next sweep must follow after this time.
    Burst(Duration),
}

impl Sweeper {
    /// Looks at the whole runtime once.
    pub(crate) fn sweep(&mut self, shared: &RuntimeInner) -> Sweep {
        clock::calibrate();
        if let Some(reactor) = shared.reactor() {
            reactor.ensure_poller();
        }
        self.sweep_at(shared, clock::now())
    }

    fn sweep_at(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        if shared.settings.hill_climbing {
            let begin = || HillClimbingSampler::begin(shared, now);
            self.sampler.get_or_insert_with(begin).sample(shared, now);
        }
        if !shared.has_visible_work(None)
            && !shared.all_slots().any(|slot| slot.deque.has_private(0))
        {
            return self.sweep_without_work(shared, now);
        }
        let looks = !shared.idle.has_room() || self.burst.is_on();
        if looks {
            let mut found = self.look(shared, now);
            self.react(shared, now, &found);
            self.overcommit_for_short_tasks(shared, now, &mut found);
            if let Some(pause) = self.burst.pause(now) {
                return Sweep::Burst(pause);
            }
            if !shared.idle.has_room() && !shared.idle.is_anyone_searching() {
                self.stalls.end();
                let is_open = found.undecided > 0 || shared.idle.census().detected_blocked > 0;
                return if is_open {
                    Sweep::Watch
                } else if self.overcommit.is_on() {
                    Sweep::Saturated
                } else if found.long.threads > 0 {
                    Sweep::Watch
                } else {
                    Sweep::Busy
                };
            }
        }
        let slots = shared.all_slots();
        let helped = slots.filter(|slot| help_if_stuck(slot)).count();
        if shared.has_visible_work(None) {
            if self.stalls.brings_worker(shared, now) {
                return Sweep::Trouble;
            }
            if !looks {
                // There is room that no thread can use, so that only this shows whether those that run are blocked.
                let _ = self.look(shared, now);
            }
            let stalls = self.stalls.report_if_stalled(shared, now);
            return if stalls { Sweep::Busy } else { Sweep::Watch };
        }
        self.stalls.end();
        if helped > 0 {
            Sweep::Trouble
        } else {
            Sweep::Nothing
        }
    }

    fn sweep_without_work(&mut self, shared: &RuntimeInner, now: Instant) -> Sweep {
        self.burst.end();
        self.stalls.end();
        self.set_extra(shared, 0);
        // Clears the flag of a thread that runs again, and finds long jobs.
        let looks = !shared.idle.has_room() || shared.idle.census().detected_blocked > 0;
        let mut found = if looks {
            self.look(shared, now)
        } else {
            Found::default()
        };
        self.overcommit_for_short_tasks(shared, now, &mut found);
        if !shared.idle.has_room() && self.overcommit.is_on() {
            return Sweep::Saturated;
        }
        if !shared.idle.has_room() && found.at_same_job == 0 {
            return Sweep::Busy;
        }
        if shared.idle.is_inactive() {
            Sweep::Inactive
        } else {
            Sweep::Nothing
        }
    }

    fn look(&mut self, shared: &RuntimeInner, now: Instant) -> Found {
        self.threads.look(shared, now, self.burst.blocked_after())
    }

    /// Makes room, and wakes or starts workers that use it.
    fn react(&mut self, shared: &RuntimeInner, now: Instant, found: &Found) {
        self.burst.note(now, found.newly_blocked);
        if !shared.idle.may_grow() {
            // No thread can be added.
            self.burst.end();
        }
        let has_waiting = shared.has_waiting_tasks();
        let starving = has_waiting.then(|| found.long.starving(shared));
        let burst_sweeps = self.burst.sweeps_that_detected();
        let beyond = policy::threads_beyond(shared.idle.limit, starving, burst_sweeps);
        self.set_extra(shared, beyond);
        let mut wakes = shared.idle.room();
        while wakes > 0 && shared.has_visible_work(None) && shared.wake_one() {
            wakes -= 1;
        }
    }

    /// Lets threads beyond the limit run short tasks while long jobs occupy every worker.
    fn overcommit_for_short_tasks(
        &mut self,
        shared: &RuntimeInner,
        now: Instant,
        found: &mut Found,
    ) {
        let was_on = self.overcommit.is_on();
        let is_new = !was_on && shared.idle.overcommits();
        let threads = self.overcommit.update(SaturationSample {
            now,
            long: found.long.threads,
            by_kinds: is_new || matches!(shared.saturation(), Saturation::Full(_)),
            running: shared.idle.running(),
            in_short_tasks: shared.idle.in_short_tasks.read(),
            turned_out_long: found.long.taken_for_short.len(),
            overrunning: count_overrunning(&mut found.long.taken_for_short),
            limit: shared.idle.limit,
        });
        if was_on || self.overcommit.is_on() {
            // Else a push may just have started it.
            shared.idle.set_extra_for_short_tasks(threads);
        }
        if shared.has_waiting_tasks() && self.overcommit.wakes(now, shared.short_tasks_found.read())
        {
            waking::wake_for_short_task(shared);
        }
    }

    /// Lets `extra` threads more than the workers run, or as many as hill climbing advises if that is more.
    fn set_extra(&self, shared: &RuntimeInner, extra: usize) {
        let climbed = self.sampler.as_ref().map_or(0, HillClimbingSampler::extra);
        shared.idle.set_extra(extra.max(climbed));
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

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests;
