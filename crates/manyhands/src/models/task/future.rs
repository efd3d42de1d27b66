//! The state word of a task that is a future, with its joiner: which thread polls it, queues it, drops it,
//! reads the outcome and frees the cell.
//!
//! Threads: up to three of: the worker that polls, one that wakes, one that cancels or joins or drops the
//! handle. Operations: those of `task/steps.rs`, and of the joiner asking and registering. The queue is the
//! library's; a task that is queued twice shows.
//! Property: the future is polled only before it is dropped and by one thread at a time, it is dropped
//! once, the outcome is read after that or dropped, once, and the cell is freed exactly once, after every
//! access. A wake that comes before the last poll began is never lost: that poll sees what was there to be
//! seen, and the future ends.

use super::joiner::Joiner;
use super::state::State;
use super::steps::{self, CellRef, Closed, EndedPart, FutureCell, HandlePart, LastPart};
use super::steps::{Polled, QueuePart, RunnerPart, TaskCell, WakerPart};
use super::{Kept, PARKER, SLOT};
use crate::job::{Action, ExecutionId, SlotNumber};
use crate::models::{Flag, Memory, Work, beside, check, join_all, wait_asleep};
use crate::queue::TaskQueue;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use std::task::{Wake, Waker};

struct Model {
    state: State,
    joiner: Joiner,
    cell: Memory,
    /// Touched by each poll, freed when the future is dropped.
    future: Memory,
    /// Written by the runner when the future is gone, "run" by the thread that takes or drops it.
    outcome: Work,
    /// What the future waits for.
    event: Flag,
    /// The runtime ends: the task may wait no more.
    is_closed: bool,
    queue: TaskQueue<Work>,
    /// The task as the queue has it.
    link: Work,
    /// These are not in the cell.
    queued: Kept<QueuePart<Self>>,
    handle: Kept<HandlePart<Self, ()>>,
    waker: Kept<WakerPart<Self>>,
}

impl Model {
    /// A task in the queue, with a handle and a waker that somebody already has.
    fn new() -> Arc<Self> {
        Self::with(false)
    }

    /// As [`new`](Self::new), of a runtime that ends.
    fn of_closed_runtime() -> Arc<Self> {
        Self::with(true)
    }

    fn with(is_closed: bool) -> Arc<Self> {
        let model = Arc::new(Self {
            state: State::new(),
            joiner: Joiner::new(),
            cell: Memory::new(),
            future: Memory::new(),
            outcome: Work::new(0),
            event: Flag::new(),
            is_closed,
            queue: TaskQueue::default(),
            link: Work::new(0),
            queued: Kept::none(),
            handle: Kept::none(),
            waker: Kept::none(),
        });
        let cell = NonNull::from(&*model);
        // SAFETY: the model keeps the cell, and `cell` tells if it should not have.
        model.handle.put(unsafe { HandlePart::from_raw(cell) });
        // SAFETY: as above.
        let queued = unsafe { QueuePart::from_raw(cell) };
        model.waker.put(queued.cell().new_waker());
        model.push(queued);
        model
    }

