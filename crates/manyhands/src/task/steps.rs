//! The parts of a task's cell, and what the holder of each does with it: wake the task, wait for it, release the part; to
//! perform and finish it see `steps/perform.rs`.
//!
//! A part keeps the cell. It cannot be copied, and is consumed by the step that releases it. It is made where the state word
//! says that there is one more: in these two files, or from the pointer into which it was turned for a queue or a waker.
//!
//! The runtime and the models run these same steps, on parts of a [`TaskCell`] of their own.
//!
//! Not here: the words (`state.rs`, `joiner.rs`), what is in a cell and how that runs (`closure.rs`, `future.rs`), the
//! memory (`cell.rs`).
//!
//! Unsafe: a cell may be freed as soon as a holder has released its part.

// The models have this file at another place, and find the other one by the same path.
#[path = "steps/perform.rs"]
mod perform;

pub(super) use super::state::Step;
pub(super) use perform::{ClaimedWork, Closed, ClosureCell, FutureCell, Polled};
pub(super) use perform::{perform_closure, perform_future, run_in_place};

use super::joiner::{Joiner, Sleeper};
use super::state::{AfterFinish, AfterPoll, AfterRelease, Claimed, State};
use crate::job::{SlotNumber, wake as wake_waker};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// What every cell begins with, as the steps see it.
pub(super) trait TaskCell: Sized {
    /// How a task with the result `T` ended.
    type Outcome<T>;

    /// The first word.
    fn state(&self) -> &State;

    /// The second word.
    fn joiner(&self) -> &Joiner;

    /// Shows the monitor that the calling worker runs this task.
    fn show(&self);

    /// Wakes the thread on this slot, which waits for a task. The cell may be gone.
    fn wake_slot(slot: SlotNumber);

    /// Queues a task that has been prepared to wait.
    fn queue(part: QueuePart<Self>);

    /// Frees the cell, with the outcome if [it is there](LastPart::has_outcome).
    fn free(cell: LastPart<Self>);

    /// Moves the outcome out of the cell.
    ///
    /// # Safety
    /// 1. One of the words gives the outcome to the handle, whose holder calls this. 2. `T` is the task's result.
    unsafe fn take_outcome<T>(cell: CellRef<'_, Self>) -> Self::Outcome<T>;

    /// Drops the outcome.
    fn drop_outcome(owner: &mut EndedPart<Self>);
}

/// A part of a cell, which keeps it.
#[must_use = "a part is released by a step"]
pub(super) struct Part<C, Role>(NonNull<C>, PhantomData<Role>);

/// Of the queue that the task is in, or of the thread that has taken it from there.
pub(super) type QueuePart<C> = Part<C, Queued>;
/// Of the thread that runs the future, which is there.
pub(super) type RunnerPart<C> = Part<C, Running>;
/// Of the thread that has run the future, or of a handle that is dropped, if the state gives it the outcome. That is there.
pub(super) type EndedPart<C> = Part<C, Ended>;
/// Of the only holder. The task has ended.
pub(super) type LastPart<C> = Part<C, Last>;

/// See [`QueuePart`].
pub(super) enum Queued {}
/// See [`RunnerPart`].
pub(super) enum Running {}
/// See [`EndedPart`].
pub(super) enum Ended {}
/// See [`LastPart`].
pub(super) enum Last {}
/// See [`HandlePart`].
pub(super) enum Handle {}
/// See [`WakerPart`].
pub(super) enum Waking {}

/// Of the handle of a task with the result `T`. Dropped, it is released, and what is left of the outcome is dropped.
pub(super) struct HandlePart<C: TaskCell, T>(pub(super) Part<C, Handle>, PhantomData<T>);

/// Of a waker or an abort handle. Dropped, it is released.
pub(super) struct WakerPart<C: TaskCell>(Part<C, Waking>);

/// A cell, borrowed from a part that keeps it. Other than a reference, it leads to all of the cell.
pub(super) struct CellRef<'part, C>(NonNull<C>, PhantomData<&'part C>);

impl<C, Role> Part<C, Role> {
    /// A part that was a pointer, or is that of a new cell.
    ///
    /// # Safety
    /// The caller has this part of a valid cell, and gives it away.
    pub(super) unsafe fn from_raw(cell: NonNull<C>) -> Self {
        Self(cell, PhantomData)
    }

    /// The part as a pointer.
    pub(super) fn into_raw(self) -> NonNull<C> {
        self.0
    }

    /// The cell.
    #[inline]
    pub(super) fn cell(&self) -> CellRef<'_, C> {
        CellRef(self.0, PhantomData)
    }

    /// The part that the state word has made of this one.
    fn turn<NewRole>(self) -> Part<C, NewRole> {
        Part(self.0, PhantomData)
    }
}

impl<C, Role> Deref for Part<C, Role> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        self.cell().get()
    }
}

impl<C> RunnerPart<C> {
    /// The part after the end of the future.
    ///
    /// # Safety
    /// The caller has dropped the future and written the outcome.
    pub(super) unsafe fn ended(self) -> EndedPart<C> {
        self.turn()
    }
}

impl<C: TaskCell> LastPart<C> {
    /// Whether the outcome is in the cell: the handle has not given it, and of a future that was done neither the handle nor
    /// the runner has dropped it.
    #[inline]
    pub(super) fn has_outcome(&self) -> bool {
        !self.state().is_done() && !self.joiner().is_taken()
    }
}

