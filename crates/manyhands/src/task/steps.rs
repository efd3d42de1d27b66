//! What each holder of a task's cell does with it, in which order: perform it, finish it, wake it, release it.
//!
//! The runtime and the models run these same steps: both have cells that are [`Held`].
//!
//! Not here: the words (`state.rs`, `joiner.rs`), what is in a cell and how that runs (`closure.rs`, `future.rs`), the
//! memory (`cell.rs`).
//!
//! Unsafe: a cell may be freed as soon as a holder has released its part.

use super::joiner::{Joiner, Sleeper};
use super::state::{AfterFinish, AfterPoll, AfterRelease, AfterWake, Begin, Claimed, State};
use crate::job::{Action, ExecutionId, SlotNumber, contain, discard, wake as wake_waker};

/// A cell, as its holders see it.
pub(super) trait Held: Copy {
    /// The first word.
    ///
    /// # Safety
    /// The caller holds a part of the cell; so for all functions below.
    unsafe fn state(&self) -> &State;

    /// The second word.
    unsafe fn joiner(&self) -> &Joiner;

    /// Shows the monitor which task the calling worker runs.
    unsafe fn show(&self);

    /// Wakes the thread on this slot, which waits for the task. The cell may be gone.
    fn wake_slot(self, slot: SlotNumber);

    /// Queues the task, which has been prepared to wait. The caller has the queue's part.
    unsafe fn queue(self);

    /// Frees the cell, with an outcome that is still there. No other thread holds it.
    unsafe fn free(self);
}

/// A cell with a closure.
pub(super) trait HeldClosure: Held {
    /// Runs or drops the closure, which the caller has claimed, and writes the outcome.
    unsafe fn run(self, step: Step);
}

/// A cell with a future.
pub(super) trait HeldFuture: Held {
    /// Runner: polls the future. Returns whether it was dropped and the outcome written.
    unsafe fn poll(self) -> bool;

    /// Runner: drops the future, and writes the outcome.
    unsafe fn drop_future(self);

    /// Runner: drops the outcome, which is its own.
    unsafe fn drop_outcome(self);

    /// Runner: prepares a pending future to wait.
    ///
    /// # Errors
    /// [`Closed`] when it must be dropped instead.
    unsafe fn prepare_to_wait(self) -> Result<(), Closed>;

    /// Runner: takes the finished task out of its registry, if it is in one.
    unsafe fn take_out(&self, action: Action<'_>);

    /// Queues a task that was woken while the caller polled it.
    unsafe fn queue_polled(self);
}

/// What is done with a closure or a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Run the closure, poll the future.
    Run,
    /// Drop it.
    Drop,
}

/// The runtime is about to end: no task may wait any more.
#[derive(Debug)]
pub(super) struct Closed;

/// Closure, the queue's part: see [`Job::perform`](crate::job::Job::perform). Returns whether it was run or dropped.
///
/// # Safety
/// The caller has taken the task from its queue, and does not use the cell again.
#[inline]
pub(super) unsafe fn perform_closure(cell: impl HeldClosure, action: Action<'_>) -> bool {
    // SAFETY: the queue's part is held.
    let claimed = unsafe { cell.state() }.claim_queued();
    if let Some(claimed) = claimed {
        // SAFETY: claimed just now.
        unsafe { run_queued(cell, action, claimed) };
        if !claimed.is_shared {
            // SAFETY: nobody has a handle, and the queue's part is ours.
            unsafe { after_release(cell, AfterRelease::Free) };
            return true;
        }
        // SAFETY: the queue's part is held until below.
        unsafe { announce_end(cell) };
    }
    // SAFETY: as above.
    let after = unsafe { cell.state() }.release_queue();
    // SAFETY: released just now.
    unsafe { after_release(cell, after) };
    claimed.is_some()
}

/// # Safety
/// The caller has claimed the closure, and holds the queue's part.
#[inline]
unsafe fn run_queued(cell: impl HeldClosure, action: Action<'_>, claimed: Claimed) {
    let step = match action {
        Action::Run(execution) => {
            // SAFETY: held by the caller.
            unsafe { cell.show() };
            if claimed.is_shared && execution != ExecutionId::UNKNOWN {
                // The waiter may help this execution. SAFETY: as above.
                unsafe { cell.joiner() }.start(execution);
            }
            step_for(claimed)
        }
        Action::Discard | Action::Drop(_) => Step::Drop,
    };
    // SAFETY: claimed by the caller.
    unsafe { cell.run(step) };
}

