//! The state word of a task that is a closure, with its joiner: which thread runs it, reads the result, frees the cell.
//!
//! Threads: the worker that takes the task from the queue, the handle's holder, and in one model an abort handle's.
//! Operations, all of `task/steps.rs`: the task is performed or dropped; it is run in place, waited for, cancelled, or
//! detached.
//! Property: the closure is run at most once, the outcome is taken only when the joiner is final, or dropped with the cell,
//! once, and the cell is freed exactly once, after every access.

use super::joiner::Joiner;
use super::state::State;
use super::steps::{self, CellRef, ClaimedWork, ClosureCell, EndedPart, HandlePart, LastPart};
use super::steps::{QueuePart, Step, TaskCell};
use super::{Kept, PARKER, SLOT};
use crate::job::{Action, ExecutionId, SlotNumber};
use crate::models::{Flag, Memory, Work, beside, check, join_all, wait_asleep};
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::task::Waker;

struct Model {
    state: State,
    joiner: Joiner,
    cell: Memory,
    closure: Work,
    /// The closure is gone, and the outcome in its place.
    has_outcome: Work,
    /// "Run" by the thread that takes or drops the outcome.
    outcome: Work,
    /// The closure was run, not dropped.
    has_run: Flag,
    /// These are not in the cell.
    queued: Kept<QueuePart<Self>>,
    handle: Kept<HandlePart<Self, ()>>,
}

impl Model {
    fn new() -> Arc<Self> {
        let model = Arc::new(Self {
            state: State::new(),
            joiner: Joiner::new(),
            cell: Memory::new(),
            closure: Work::new(0),
            has_outcome: Work::new(1),
            outcome: Work::new(2),
            has_run: Flag::new(),
            queued: Kept::none(),
            handle: Kept::none(),
        });
        let cell = NonNull::from(&*model);
        // SAFETY: the model keeps the cell, and `cell` tells if it should not have.
        model.queued.put(unsafe { QueuePart::from_raw(cell) });
        // SAFETY: as above.
        model.handle.put(unsafe { HandlePart::from_raw(cell) });
        model
    }

    fn perform(&self, action: Action<'_>) {
        steps::perform_closure(self.queued.take(), action);
    }

    /// The handle's holder, waiting on a thread of the pool, which may run the task itself.
    fn join_in_place(&self) {
        let mut handle = self.handle.take();
        if steps::run_in_place(&mut handle.0) {
            Self::take(handle);
        } else {
            Self::wait_and_take(handle);
        }
    }

    /// The handle's holder, waiting elsewhere.
    fn join(&self) {
        Self::wait_and_take(self.handle.take());
    }

    fn wait_and_take(handle: HandlePart<Self, ()>) {
        let joiner = || TaskCell::joiner(&**handle);
        let fall_asleep = || joiner().fall_asleep(SLOT);
        wait_asleep(&PARKER, || joiner().is_final(), fall_asleep);
        Self::take(handle);
    }

    fn take(mut handle: HandlePart<Self, ()>) {
        let outcome = handle.poll_outcome(Waker::noop());
        assert!(outcome.is_ready(), "the task has not ended");
    }

    /// By whose it is.
    fn end_outcome(&self) {
        self.cell.touch();
        assert!(self.has_outcome.is_done(), "the outcome is not there");
        self.outcome.run();
    }

    fn cancel_and_join_in_place(&self) {
        let handle = self.handle.take();
        handle.cell().cancel();
        self.handle.put(handle);
        self.join_in_place();
    }

    fn drop_handle(&self) {
        drop(self.handle.take());
    }
}

impl TaskCell for Model {
    type Outcome<T> = ();

    fn state(&self) -> &State {
        self.cell.touch();
        &self.state
    }

    fn joiner(&self) -> &Joiner {
        self.cell.touch();
        &self.joiner
    }

    fn show(&self) {
        self.cell.touch();
    }

    fn wake_slot(slot: SlotNumber) {
        super::wake_slot(slot);
    }

    fn queue(_: QueuePart<Self>) {
        unreachable!("a closure is queued once");
    }

    fn free(cell: LastPart<Self>) {
        if LastPart::has_outcome(&cell) {
            cell.end_outcome();
        }
        cell.cell.free();
    }

    unsafe fn take_outcome<T>(cell: CellRef<'_, Self>) {
        cell.end_outcome();
    }

    fn drop_outcome(_: &mut EndedPart<Self>) {
        unreachable!("a closure is never done");
    }
}

impl ClosureCell for Model {
    fn run(work: ClaimedWork<'_, Self>, step: Step) {
        let model = work.cell();
        model.cell.touch();
        model.closure.run();
        if step == Step::Run {
            model.has_run.set();
        }
        model.has_outcome.run();
    }
}

/// Performs the task by `action` on another thread beside the handle's part, and checks that the cell is freed.
/// Returns whether the closure was run.
fn model(action: Action<'static>, handle: fn(&Model)) -> bool {
    let model = Model::new();
    let taker = beside(&model, move |model| model.perform(action));
    handle(&model);
    taker.join().expect("the model fails at once");
    assert!(model.cell.is_freed(), "the cell is never freed");
    assert!(model.closure.is_done());
    assert!(model.outcome.is_done(), "the outcome is nobody's");
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
        model(RUN, Model::cancel_and_join_in_place);
    });
}

#[test]
fn an_abort_handle_keeps_the_cell_beside_a_dropped_handle() {
    check(|| {
        let model = Model::new();
        let abort = Kept::none();
        let handle = model.handle.take();
        abort.put(handle.cell().new_waker());
        let taker = beside(&model, |model| model.perform(RUN));
        let aborter = thread::spawn(move || abort.take().cell().cancel());
        drop(handle);
        join_all([taker, aborter]);
        assert!(model.cell.is_freed(), "the cell is never freed");
        assert!(model.closure.is_done());
        assert!(model.outcome.is_done(), "the outcome is nobody's");
    });
}
