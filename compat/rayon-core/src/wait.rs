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

use crate::job::JobRef;
use crate::latch::Latch;
use crate::sleep::State;
use crate::slot::Execution;
use crate::unwind::AbortIfPanic;
use crate::worker::WorkerThread;
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
        let slot = self.slot();
        let awaiting = slot.awaiting();
        let mut looks = 0;
        while !latch.is_set() {
            slot.set_awaiting(latch.id());
            if let Some(job) = self.take_local().or_else(|| self.find_part(latch)) {
                self.execute(job);
                looks = 0;
            } else if looks < LOOKS {
                looks += 1;
                if looks < LOOKS / 2 {
                    (0..16).for_each(|_| std::hint::spin_loop());
                } else {
                    std::thread::yield_now();
                }
            } else if let Some(job) = self.sleep_at(latch) {
                self.execute(job);
                looks = 0;
            } else {
                // A thread that was woken will soon be needed again.
                looks = LOOKS / 2;
            }
        }
        slot.set_awaiting(awaiting);
        frame.disarm();
    }

    /// A part of what runs for `latch`, or of what that waits for.
    fn find_part(&self, latch: &Latch) -> Option<JobRef> {
        let mut chain: [Option<Execution>; CHAIN] = [None; CHAIN];
        let mut awaited = latch.id();
        for length in 0..CHAIN {
            let mut next = None;
            for (index, slot) in self.other_slots() {
                let Some(execution) = slot.execution_for(index, awaited) else {
                    continue;
                };
                chain[length] = Some(execution);
                if let Some(job) = slot.steal_forked() {
                    if self.run_still(&chain) && !latch.is_set() {
                        return Some(job);
                    }
                    // It may be a part of something else, which is not this thread's to run now.
                    self.registry().give_back(index, job);
                    return None;
                }
                let then = slot.awaiting();
                if then != 0 && slot.runs(execution) {
                    next = Some((execution, then));
                }
            }
            let (execution, then) = next?;
            chain[length] = Some(execution);
            awaited = then;
        }
        None
    }

    fn run_still(&self, chain: &[Option<Execution>]) -> bool {
        let mut executions = chain.iter().flatten();
        executions.all(|execution| self.registry().slot(execution.slot).runs(*execution))
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
            let mut is_last_resort = found.is_none() && registry.all_others_wait(self);
            if found.is_none() && !is_last_resort && !latch.is_set() {
                let is_work_stuck = registry.has_work_for(self) && registry.no_other_runs(self);
                // A token says that somebody has woken this thread.
                let has_token = manyhands::task::blocking(|| slot.parker.park(Some(PATIENCE)));
                is_last_resort = is_work_stuck && !has_token && registry.no_other_runs(self);
            }
            sleep.end(&slot.state, State::Waiting);
            if is_last_resort && !latch.is_set() {
                found = self.find();
            }
        }
        latch.wake_up();
        found
    }
}

/// Looks of a waiter before it sleeps; the later half of them lets other threads run.
const LOOKS: u32 = 64;
/// How far a waiter follows what its runner waits for.
const CHAIN: usize = 8;
/// How long all threads of a pool may sleep beside waiting work.
const PATIENCE: Duration = Duration::from_millis(10);
