//! The state word of a task that is a closure, with its joiner: which thread runs it, reads the result, frees the cell.
//!
//! Threads: the worker that takes the task from the queue, the handle's holder, and in one model an abort handle's.
//! Operations, all of `task/steps.rs`: the task is performed or dropped; it is run in place, waited for, cancelled, or
//! detached.
//! Property: the closure is run at most once, the result is read only when the joiner is final, and the
//! cell is freed exactly once, after every access.

use super::joiner::Joiner;
use super::state::State;
use super::steps::{self, Held, HeldClosure, Step};
use crate::job::{Action, ExecutionId, SlotNumber};
use crate::models::{Flag, Memory, Work, check, wait_asleep};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

struct Model {
    state: State,
    joiner: Joiner,
    cell: Memory,
    closure: Work,
    /// The closure is gone, and the outcome in its place.
    has_outcome: Work,
    /// The closure was run, not dropped.
    has_run: Flag,
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
            has_outcome: Work::new(1),
            has_run: Flag::new(),
            parker: Parker::new(),
        })
    }

    /// The queue's part.
    fn perform(&self, action: Action<'_>) {
        // SAFETY: the model keeps the cell, and `cell` tells if it should not have.
        unsafe { steps::perform_closure(self, action) };
    }

    /// The handle's part, waiting on a thread of the pool, which may run the task itself.
    fn join_in_place(&self) {
        // SAFETY: as above.
        if !unsafe { steps::run_in_place(self) } {
            self.wait();
        }
        self.drop_handle();
    }

    /// The handle's part, waiting elsewhere.
    fn join(&self) {
        self.wait();
        self.drop_handle();
    }

    fn wait(&self) {
        // SAFETY: as above.
        let is_over = || unsafe { Held::joiner(&self) }.is_final();
        let fall_asleep = || self.joiner.fall_asleep(SLOT);
        wait_asleep(&self.parker, is_over, fall_asleep);
        assert!(self.has_outcome.is_done(), "the outcome is not there");
    }

    fn drop_handle(&self) {
        let take_outcome = || -> () { unreachable!("a closure's state is never done") };
        // SAFETY: as above.
        unsafe { steps::drop_handle(self, take_outcome) };
    }
}

impl Held for &Model {
    unsafe fn state(&self) -> &State {
        self.cell.touch();
        &self.state
    }

    unsafe fn joiner(&self) -> &Joiner {
        self.cell.touch();
        &self.joiner
    }

    unsafe fn show(&self) {
        self.cell.touch();
    }

    fn wake_slot(self, slot: SlotNumber) {
        assert_eq!(slot, SLOT);
        self.parker.unpark();
    }

    unsafe fn queue(self) {
        unreachable!("a closure is queued once");
    }

    unsafe fn free(self) {
        assert!(self.has_outcome.is_done(), "a cell is freed unperformed");
        self.cell.free();
    }
}

impl HeldClosure for &Model {
    unsafe fn run(self, step: Step) {
        self.cell.touch();
        self.closure.run();
        if step == Step::Run {
            self.has_run.set();
        }
        self.has_outcome.run();
    }
}

/// Performs the task by `action` on another thread beside the handle's part, and checks that the cell is freed.
/// Returns whether the closure was run.
fn model(action: Action<'static>, handle: fn(&Model)) -> bool {
    let model = Model::new();
    let taker = thread::spawn({
        let model = Arc::clone(&model);
        move || model.perform(action)
    });
    handle(&model);
    taker.join().expect("the model fails at once");
    // SAFETY: the other thread has ended.
    let is_freed = model.cell.freed.with(|freed| unsafe { *freed });
    assert!(is_freed, "the cell is never freed");
    assert!(model.closure.is_done());
    model.has_run.is_set()
}

const RUN: Action<'static> = Action::Run(ExecutionId::UNKNOWN);

#[test]
fn a_dropped_handle_leaves_the_cell_to_the_queue_s_holder() {
    check(|| assert!(model(RUN, Model::drop_handle)));
}

#[test]
fn a_joined_task_is_run_once_by_either_side() {
    check(|| assert!(model(RUN, Model::join_in_place)));
}

#[test]
fn a_join_elsewhere_wakes_and_reads_after_the_latch() {
    check(|| assert!(model(Action::Run(ExecutionId::new(3, 0, 1)), Model::join)));
}

#[test]
fn a_join_of_a_discarded_task_wakes_too() {
    check(|| assert!(!model(Action::Discard, Model::join)));
}

#[test]
fn a_cancelled_task_is_run_or_dropped_once() {
    check(|| {
        let cancel_and_join = |model: &Model| {
            // SAFETY: the handle holds the cell.
            unsafe { steps::cancel(model) };
            model.join_in_place();
        };
        model(RUN, cancel_and_join);
    });
}

#[test]
fn an_abort_handle_keeps_the_cell_beside_a_dropped_handle() {
    check(|| {
        let model = Model::new();
        model.state.add_waker();
        let (taker, aborter) = (Arc::clone(&model), Arc::clone(&model));
        let taker = thread::spawn(move || taker.perform(RUN));
        let aborter = thread::spawn(move || {
            // SAFETY: the abort handle holds the cell until it is released.
            unsafe { steps::cancel(&*aborter) };
            // SAFETY: as above; not used again.
            unsafe { steps::release_waker(&*aborter) };
        });
        model.drop_handle();
        for thread in [taker, aborter] {
            thread.join().expect("the model fails at once");
        }
        // SAFETY: the other threads have ended.
        let is_freed = model.cell.freed.with(|freed| unsafe { *freed });
        assert!(is_freed, "the cell is never freed");
        assert!(model.closure.is_done());
    });
}