/// Closure, the handle's part: claims it and runs it in place. Returns whether it did.
///
/// # Safety
/// The caller holds the handle's part, and waits here.
#[inline]
pub(super) unsafe fn run_in_place(cell: impl HeldClosure) -> bool {
    // SAFETY: the handle is held.
    let Some(claimed) = (unsafe { cell.state() }).claim() else {
        return false;
    };
    // SAFETY: claimed just now.
    unsafe { cell.run(step_for(claimed)) };
    // The handle waits here, so no thread sleeps; but it may have been polled before, and have left a waker.
    // SAFETY: the handle is held.
    if let Some(Sleeper::Waker(waker)) = unsafe { cell.joiner() }.finish() {
        discard(Some(waker));
    }
    true
}

fn step_for(claimed: Claimed) -> Step {
    if claimed.is_cancelled {
        Step::Drop
    } else {
        Step::Run
    }
}

/// Future, the queue's part, which becomes the runner's: see [`Job::perform`](crate::job::Job::perform).
///
/// # Safety
/// The caller has taken the task from its queue, and does not use the cell again.
#[inline]
pub(super) unsafe fn perform_future(cell: impl HeldFuture, action: Action<'_>) {
    // SAFETY: the queue's part is held.
    let begin = unsafe { cell.state() }.begin_poll();
    match (action, begin) {
        (Action::Run(_), Begin::Poll) => {
            // SAFETY: held by the runner.
            unsafe { cell.show() };
            // SAFETY: the caller is the runner now.
            if unsafe { cell.poll() } {
                // SAFETY: the outcome is written.
                unsafe { finish(cell, action) };
            } else {
                // SAFETY: the caller is still the runner.
                unsafe { end_poll(cell, action) };
            }
        }
        _ => {
            if let Action::Run(_) = action {
                // SAFETY: held by the runner.
                unsafe { cell.show() };
            }
            // SAFETY: the caller is the runner now.
            unsafe { drop_and_finish(cell, action) };
        }
    }
}

/// Releases a pending future.
///
/// # Safety
/// The caller is the runner, and does not use the cell again.
#[inline]
unsafe fn end_poll(cell: impl HeldFuture, action: Action<'_>) {
    // SAFETY: the caller is the runner.
    if unsafe { cell.prepare_to_wait() }.is_err() {
        // The runtime ends: no task may wait any more. SAFETY: the caller is still the runner.
        return unsafe { drop_and_finish(cell, action) };
    }
    // SAFETY: held by the runner.
    match unsafe { cell.state() }.end_poll() {
        AfterPoll::Wait => {}
        // SAFETY: the state says that this thread must queue it.
        AfterPoll::Queue => unsafe { cell.queue_polled() },
        // SAFETY: the caller is still the runner.
        AfterPoll::Drop => unsafe { drop_and_finish(cell, action) },
    }
}

/// # Safety
/// The caller is the runner, and does not use the cell again.
unsafe fn drop_and_finish(cell: impl HeldFuture, action: Action<'_>) {
    // SAFETY: the caller is the runner.
    unsafe { cell.drop_future() };
    // SAFETY: the outcome is written.
    unsafe { finish(cell, action) };
}

/// The future is dropped: passes the outcome on and releases the cell.
///
/// # Safety
/// The caller is the runner, the outcome is written, and it does not use the cell again.
unsafe fn finish(cell: impl HeldFuture, action: Action<'_>) {
    // SAFETY: held by the runner.
    unsafe { cell.take_out(action) };
    // SAFETY: as above.
    let after = match unsafe { cell.state() }.finish() {
        AfterFinish::Sole => AfterRelease::Free,
        AfterFinish::Detached => {
            // SAFETY: the outcome belongs to the runner.
            unsafe { cell.drop_outcome() };
            // SAFETY: held by the runner, until this.
            unsafe { cell.state() }.release_runner()
        }
        AfterFinish::Awaited => {
            // SAFETY: held by the runner.
            let sleeper = unsafe { cell.joiner() }.finish();
            // SAFETY: held by the runner, until this.
            let after = unsafe { cell.state() }.release_runner();
            // SAFETY: released just now.
            unsafe { after_release(cell, after) };
            // Last: see K8. The cell may be gone.
            return wake_sleeper(cell, sleeper);
        }
    };
    // SAFETY: released just now.
    unsafe { after_release(cell, after) };
}