    /// The model that has this cell.
    fn of<'a>(cell: CellRef<'_, Self>) -> &'a Self {
        // SAFETY: the model exists until all its threads have ended.
        unsafe { &*cell.as_ptr().as_ptr() }
    }

    /// Queues the task, by the thread that must.
    fn push(&self, part: QueuePart<Self>) {
        self.cell.touch();
        self.queued.put(part);
        self.queue.push(self.link.unqueued());
    }

    /// A worker: runs the task as often as it finds it in the queue. Returns whether it did.
    fn work(&self) -> bool {
        let mut has_run = false;
        while self.queue.take(1).is_some() {
            has_run = true;
            let action = Action::Run(ExecutionId::UNKNOWN);
            steps::perform_future(self.queued.take(), action);
        }
        has_run
    }

    /// The waker's holder: what is waited for happens.
    fn wake(&self) {
        // Published by the wake.
        self.event.set();
        self.waker.take().wake();
    }

    /// The waker's holder, by reference first.
    fn wake_by_ref_and_drop(&self) {
        // Published by the wake.
        self.event.set();
        self.waker.take().cell().wake();
    }

    /// The waker's holder: nothing happens.
    fn drop_waker(&self) {
        drop(self.waker.take());
    }

    fn cancel(&self) {
        let handle = self.handle.take();
        handle.cell().cancel();
        self.handle.put(handle);
    }

    fn drop_handle(&self) {
        drop(self.handle.take());
    }

    fn cancel_and_drop_handle(&self) {
        self.cancel();
        self.drop_handle();
    }

    /// The future is gone, and the outcome in its place.
    fn end(&self) {
        self.cell.touch();
        self.future.free();
        self.outcome.prepare();
    }

    /// Takes or drops the outcome, which is there, by whose it is.
    fn drop_outcome(&self) {
        self.cell.touch();
        self.outcome.run();
    }

    /// The handle's holder: polls with a waker of `wake_seen`, perhaps twice, and drops it.
    fn poll_and_drop_handle(&self, wake_seen: &Arc<WakeSeen>) {
        let mut handle = self.handle.take();
        let waker = Waker::from(std::sync::Arc::new(SeenWaker(Arc::clone(wake_seen))));
        if handle.poll_outcome(&waker).is_pending() {
            let _ = handle.poll_outcome(&waker);
        }
    }

    /// All threads have ended: what is still queued runs, and then all is over.
    fn settle(&self) {
        self.work();
        assert!(self.future.is_freed(), "the future is never dropped");
        assert!(self.outcome.is_done(), "the outcome is nobody's");
        assert!(self.cell.is_freed(), "the cell is never freed");
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

    fn queue(part: QueuePart<Self>) {
        Self::of(part.cell()).push(part);
    }

    fn free(cell: LastPart<Self>) {
        if cell.has_outcome() {
            cell.drop_outcome();
        }
        cell.cell.free();
    }

    unsafe fn take_outcome<T>(cell: CellRef<'_, Self>) {
        cell.drop_outcome();
    }

    fn drop_outcome(owner: &mut EndedPart<Self>) {
        (**owner).drop_outcome();
    }
}

impl FutureCell for Model {
    fn poll(runner: RunnerPart<Self>) -> Polled<Self> {
        runner.future.touch();
        // The wake before it orders the event.
        if runner.event.is_set() {
            Polled::Ended(Self::drop_future(runner))
        } else {
            Polled::Pending(runner)
        }
    }

    fn prepare_to_wait(runner: &mut RunnerPart<Self>) -> Result<(), Closed> {
        runner.cell.touch();
        if runner.is_closed {
            Err(Closed)
        } else {
            Ok(())
        }
    }

    fn queue_polled(part: QueuePart<Self>) {
        Self::queue(part);
    }

    fn take_out(runner: &EndedPart<Self>, _: Action<'_>) {
        runner.cell.touch();
    }

    fn drop_future(runner: RunnerPart<Self>) -> EndedPart<Self> {
        runner.end();
        // SAFETY: done just now.
        unsafe { runner.ended() }
    }
}

/// Counts wakes of the thread or task that awaits the handle.
struct WakeSeen(Flag);

struct SeenWaker(Arc<WakeSeen>);

impl Wake for SeenWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.0.set();
    }
}

/// Drops the handle as soon as it is woken, on the thread that has ended the task, if the handle is not just being polled.
struct DropsHandle {
    model: Arc<Model>,
    /// Whether it did so.
    has_dropped: Arc<Flag>,
    /// Whether nobody else had a part of the cell then. Noted here, because a wake's panic is contained.
    was_last: Arc<Flag>,
}

impl Wake for DropsHandle {
    fn wake(self: std::sync::Arc<Self>) {
        if let Some(handle) = self.model.handle.try_take() {
            drop(handle);
            self.has_dropped.set();
            if self.model.cell.is_freed() {
                self.was_last.set();
            }
        }
    }
}

/// A thread that lets the future end: what it waits for happens, and then the thread is a worker.
fn wake_and_work(model: &Arc<Model>) -> thread::JoinHandle<()> {
    beside(model, |model| {
        model.wake();
        model.work();
    })
}

type Part = fn(&Model);

/// A worker beside one or two others; afterwards what is left to be done is done.
fn model<const OTHERS: usize>(parts: [Part; OTHERS], last: Part) {
    model_of(Model::new, parts, last);
}

/// As [`model`], of this task.
fn model_of<const OTHERS: usize>(make: fn() -> Arc<Model>, parts: [Part; OTHERS], last: Part) {
    check(move || {
        let model = make();
        let others = parts.map(|part| beside(&model, move |model| part(&model)));
        model.work();
        join_all(others);
        model.work();
        last(&model);
        model.settle();
    });
}

