//! Waiting of a thread in a slot.
//!
//! A waiter runs, in this order:
//! 1. what its own frames have pushed, newest first, and broadcasts, which only it may run;
//! 2. parts of the execution that it waits for, wherever they are, and of what that execution waits for in turn;
//! 3. anything of its pool, but only as the last resort: when every other thread of the pool sleeps, at a latch or,
//!    now and [`PATIENCE`] ago, in its work.
//!
//! So a thread that holds a lock across a parallel call does not, as long as another thread can, run a stranger that
//! wants the same lock. Without the last resort two pools of one thread could wait for each other for ever.
//!
//! A thread of manyhands declares that it blocks before it sleeps here, so that another one runs tasks in its place.
//!
//! Not here: external threads, which only sleep (`latch.rs`).

use crate::executions::Link;
use crate::job::JobRef;
use crate::latch::{LOOKS, Latch, pause};
use crate::search::Searched;
use crate::sleep::State;
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
        self.set_awaits(latch.id());
        while !latch.is_set() {
            if let Some(job) = self.take_local().or_else(|| self.find_part(latch)) {
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
        self.set_awaits(0);
        frame.disarm();
    }

    /// A part of what runs for `latch`, or of what that waits for in turn, however long that chain is.
    fn find_part(&self, latch: &Latch) -> Option<JobRef> {
        let mut path = self.path.borrow_mut();
        path.clear();
        let mut found = self.find_part_at(latch, latch.id(), None, &mut path);
        let mut followed = 0;
        while found.is_continue()
            && let Some(&Link {
                slot, execution, ..
            }) = path.get(followed)
        {
            let executions = &self.registry().slot(slot).executions;
            found = executions.awaited_in(execution).try_for_each(|awaited| {
                self.find_part_at(latch, awaited, Some(followed), &mut path)
            });
            followed += 1;
        }
        found.break_value().flatten()
    }

    /// Adds to `path` where executions for `awaited` run, for which the link `waiter` waits. Ends the search with a job
    /// that is part of one, or with none where a job has been stolen that may be no part any more.
    fn find_part_at(
        &self,
        latch: &Latch,
        awaited: usize,
        waiter: Option<usize>,
        path: &mut Vec<Link>,
    ) -> ControlFlow<Option<JobRef>> {
        for (index, slot) in self.other_slots() {
            let Some(execution) = slot.executions.find(awaited) else {
                continue;
            };
            let is_covered =
                |link: &Link| link.slot == index && !execution.is_below(link.execution);
            if path.iter().any(is_covered) {
                continue;
            }
            path.push(Link {
                slot: index,
                execution,
                waiter,
            });
            if let Some(job) = slot.steal_forked() {
                if self.leads_here(path) && !latch.is_set() {
                    return ControlFlow::Break(Some(job));
                }
                // It may be a part of something else, which is not this thread's to run now.
                self.registry().give_back(index, job);
                return ControlFlow::Break(None);
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether all executions that the newest link was found through still run.
    fn leads_here(&self, path: &[Link]) -> bool {
        let mut next = path.last();
        while let Some(link) = next {
            let executions = &self.registry().slot(link.slot).executions;
            if !executions.runs(link.execution) {
                return false;
            }
            next = link.waiter.map(|waiter| &path[waiter]);
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
        if sleep.announce(&slot.state, before, State::Waiting) {
            // Once more: who pushes from now on sees the announcement.
            found = self.take_local().or_else(|| self.find_part(latch));
            let mut is_last_resort = found.is_none() && self.all_others_wait();
            if found.is_none() && !is_last_resort && !latch.is_set() {
                let is_work_stuck = self.finds_work() && self.no_other_runs();
                // A token says that somebody has woken this thread.
                let has_token = manyhands::task::blocking(|| slot.parker.park(Some(PATIENCE)));
                is_last_resort = is_work_stuck && !has_token && self.no_other_runs();
            }
            sleep.end(&slot.state, State::Waiting);
            if is_last_resort && !latch.is_set() {
                found = self.find();
            }
        }
        latch.wake_up();
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