/// The outcome is there: wakes the waiter.
///
/// # Safety
/// The caller holds the cell.
unsafe fn announce_end(cell: impl Held) {
    // SAFETY: held by the caller.
    let sleeper = unsafe { cell.joiner() }.finish();
    wake_sleeper(cell, sleeper);
}

/// Wakes the waiter of a task that has ended. The caller need not hold the cell any more.
fn wake_sleeper(cell: impl Held, sleeper: Option<Sleeper>) {
    match sleeper {
        Some(Sleeper::WorkerSlot(slot)) => cell.wake_slot(slot),
        Some(Sleeper::Waker(waker)) => wake_waker(waker),
        None => {}
    }
}

/// Releases the handle. `take_outcome` takes the outcome, if that belongs to the handle, or what is left of it; the
/// caller drops nothing in the cell.
///
/// # Safety
/// The caller holds the handle's part, and does not use the cell again.
#[inline]
pub(super) unsafe fn drop_handle<R>(cell: impl Held, take_outcome: impl FnOnce() -> R) {
    // SAFETY: the handle is held.
    unsafe { cell.joiner() }.clear();
    // SAFETY: held until this, or below if the outcome is the handle's.
    let mut after = unsafe { cell.state() }.release_handle();
    if after == AfterRelease::DropOutcome {
        let outcome = take_outcome();
        // SAFETY: held until this.
        after = unsafe { cell.state() }.release_finished_handle();
        contain(|| drop(outcome));
    }
    // SAFETY: released just now.
    unsafe { after_release(cell, after) };
}

/// Gives the queue's part away by a function that lies in the cell, and so keeps the cell until that has returned or
/// panicked.
///
/// # Safety
/// The caller holds the queue's part, which `give` gives away.
pub(super) unsafe fn give_by_own_function<H: Held>(cell: H, give: impl FnOnce()) {
    struct Kept<H: Held>(H);

    impl<H: Held> Drop for Kept<H> {
        fn drop(&mut self) {
            // SAFETY: a waker's part was added for this.
            unsafe { release_waker(self.0) };
        }
    }

    // SAFETY: the queue's part is held.
    unsafe { cell.state() }.add_waker();
    let _kept = Kept(cell);
    give();
}

/// Requests that the task be dropped.
///
/// # Safety
/// The caller holds the cell.
#[inline]
pub(super) unsafe fn cancel(cell: impl Held) {
    // SAFETY: held by the caller.
    if unsafe { cell.state() }.cancel() == AfterWake::Queue {
        // SAFETY: the state says that this thread must queue it.
        unsafe { cell.queue() };
    }
}

/// Requests a poll.
///
/// # Safety
/// The caller holds the cell.
#[inline]
pub(super) unsafe fn wake(cell: impl Held) {
    // SAFETY: held by the caller.
    if unsafe { cell.state() }.wake() == AfterWake::Queue {
        // SAFETY: the state says that this thread must queue it.
        unsafe { cell.queue() };
    }
}

/// As [`wake`], and releases the waker's part.
///
/// # Safety
/// The caller holds a waker's part, and does not use the cell again.
#[inline]
pub(super) unsafe fn wake_and_release(cell: impl Held) {
    // SAFETY: held until this.
    let after = unsafe { cell.state() }.wake_and_release();
    // SAFETY: released just now.
    unsafe { after_release(cell, after) };
}

/// Releases a waker's part.
///
/// # Safety
/// The caller holds a waker's part, and does not use the cell again.
#[inline]
pub(super) unsafe fn release_waker(cell: impl Held) {
    // SAFETY: held until this.
    let after = unsafe { cell.state() }.release_waker();
    // SAFETY: released just now.
    unsafe { after_release(cell, after) };
}

/// Does what must follow the release of a part of the cell.
///
/// # Safety
/// The caller has just released the part, and `after` is the result.
#[inline]
unsafe fn after_release(cell: impl Held, after: AfterRelease) {
    match after {
        AfterRelease::Keep | AfterRelease::DropOutcome => {}
        // SAFETY: the state says that this thread must queue it.
        AfterRelease::Queue => unsafe { cell.queue() },
        // SAFETY: nobody else holds the cell.
        AfterRelease::Free => unsafe { cell.free() },
    }
}
