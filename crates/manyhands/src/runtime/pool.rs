//! A runtime as the steps of sleeping, waking and ending see it.
//!
//! Not here: the steps (`waking.rs`, `ending.rs`), which the models run on pools of their own.

use crate::job::TaskRegistry;
use crate::runtime::ending::{self, Ending, Ends};
use crate::runtime::sleep::idle::Idle;
use crate::runtime::sleep::waking::{Pool, Waker};
use crate::runtime::{RuntimeInner, current};
use crate::sync::atomic::Ordering;
use crate::sync::clock;

impl Pool for RuntimeInner {
    fn idle(&self) -> &Idle {
        &self.idle
    }

    fn has_visible_work(&self) -> bool {
        self.has_visible_work(None)
    }

    fn unpark(&self, worker: usize, waker: Waker) {
        let Some(slot) = self.slot_at(worker) else {
            return;
        };
        // Relaxed: a measurement.
        slot.woken_at
            .store(clock::ticks().max(1), Ordering::Relaxed);
        // Sockets wake workers far more often than loops do, and for less than it costs to move one.
        let is_polling = current::worker().is_some_and(|(own, _)| own.is_polling.get());
        if waker == Waker::GoesOn && !is_polling {
            let waker = usize::from(current::slot().is_none());
            // The woken one is counted as running already.
            slot.placement
                .steer_away(self.idle.running().saturating_sub(1) + waker);
        }
        slot.parker.unpark();
    }

    fn start(&self, worker: usize) -> bool {
        self.start_worker(worker)
    }

    fn arm_monitor(&self) {
        self.arm_monitor();
    }

    fn alert_monitor(&self) {
        self.alert_monitor();
    }

    fn rouse_monitor(&self) {
        self.rouse_monitor();
    }

    fn look_for_end(&self) {
        ending::is_over(self);
    }
}

impl Ends for RuntimeInner {
    fn ending(&self) -> &Ending {
        &self.ending
    }

    fn registry(&self) -> &TaskRegistry {
        self.registry()
    }

    fn cancel_waiting(&self) {
        self.cancel_waiting();
    }

    fn discard_queued(&self) {
        self.discard_queued();
    }

    fn unpark_all(&self) {
        self.all_slots().for_each(|slot| slot.parker.unpark());
    }
}
