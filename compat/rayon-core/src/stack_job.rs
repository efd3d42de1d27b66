//! Jobs in the frame that waits for them, and what they notify when they have been performed.
//!
//! Unsafe: the frame is left only when the job has been performed or taken back.

use crate::job::{Awaited, Header, JobRef};
use crate::latch::{CountLatch, Latch};
use crate::unwind::{Payload, halt_unwinding};
use std::cell::UnsafeCell;
use std::panic::resume_unwind;
use std::ptr::NonNull;

/// What is notified when a job has been performed.
pub(crate) trait Done {
    /// Who waits.
    fn awaited(&self) -> Awaited;

    /// The job has been performed.
    ///
    /// # Safety
    /// As for [`Latch::set`]. The job may be gone after this.
    unsafe fn done(this: *const Self);
}

impl Done for Latch {
    #[inline]
    fn awaited(&self) -> Awaited {
        Self::awaited(self)
    }

    #[inline]
    unsafe fn done(this: *const Self) {
        // SAFETY: as promised.
        unsafe { Self::set(this) };
    }
}

impl Done for &CountLatch {
    fn awaited(&self) -> Awaited {
        self.latch().awaited()
    }

    unsafe fn done(this: *const Self) {
        // SAFETY: valid until the latch is notified.
        let latch: *const CountLatch = unsafe { *this };
        // SAFETY: the latch outlives the jobs that are counted.
        unsafe { CountLatch::decrement(latch) };
    }
}

/// A job in the frame that waits for it; performed once, or taken back.
#[repr(C)]
pub(crate) struct StackJob<L, F, R> {
    header: Header,
    latch: L,
    closure: UnsafeCell<Option<F>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

// SAFETY: the closure goes to the one thread that performs the job, and the result comes back through the latch.
unsafe impl<L: Sync, F: Send, R: Send> Sync for StackJob<L, F, R> {}

impl<L: Done, F: FnOnce(bool) -> R, R> StackJob<L, F, R> {
    /// A job for `closure`, which is called with whether another thread runs it.
    ///
    /// `latch` is notified afterwards. A latch inside the job gets its final address only with the job; see [`as_job`].
    ///
    /// [`as_job`]: Self::as_job
    #[inline]
    pub(crate) fn new(latch: L, closure: F) -> Self {
        Self {
            header: Header::new(Self::perform, Awaited::NOBODY),
            latch,
            closure: UnsafeCell::new(Some(closure)),
            result: UnsafeCell::new(None),
        }
    }

    /// The job as a queue takes it. From now on it must not move until the latch is set or the job is taken back.
    #[inline]
    pub(crate) fn as_job(&self) -> JobRef {
        self.header.set_awaited(self.latch.awaited());
        // SAFETY: the header is the first field, and the job stays where it is, as said above.
        unsafe { JobRef::new(NonNull::from(self).cast()) }
    }

    /// What is notified.
    #[inline]
    pub(crate) fn latch(&self) -> &L {
        &self.latch
    }

    /// Runs the closure here, because the job was popped again.
    ///
    /// # Safety
    /// No other thread has the job.
    #[inline]
    pub(crate) unsafe fn run_inline(&self) -> R {
        // SAFETY: exclusive by the caller's promise.
        let closure = unsafe { &mut *self.closure.get() }.take();
        closure.expect("a job is run once")(false)
    }

    /// The result of a job that was performed.
    ///
    /// # Panics
    /// If the closure did.
    pub(crate) fn into_result(self) -> R {
        match self.result.into_inner() {
            Some(Ok(value)) => value,
            Some(Err(payload)) => resume_unwind(payload),
            None => unreachable!("the latch is set after the result is there"),
        }
    }

    /// See [`JobRef::perform`]: once.
    unsafe fn perform(job: NonNull<Header>) {
        let this: *const Self = job.as_ptr().cast();
        // SAFETY: the header is the first field of a live job.
        let closure = unsafe { &(*this).closure };
        // SAFETY: the performing thread has the job alone.
        let closure = unsafe { &mut *closure.get() }.take();
        let closure = closure.expect("a job is performed once");
        let result = halt_unwinding(|| closure(true));
        // SAFETY: as above.
        let place = unsafe { &(*this).result };
        // SAFETY: as above.
        unsafe { *place.get() = Some(result) };
        // SAFETY: as above.
        let latch = unsafe { &raw const (*this).latch };
        // SAFETY: valid until it is notified; this is the last access.
        unsafe { L::done(latch) };
    }
}
