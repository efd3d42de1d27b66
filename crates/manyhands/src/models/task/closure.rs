//! The state word of a task that is a closure, with its joiner: which thread runs it, reads the result, frees the cell.
//!
//! Threads: the worker that takes the task from the queue, and the handle's holder. Operations, as in
//! `task/closure.rs` and `task/handle.rs`: claim, run or drop, finish the joiner, let go of the queue's part;
//! claim in place, wait, take the result, let go of the handle's part.
//! Property: the closure is run at most once, the result is read only when the joiner is final, and the
//! cell is freed exactly once, after every access.

use super::joiner::{Joiner, Sleeper};
use super::state::{AfterRelease, State};
use crate::models::{Memory, Work, check, wait_asleep};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

struct Model {
    state: State,
    joiner: Joiner,
    cell: Memory,
    closure: Work,
    /// Not part of the cell.
    parker: Parker,
}

const SLOT: u16 = 7;

impl Model {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: State::new(),
            joiner: Joiner::new(),
            cell: Memory::new(),
            closure: Work::new(0),
            parker: Parker::new(),
        })
    }

    /// The queue's part.
    fn perform(&self, runs: bool) {
        self.cell.touch();
        let claimed = self.state.claim_queued();
        if let Some(claimed) = claimed {
            if runs && !claimed.is_cancelled {
                self.closure.run();
            }
            if !claimed.is_awaited {
                self.cell.free();
                return;
            }
            self.cell.touch();
            match self.joiner.finish() {
                Some(Sleeper::WorkerSlot(slot)) => {
                    assert_eq!(slot, SLOT);
                    self.parker.unpark();
                }
                Some(Sleeper::Waker(_)) => unreachable!("nobody registers a waker here"),
                None => {}
            }
        }
        self.cell.touch();
        if self.state.release_queue() == AfterRelease::Free {
            self.cell.free();
        }
    }

    /// The handle's part, waiting on a thread of the pool, which may run the task itself.
    fn join_in_place(&self) {
        self.cell.touch();
        if self.state.claim().is_none() {
            return self.join();
        }
        self.closure.run();
        assert!(self.joiner.finish().is_none());
        self.drop_handle();
    }

    /// The handle's part, waiting elsewhere.
    fn join(&self) {
        self.cell.touch();
        let fall_asleep = || self.joiner.fall_asleep(SLOT);
        wait_asleep(&self.parker, || self.joiner.is_final(), fall_asleep);
        let _ = self.closure.is_done();
        self.drop_handle();
    }

    fn drop_handle(&self) {
        self.cell.touch();
        if self.state.release_handle() == AfterRelease::Free {
            self.cell.free();
        }
    }
}

/// Runs the queue's part on another thread beside the handle's part, and checks that the cell is freed.
fn model(runs: bool, handle: impl Fn(&Model) + Send + Sync + 'static) {
    check(move || {
        let model = Model::new();
        let taker = thread::spawn({
            let model = Arc::clone(&model);
            move || model.perform(runs)
        });
        handle(&model);
        taker.join().expect("the model fails at once");
        // SAFETY: the other thread has ended.
        let is_freed = model.cell.freed.with(|freed| unsafe { *freed });
        assert!(is_freed, "the cell is never freed");
        assert_eq!(model.closure.is_done(), runs);
    });
}

#[test]
fn a_dropped_handle_leaves_the_cell_to_the_queue_s_holder() {
    model(true, Model::drop_handle);
}

#[test]
fn a_joined_task_is_run_once_by_either_side() {
    model(true, Model::join_in_place);
}

#[test]
fn a_join_elsewhere_wakes_and_reads_after_the_latch() {
    model(true, Model::join);
}

#[test]
fn a_join_of_a_discarded_task_wakes_too() {
    model(false, Model::join);
}
