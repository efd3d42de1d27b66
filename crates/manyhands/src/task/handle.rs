//! The handle of a task.
//!
//! Unsafe: the handle owns its part of the cell by pointer.

use crate::runtime::current;
use crate::runtime::seat::Seat;
use crate::runtime::wait;
use crate::task::cell::{self, Failure, Header};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Waits for the result of a task. Dropping it detaches the task, which runs all the same.
#[doc(alias = "Task")]
pub struct JoinHandle<T> {
    cell: NonNull<Header>,
    result: PhantomData<T>,
}

// SAFETY: the pointer forbids it; the cell behind it is shared by the state word's rules, and the result
// that moves through it is sendable.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above; through a shared handle one can only ask whether the task is finished.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn new(cell: NonNull<Header>) -> Self {
        Self {
            cell,
            result: PhantomData,
        }
    }

    /// Whether the task has ended: finished, panicked or cancelled.
    #[doc(alias = "IsCompleted")]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        // SAFETY: valid, because the handle holds its part.
        unsafe { self.cell.as_ref() }.latch.is_final()
    }

    /// Waits for the task and returns its result.
    ///
    /// # Blocking
    /// A task that has not been started yet is run here and now when the caller belongs to the pool.
    /// Otherwise the caller waits and helps with nothing but this task's own forks and loops.
    ///
    /// # Errors
    /// [`JoinError`] when the task panicked, or was dropped because its runtime was shut down.
    #[doc(alias = "Wait")]
    #[doc(alias = "Result")]
    pub fn join(self) -> Result<T, JoinError> {
        // SAFETY: valid, because the handle holds its part.
        let latch = &unsafe { self.cell.as_ref() }.latch;
        let pool_seat = current::seat().filter(|seat| seat.runtime_or_none().is_some());
        // SAFETY: the handle is held.
        let in_place = pool_seat.is_some() && unsafe { cell::run_in_place(self.cell) };
        if !in_place {
            match pool_seat {
                Some(seat) => wait::for_latch(seat, latch),
                None => Seat::borrow_to_wait(|seat| wait::for_latch(seat, latch)),
            }
        }
        // SAFETY: 1. the latch is final, the handle held; 2. the handle was made with the cell's type.
        let outcome = unsafe { cell::take_result::<T>(self.cell) };
        outcome.map_err(JoinError)
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: the handle is held, and ends here.
        unsafe { cell::release_handle(self.cell) };
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("is_finished", &self.is_finished())
            .finish()
    }
}

/// Why a task has no result.
pub struct JoinError(Failure);

impl JoinError {
    /// Whether the task panicked.
    #[doc(alias = "IsFaulted")]
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.0, Failure::Panicked(_))
    }

    /// Whether the task was dropped before it started.
    #[doc(alias = "IsCanceled")]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Failure::Cancelled)
    }

    /// What the panic carried, to be inspected or resumed.
    ///
    /// # Errors
    /// The error itself when the task did not panic.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        match self.0 {
            Failure::Panicked(payload) => Ok(payload.into_inner()),
            Failure::Cancelled => Err(self),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Panicked(payload) => write!(f, "the task panicked: {payload}"),
            Failure::Cancelled => f.write_str("the task was cancelled before it started"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for JoinError {}
