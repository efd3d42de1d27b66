//! The steps of the thread that performs a task: claim it or begin its poll, run it, finish it, pass its outcome on.
//!
//! Not here: the parts, and what follows their release (`steps.rs`).

use super::{AfterFinish, AfterPoll, Claimed, Sleeper, Step};
use super::{CellRef, EndedPart, Handle, Part, QueuePart, RunnerPart, TaskCell};
use super::{after_release, wake_sleeper};
use crate::job::{Action, ExecutionId, discard};

/// A cell with a closure.
pub(crate) trait ClosureCell: TaskCell {
    /// Runs or drops the closure, and writes the outcome.
    fn run(work: ClaimedWork<'_, Self>, step: Step);
}

/// A cell with a future.
pub(crate) trait FutureCell: TaskCell {
    /// Polls the future.
    fn poll(runner: RunnerPart<Self>) -> Polled<Self>;

    /// Prepares a pending future to wait.
    ///
    /// # Errors
    /// [`Closed`] when it must be dropped instead.
    fn prepare_to_wait(runner: &mut RunnerPart<Self>) -> Result<(), Closed>;

    /// Queues a task that was woken while the caller polled it.
    fn queue_polled(part: QueuePart<Self>);

    /// Takes the finished task out of its registry, if it is in one.
    fn take_out(runner: &EndedPart<Self>, action: Action<'_>);

    /// Drops the future, and writes the outcome.
    fn drop_future(runner: RunnerPart<Self>) -> EndedPart<Self>;
}

/// The right to a closure that is there, of the thread that has claimed it.
pub(crate) struct ClaimedWork<'part, C>(CellRef<'part, C>);

/// A future after a poll.
pub(crate) enum Polled<C> {
    /// It waits.
    Pending(RunnerPart<C>),
    /// It was dropped, and the outcome written.
    Ended(EndedPart<C>),
}

/// The runtime is about to end: no task may wait any more.
pub(crate) struct Closed;

impl<'part, C> ClaimedWork<'part, C> {
    /// The cell.
    pub(crate) fn cell(&self) -> CellRef<'part, C> {
        self.0
    }
}

/// Closure: see [`Job::perform`](crate::job::Job::perform). Returns whether it was run or dropped.
#[inline]
pub(crate) fn perform_closure<C: ClosureCell>(part: QueuePart<C>, action: Action<'_>) -> bool {
    let claimed = part.state().claim_queued();
    if let Some(claimed) = claimed {
        run_queued(&part, action, claimed);
        if !claimed.is_shared {
            C::free(part.turn());
            return true;
        }
        wake_sleeper::<C>(part.joiner().finish());
    }
    let after = part.state().release_queue();
    after_release(part, after);
    claimed.is_some()
}

/// Runs or drops a closure that was claimed just now.
#[inline]
fn run_queued<C: ClosureCell>(part: &QueuePart<C>, action: Action<'_>, claimed: Claimed) {
    let step = match action {
        Action::Run(execution) => {
            part.show();
            if claimed.is_shared && execution != ExecutionId::UNKNOWN {
                // The waiter may help this execution.
                part.joiner().start(execution);
            }
            claimed.step
        }
        Action::Discard | Action::Drop(_) => Step::Drop,
    };
    C::run(ClaimedWork(part.cell()), step);
}

/// Closure: the handle's holder, which waits here, claims it and runs it in place. Returns whether it did.
#[inline]
pub(crate) fn run_in_place<C: ClosureCell>(part: &mut Part<C, Handle>) -> bool {
    let Some(claimed) = part.state().claim() else {
        return false;
    };
    C::run(ClaimedWork(part.cell()), claimed.step);
    // The handle waits here, so no thread sleeps; but it may have been polled before, and have left a waker.
    if let Some(Sleeper::Waker(waker)) = part.joiner().finish() {
        discard(Some(waker));
    }
    true
}

/// Future: see [`Job::perform`](crate::job::Job::perform).
#[inline(always)]
pub(crate) fn perform_future<C: FutureCell>(part: QueuePart<C>, action: Action<'_>) {
    let step = part.state().begin_poll();
    let runner = part.turn();
    let ended = match (action, step) {
        (Action::Run(_), Step::Run) => match C::poll(runner) {
            Polled::Ended(runner) => runner,
            Polled::Pending(runner) => match end_poll(runner) {
                Some(runner) => C::drop_future(runner),
                None => return,
            },
        },
        _ => C::drop_future(runner),
    };
    finish(ended, action);
}

/// Releases a pending future. Returns the part instead if the future must be dropped.
#[inline(always)]
fn end_poll<C: FutureCell>(mut runner: RunnerPart<C>) -> Option<RunnerPart<C>> {
    // Closed: the runtime ends, and no task may wait any more.
    if C::prepare_to_wait(&mut runner).is_err() {
        return Some(runner);
    }
    match runner.state().end_poll() {
        AfterPoll::Wait => None,
        AfterPoll::Queue => {
            C::queue_polled(runner.turn());
            None
        }
        AfterPoll::Drop => Some(runner),
    }
}

/// Passes the outcome on and releases the part. A function of its own, because most polls do not end the future.
#[inline(never)]
fn finish<C: FutureCell>(mut runner: EndedPart<C>, action: Action<'_>) {
    C::take_out(&runner, action);
    match runner.state().finish() {
        AfterFinish::Sole => C::free(runner.turn()),
        AfterFinish::Detached => {
            C::drop_outcome(&mut runner);
            release_runner(runner);
        }
        AfterFinish::Awaited => {
            let sleeper = runner.joiner().finish();
            release_runner(runner);
            // Last: see K8. The cell may be gone.
            wake_sleeper::<C>(sleeper);
        }
    }
}

fn release_runner<C: TaskCell>(runner: EndedPart<C>) {
    let after = runner.state().release_runner();
    after_release(runner, after);
}
