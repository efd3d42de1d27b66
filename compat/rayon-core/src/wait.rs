//! Waiting of a thread in a slot.
//!
//! A waiter runs, in this order:
//! 1. what lies in its slot and the frames of its newest execution wait for, newest first, and broadcasts, which only it
//!    may run;
//! 2. what is awaited at its latch, and parts of what runs for that, wherever they are (`executions.rs`, `slot.rs`);
//! 3. anything of its pool, but only as the last resort: when every other thread of the pool sleeps, at a latch or,
//!    now and [`PATIENCE`] ago, in its work.
//!
//! A thread decides that alone: no other one announces its sleep at a latch, looks once more after that, or becomes the last
//! resort meanwhile. So one that is seen to sleep has nothing to run, none that was woken sleeps again unseen, and there is one
//! last resort at a time.
//!
//! So a thread that holds a lock across a parallel call does not, as long as another thread can, run a stranger that
//! wants the same lock. Without the last resort two pools of one thread could wait for each other for ever.
//!
//! A thread of manyhands declares that it blocks before it sleeps here, so that another one runs tasks in its place.
//!
//! Not here: external threads, which only sleep (`latch.rs`).

use crate::executions::{Execution, Link};
use crate::job::{Awaited, JobRef};
use crate::latch::{Latch, pause, retry_refused_threads};
use crate::search::Searched;
use crate::sleep::State;
use crate::sync::LOOKS;
use crate::unwind::AbortIfPanic;
use crate::worker::WorkerThread;
use std::ops::ControlFlow;
use std::time::Duration;

impl WorkerThread {
    /// Waits until `latch`, which is this thread's, is set.
    #[inline]
    pub(crate) fn wait_until(&self, latch: &Latch) {
        if !latch.is_set() {
            self.wait_until_cold(latch);
        }
    }

    #[cold]
    fn wait_until_cold(&self, latch: &Latch) {
        // Others hold pointers into the frames below.
        let frame = AbortIfPanic;
        let mut looks = 0;
        while !latch.is_set() {
            if let Some(job) = self.take_awaited(latch).or_else(|| self.find_part(latch)) {
                self.execute(job);
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                if looks < LOOKS / 2 {
                    pause();
                } else {
                    self.pause();
                }
            } else if let Some(job) = self.sleep_at(latch) {
                self.execute(job);
                looks = 0;
            } else {
                // A thread that was woken will soon be needed again.
                looks = LOOKS / 2;
            }
        }
        frame.disarm();
    }

    /// What is awaited at `latch`, or a part of what runs for that, however long that chain is.
    fn find_part(&self, latch: &Latch) -> Option<JobRef> {
        let mut links = self.links.borrow_mut();
        links.clear();
        let mut found = self.find_part_of(latch, None, &mut links);
        let mut followed = 0;
        while found.is_continue() && followed < links.len() {
            found = self.find_part_of(latch, Some(followed), &mut links);
            followed += 1;
        }
        found.break_value().flatten()
    }

    /// Adds to `links` the executions that are a part of link `whole`, or run for `latch`. Ends the search with a job
    /// that is such a part, or with none where one has been stolen that is not.
    fn find_part_of(
        &self,
        latch: &Latch,
        whole: Option<usize>,
        links: &mut Vec<Link>,
    ) -> ControlFlow<Option<JobRef>> {
        let carrier = whole.map(|whole| links[whole]);
        let is_sought = |awaited: Awaited| match carrier {
            Some(carrier) => carrier.carries(awaited.waiter),
            None => awaited.latch == latch.id(),
        };
        if is_sought(self.slot().spawned_for())
            && let Some(job) = self.slot().steal_spawned()
        {
            return self.use_stolen(job, latch, links);
        }
        for (index, slot) in self.other_slots() {
            let is_covered = |execution: Execution| {
                let covers =
                    |link: &Link| link.slot == index && !execution.is_below(link.execution);
                links.iter().any(covers)
            };
            let execution = slot.executions.find(is_sought);
            if let Some(execution) = execution.filter(|execution| !is_covered(*execution)) {
                links.push(Link {
                    slot: index,
                    execution,
                    whole,
                });
                if let Some(job) = slot.steal_forked() {
                    return self.use_stolen(job, latch, links);
                }
                let handed = |awaited| self.is_part(awaited, latch, links);
                if let Some(job) = slot.handed.take(handed) {
                    return ControlFlow::Break(Some(job));
                }
            }
            if is_sought(slot.spawned_for())
                && let Some(job) = slot.steal_spawned()
            {
                return self.use_stolen(job, latch, links);
            }
        }
        ControlFlow::Continue(())
    }