impl<C: TaskCell, T> HandlePart<C, T> {
    /// The handle's part of a new cell.
    ///
    /// # Safety
    /// The caller has this part of a valid cell with the result `T`, and gives it away.
    pub(super) unsafe fn from_raw(cell: NonNull<C>) -> Self {
        Self(Part(cell, PhantomData), PhantomData)
    }

    /// The outcome, once the task has ended; `waker` is woken then.
    #[inline]
    pub(super) fn poll_outcome(&mut self, waker: &Waker) -> Poll<C::Outcome<T>> {
        let joiner = self.joiner();
        if !joiner.is_final() && joiner.register(waker) {
            return Poll::Pending;
        }
        assert!(!joiner.is_taken(), "`JoinHandle` polled after completion");
        joiner.note_taken();
        // SAFETY: 1. the task has ended; 2. by the promise in `from_raw`.
        Poll::Ready(unsafe { C::take_outcome(self.cell()) })
    }
}

impl<C: TaskCell, T> Deref for HandlePart<C, T> {
    type Target = Part<C, Handle>;

    #[inline]
    fn deref(&self) -> &Part<C, Handle> {
        &self.0
    }
}

impl<C: TaskCell, T> Drop for HandlePart<C, T> {
    #[inline]
    fn drop(&mut self) {
        // A copy, which needs not be read again after a call that could have changed this part.
        let part: Part<C, Handle> = Part(self.0.0, PhantomData);
        part.joiner().clear();
        if let Some(after) = part.state().release_handle() {
            return after_release(part, after);
        }
        let mut part: EndedPart<C> = part.turn();
        if !part.joiner().is_taken() {
            C::drop_outcome(&mut part);
        }
        let after = part.state().release_finished_handle();
        after_release(part, after);
    }
}

impl<C: TaskCell> WakerPart<C> {
    /// A part that was a pointer.
    ///
    /// # Safety
    /// It is from [`into_raw`](Self::into_raw), and used once.
    pub(super) unsafe fn from_raw(cell: NonNull<C>) -> Self {
        Self(Part(cell, PhantomData))
    }

    /// The part as a pointer.
    pub(super) fn into_raw(self) -> NonNull<C> {
        ManuallyDrop::new(self).0.0
    }

    /// Requests a poll, and releases the part.
    #[inline]
    pub(super) fn wake(self) {
        let part: Part<C, Waking> = Part(self.into_raw(), PhantomData);
        let after = part.state().wake_and_release();
        after_release(part, after);
    }
}

impl<C: TaskCell> Deref for WakerPart<C> {
    type Target = Part<C, Waking>;

    #[inline]
    fn deref(&self) -> &Part<C, Waking> {
        &self.0
    }
}

impl<C: TaskCell> Clone for WakerPart<C> {
    #[inline]
    fn clone(&self) -> Self {
        self.cell().new_waker()
    }
}

impl<C: TaskCell> Drop for WakerPart<C> {
    #[inline]
    fn drop(&mut self) {
        let part: Part<C, Waking> = Part(self.0.0, PhantomData);
        let after = part.state().release_waker();
        after_release(part, after);
    }
}

impl<'part, C> CellRef<'part, C> {
    /// A cell that something else than a part keeps.
    ///
    /// # Safety
    /// The cell is valid as long as this is used.
    pub(super) unsafe fn new(cell: NonNull<C>) -> Self {
        Self(cell, PhantomData)
    }

    /// The cell's address.
    pub(super) fn as_ptr(self) -> NonNull<C> {
        self.0
    }

    /// What the cell begins with.
    #[inline]
    pub(super) fn get(self) -> &'part C {
        // SAFETY: the part that it is borrowed from keeps the cell.
        unsafe { self.0.as_ref() }
    }
}

impl<C: TaskCell> CellRef<'_, C> {
    /// One more waker.
    #[inline]
    pub(super) fn new_waker(self) -> WakerPart<C> {
        self.state().add_waker();
        WakerPart(Part(self.0, PhantomData))
    }

    /// Requests a poll.
    #[inline]
    pub(super) fn wake(self) {
        let is_to_be_queued = self.state().wake();
        self.queue_if(is_to_be_queued);
    }

    /// Requests that the task be dropped.
    #[inline]
    pub(super) fn cancel(self) {
        let is_to_be_queued = self.state().cancel();
        self.queue_if(is_to_be_queued);
    }

    #[inline]
    fn queue_if(self, is_to_be_queued: bool) {
        if is_to_be_queued {
            C::queue(Part(self.0, PhantomData));
        }
    }
}

impl<C> Clone for CellRef<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for CellRef<'_, C> {}

impl<C> Deref for CellRef<'_, C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        self.get()
    }
}

/// Wakes the waiter of a task that has ended. The caller need not hold the cell any more.
fn wake_sleeper<C: TaskCell>(sleeper: Option<Sleeper>) {
    match sleeper {
        Some(Sleeper::WorkerSlot(slot)) => C::wake_slot(slot),
        Some(Sleeper::Waker(waker)) => wake_waker(waker),
        None => {}
    }
}

/// Does what must follow the release of a part, by the state word's answer.
#[inline]
fn after_release<C: TaskCell, Role>(released: Part<C, Role>, after: AfterRelease) {
    match after {
        AfterRelease::Keep => {}
        AfterRelease::Queue => C::queue(released.turn()),
        AfterRelease::Free => C::free(released.turn()),
    }
}
