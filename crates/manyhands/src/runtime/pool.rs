//! A runtime as the steps of sleeping, waking and ending see it.
//!
//! Not here: the steps (`waking.rs`, `ending.rs`), which the models run on pools of their own.
//!
//! Unsafe: waiting tasks are cancelled by pointer.

use crate::job::{Job, RunPermit, TaskRegistry};
use crate::runtime::ending::{self, Ending};
use crate::runtime::{CallerNext, Ends, Idle, Pool, RuntimeInner, current};
use crate::sync::atomic::Ordering;
use crate::sync::{clock, process};

impl Pool for RuntimeInner {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        self.has_visible_work(None)
    }

    fn has_unowned_work(&self) -> bool {
        self.has_waiting_tasks() || !self.unowned_forks.is_empty()
    }

    fn unpark(&self, worker: usize, next: CallerNext) {
        if process::is_forked() {
            // The worker is a thread of the parent, which is not to be moved from here.
            return;
        }
        let Some(slot) = self.slot_at(worker) else {
            return;
        };
        // Relaxed: a measurement.
        slot.woken_at
            .store(clock::ticks().max(1), Ordering::Relaxed);
        let is_polling = current::worker().is_some_and(|(own, _)| own.is_polling.get());
        // Sockets wake workers far more often than loops do, and for less than it costs to move one.
        if !is_polling && let Some(busy) = self.busy_beside_woken(next) {
            slot.placement.steer_away(busy);
        }
        slot.parker.unpark();
    }

    fn start(&self, worker: usize) -> bool {
        // A thread that a forked child started would end it.
        !process::is_forked() && self.start_worker(worker)
    }

    #[inline]
    fn arm_monitor(&self) {
        if self.monitor.switch.arm() {
            self.unpark_or_start_monitor();
        }
    }

    #[inline]
    fn alert_monitor(&self) {
        if self.monitor.switch.alert() {
            self.unpark_or_start_monitor();
        }
    }

    fn rouse_monitor(&self) {
        self.unpark_or_start_monitor();
    }

    fn look_for_end(&self) {
        ending::is_over(self);
    }
}

impl RuntimeInner {
    /// Number of busy processors to avoid. `None`: leave placement to the kernel.
    fn busy_beside_woken(&self, next: CallerNext) -> Option<usize> {
        (next == CallerNext::GoesOn).then(|| {
            let is_outside = current::slot().is_none();
            // The woken one is counted as running already.
            self.idle.running().saturating_sub(1) + usize::from(is_outside)
        })
    }
}

impl Ends for RuntimeInner {
    fn ending(&self) -> &Ending {
        &self.ending
    }

    fn registry(&self) -> &TaskRegistry {
        self.registry
    }

    fn cancel_waiting(&self) {
        self.registry.close(|job| {
            // SAFETY: registered, because the registry is locked.
            unsafe { Job::cancel(job) };
        });
    }

    fn pass_calls_on(&self) {
        // Threads that have entered the runtime call in another one from now on, which does not know of them yet. None is watched
        // anew, because the end has begun: F6.
        self.unwatch_calls();
        self.open_calls(|calls, pass_on| calls.open_all(self, pass_on));
    }

    fn discard_queued(&self, mut permit: RunPermit<'_>) {
        // An execution, so that the monitor sees a destructor that blocks a worker.
        let worker = current::worker().map(|(slot, _)| slot);
        if let Some(slot) = worker {
            slot.begin_execution();
        }
        let mut is_any = true;
        while is_any {
            is_any = false;
            let own = self.all_slots().map(|slot| &slot.tasks);
            for queue in self.queues_outside().chain(own) {
                // A destructor may spawn into a queue that was empty a moment ago.
                is_any |= self.discard(queue, permit.again());
            }
        }
        if let Some(slot) = worker {
            slot.end_execution();
        }
    }

    fn inside(&self, f: impl FnOnce()) {
        current::visit(self, f);
    }

    fn unpark_all(&self) {
        self.all_slots().for_each(|slot| slot.parker.unpark());
    }

    fn unpark_closing(&self) {
        self.closing_waits.unpark();
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::CallerNext;
    use crate::Runtime;

    #[test]
    fn a_woken_worker_keeps_off_the_processors_of_those_that_run_and_of_who_wakes_it() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let shared = runtime.shared();
        runtime.install(|| {
            let running = shared.idle.running();
            assert!(running > 0, "this thread is one of them");
            let busy = [CallerNext::GoesOn, CallerNext::Leaves];
            let busy = busy.map(|next| shared.busy_beside_woken(next));
            assert_eq!(busy, [Some(running - 1), None]);
        });
        // This one has none of their places, but a processor.
        let busy = shared.busy_beside_woken(CallerNext::GoesOn).unwrap();
        assert!((1..=2).contains(&busy), "{busy}");
    }
}