    /// Ends a search with a stolen job if that is a part. Otherwise it is not this thread's to run now.
    fn use_stolen(
        &self,
        job: JobRef,
        latch: &Latch,
        links: &[Link],
    ) -> ControlFlow<Option<JobRef>> {
        if self.is_part(job.awaited(), latch, links) {
            return ControlFlow::Break(Some(job));
        }
        self.registry().hand_over(job);
        ControlFlow::Break(None)
    }

    /// Whether a job that is awaited so, and is in the hands of this thread, is awaited at `latch`, or by a frame on top of
    /// one of the links.
    fn is_part(&self, awaited: Awaited, latch: &Latch, links: &[Link]) -> bool {
        awaited.latch == latch.id()
            || links
                .iter()
                .any(|link| link.carries(awaited.waiter) && self.leads_here(link, links))
    }

    /// Whether all executions that the link was found through still run.
    fn leads_here(&self, link: &Link, links: &[Link]) -> bool {
        let mut next = Some(link);
        while let Some(link) = next {
            let executions = &self.registry().slot(link.slot).executions;
            if !executions.runs(link.execution) {
                return false;
            }
            next = link.whole.map(|whole| &links[whole]);
        }
        true
    }

    /// Sleeps until `latch` is set, or somebody pushes what may be a part of what it stands for. Returns a job if
    /// there is one for this thread, be it as the last resort.
    fn sleep_at(&self, latch: &Latch) -> Option<JobRef> {
        let (registry, slot) = (self.registry(), self.slot());
        let sleep = registry.sleep();
        let before = slot.state.before_sleep();
        if !latch.fall_asleep() {
            return None;
        }
        let mut found = None;
        let mut alone = Some(registry.decide_alone());
        let mut has_waited_long = false;
        if sleep.announce(&slot.state, before, State::Waiting) {
            // Once more: who pushes from now on sees the announcement.
            found = self.take_awaited(latch).or_else(|| self.find_part(latch));
            let has_work = found.is_none() && self.finds_work();
            let mut is_last_resort = has_work && self.all_others_wait();
            if found.is_none() && !is_last_resort && !latch.is_set() {
                let is_work_stuck = has_work && self.no_other_runs();
                drop(alone.take());
                // A token says that somebody has woken this thread.
                let has_token = manyhands::task::blocking(|| slot.parker.park(Some(PATIENCE)));
                has_waited_long = !has_token;
                alone = (is_work_stuck && !has_token).then(|| registry.decide_alone());
                is_last_resort = alone.is_some() && self.no_other_runs();
            }
            // A last resort does not wait any more when the next thread decides.
            sleep.end(&slot.state, State::Waiting);
            drop(alone);
            if is_last_resort && !latch.is_set() {
                found = self.find();
            }
        }
        latch.wake_up();
        if has_waited_long && !registry.has_own_threads() {
            retry_refused_threads();
        }
        found
    }

    /// Whether all other threads sleep at latches that are not set.
    fn all_others_wait(&self) -> bool {
        self.other_slots()
            .all(|(_, slot)| slot.state.is(State::Waiting))
    }

    /// Whether none of the other threads runs, as far as the system says: each sleeps at a latch or in its work.
    fn no_other_runs(&self) -> bool {
        self.other_slots()
            .all(|(_, slot)| slot.state.is(State::Waiting) || slot.is_blocked())
    }
}

/// How long all threads of a pool may sleep beside waiting work.
const PATIENCE: Duration = Duration::from_millis(10);