#[test]
fn a_wake_beside_a_poll_is_not_lost() {
    let ends = |model: &Model| {
        assert!(model.joiner.is_final(), "the last poll came too early");
        model.drop_handle();
    };
    model([Model::wake], ends);
    model([Model::wake_by_ref_and_drop], ends);
}

#[test]
fn a_cancellation_beside_a_poll_and_a_wake_drops_the_future_once() {
    model([Model::cancel, Model::wake], Model::drop_handle);
}

#[test]
fn a_dropped_handle_beside_a_poll_and_a_wake_leaves_the_cell_to_the_last() {
    model([Model::drop_handle, Model::wake], |_| {});
    model([Model::cancel_and_drop_handle, Model::wake], |_| {});
}

#[test]
fn a_future_that_nobody_can_wake_is_dropped() {
    model([Model::drop_handle, Model::drop_waker], |_| {});
}

#[test]
fn a_future_that_may_not_wait_any_more_is_dropped_by_any_wake() {
    check(|| {
        let model = Model::of_closed_runtime();
        let waker = beside(&model, |model| model.wake());
        model.work();
        assert!(model.joiner.is_final(), "the future waits");
        model.drop_handle();
        waker.join().expect("the model fails at once");
        model.settle();
    });
}

#[test]
fn an_outcome_is_read_by_the_handle_that_waits_for_it() {
    check(|| {
        let model = Model::new();
        let worker = wake_and_work(&model);
        let mut handle = model.handle.take();
        let fall_asleep = || handle.joiner.fall_asleep(SLOT);
        wait_asleep(&PARKER, || handle.joiner.is_final(), fall_asleep);
        assert!(handle.poll_outcome(Waker::noop()).is_ready());
        drop(handle);
        worker.join().expect("the model fails at once");
        assert!(model.cell.is_freed(), "the cell is never freed");
    });
}

#[test]
fn a_registered_waker_is_woken_or_taken_back() {
    check(|| {
        let model = Model::new();
        let wake_seen = Arc::new(WakeSeen(Flag::new()));
        let worker = wake_and_work(&model);
        model.poll_and_drop_handle(&wake_seen);
        worker.join().expect("the model fails at once");
        model.settle();
        assert_eq!(Arc::strong_count(&wake_seen), 1, "a waker is left over");
    });
}

#[test]
fn a_waiter_that_is_woken_is_the_last_holder() {
    check(|| {
        let model = Model::new();
        let worker = wake_and_work(&model);
        let (has_dropped, was_last) = (Arc::new(Flag::new()), Arc::new(Flag::new()));
        let waker = Waker::from(std::sync::Arc::new(DropsHandle {
            model: Arc::clone(&model),
            has_dropped: Arc::clone(&has_dropped),
            was_last: Arc::clone(&was_last),
        }));
        let mut handle = model.handle.take();
        let _ = handle.poll_outcome(&waker);
        model.handle.put(handle);
        drop(waker);
        worker.join().expect("the model fails at once");
        drop(model.handle.try_take());
        assert_eq!(
            was_last.is_set(),
            has_dropped.is_set(),
            "the runner still held it"
        );
        model.settle();
    });
}

#[test]
fn the_waiter_of_a_handle_is_woken() {
    check(|| {
        let model = Model::new();
        let wake_seen = Arc::new(WakeSeen(Flag::new()));
        let worker = wake_and_work(&model);
        let waker = Waker::from(std::sync::Arc::new(SeenWaker(Arc::clone(&wake_seen))));
        let mut handle = model.handle.take();
        let is_pending = handle.poll_outcome(&waker).is_pending();
        worker.join().expect("the model fails at once");
        assert_eq!(wake_seen.0.is_set(), is_pending);
        assert!(handle.joiner.is_final());
        drop(handle);
        model.settle();
    });
}

#[test]
fn an_end_stays_one_beside_a_handle_that_gives_the_outcome() {
    check(|| {
        let model = Model::new();
        let worker = wake_and_work(&model);
        let mut handle = model.handle.take();
        let abort = Kept::none();
        abort.put(handle.cell().new_waker());
        let observer = beside(&model, move |model| {
            let abort = abort.take();
            if abort.joiner.is_final() {
                assert!(model.future.is_freed(), "the end came before the future's");
                assert!(abort.joiner.is_final(), "the end was taken back");
            }
        });
        let is_ready = (0..2).any(|_| handle.poll_outcome(Waker::noop()).is_ready());
        assert_eq!(handle.joiner.is_taken(), is_ready);
        drop(handle);
        join_all([worker, observer]);
        model.settle();
    });
}
