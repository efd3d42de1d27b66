//! Jobs: closures behind a pointer, in frames or boxes.
//!
//! Each begins with a header, so that a queue's entry is one word. Performing a job does not unwind. What its closure
//! captures is dropped before anybody learns that it was performed: a waiter may own what that borrows.
//!
//! Not here: queues (`registry.rs`).
//!
//! Unsafe: jobs are reached by pointer, and what they borrow is erased.

use crate::latch::{CountLatch, Latch};
use crate::unwind::{AbortIfPanic, Payload, halt_unwinding};
use crossbeam_deque::{Injector, Steal};
use std::cell::{Cell, UnsafeCell};
use std::panic::resume_unwind;
use std::ptr::{self, NonNull};

/// The first field of every job.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    perform: unsafe fn(NonNull<Self>),
    /// Written before the job is pushed, never after.
    awaited: Cell<Awaited>,
}

/// Who waits for a job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited {
    /// The latch's name; 0: nobody waits.
    pub(crate) latch: usize,
    /// The slot of the waiter in the pool that performs the job, plus one; 0: it has none there.
    pub(crate) slot: usize,
}

impl Awaited {
    /// Nobody waits.
    pub(crate) const NOBODY: Self = Self { latch: 0, slot: 0 };

    /// The waiter of this latch.
    #[inline]
    pub(crate) fn at(latch: &Latch) -> Self {
        Self {
            latch: latch.id(),
            slot: latch.waiting_slot().map_or(0, |slot| slot + 1),
        }
    }
}

/// A job in a queue, or in the hands of the thread that will perform it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(NonNull<Header>);

// SAFETY: the closures of jobs are `Send`.
unsafe impl Send for JobRef {}

impl JobRef {
    /// Who waits for it. The job has not been performed.
    #[inline]
    pub(crate) fn awaited(self) -> Awaited {
        // SAFETY: valid until it is performed.
        unsafe { self.0.as_ref() }.awaited.get()
    }

    /// Performs the job.
    ///
    /// # Safety
    /// 1. It is performed as often as its kind allows. 2. The calling thread has a slot.
    #[inline]
    pub(crate) unsafe fn perform(self) {
        // Whatever kind of job it is: others hold pointers to it, and its thread keeps a record of it meanwhile.
        let frame = AbortIfPanic;
        // SAFETY: valid until it is performed.
        let perform = unsafe { self.0.as_ref() }.perform;
        // SAFETY: 1. and 2. as promised.
        unsafe { perform(self.0) };
        frame.disarm();
    }
}

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
        Awaited::at(self)
    }

    #[inline]
    unsafe fn done(this: *const Self) {
        // SAFETY: as promised.
        unsafe { Self::set(this) };
    }
}

impl Done for &CountLatch {
    fn awaited(&self) -> Awaited {
        Awaited::at(self.latch())
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
            header: Header {
                perform: Self::perform,
                awaited: Cell::new(Awaited::NOBODY),
            },
            latch,
            closure: UnsafeCell::new(Some(closure)),
            result: UnsafeCell::new(None),
        }
    }

    /// The job as a queue takes it. From now on it must not move until the latch is set or the job is taken back.
    #[inline]
    pub(crate) fn as_job(&self) -> JobRef {
        self.header.awaited.set(self.latch.awaited());
        JobRef(NonNull::from(self).cast())
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

/// A job of its own; performed once.
#[repr(C)]
pub(crate) struct HeapJob<F> {
    header: Header,
    closure: F,
}

impl<F: FnOnce() + Send> HeapJob<F> {
    /// A job for `closure`, which does not unwind.
    ///
    /// # Safety
    /// What `closure` borrows lives until it has returned, and the job is performed.
    pub(crate) unsafe fn job(awaited: Awaited, closure: F) -> JobRef {
        let header = Header {
            perform: Self::perform,
            awaited: Cell::new(awaited),
        };
        let job = Box::new(Self { header, closure });
        JobRef(NonNull::from(Box::leak(job)).cast())
    }

    /// See [`JobRef::perform`]: once.
    unsafe fn perform(job: NonNull<Header>) {
        // SAFETY: the header is the first field of what `job` has leaked, performed once.
        let job = unsafe { Box::from_raw(job.as_ptr().cast::<Self>()) };
        (job.closure)();
    }
}

/// Jobs that leave in the order in which they came, through entries of a queue with another order.
#[repr(C)]
pub(crate) struct FifoQueue {
    header: Header,
    jobs: Injector<JobRef>,
}

// SAFETY: the header is never written after it was made, and the queue is shared.
unsafe impl Sync for FifoQueue {}
// SAFETY: as above.
unsafe impl Send for FifoQueue {}

impl FifoQueue {
    /// An empty queue of jobs that this waiter waits for.
    pub(crate) fn new(awaited: Awaited) -> Self {
        Self {
            header: Header {
                perform: Self::perform_first,
                awaited: Cell::new(awaited),
            },
            jobs: Injector::new(),
        }
    }

    /// Adds a job. The entry returned performs the first job then in this queue, which must live until that.
    ///
    /// # Safety
    /// The entry is performed once, and this queue lives until then.
    pub(crate) unsafe fn push(&self, job: JobRef) -> JobRef {
        self.jobs.push(job);
        let this: *const Self = ptr::from_ref(self);
        // SAFETY: a reference is not null.
        JobRef(unsafe { NonNull::new_unchecked(this.cast_mut()) }.cast())
    }

    /// See [`JobRef::perform`]: once for each job.
    unsafe fn perform_first(job: NonNull<Header>) {
        // SAFETY: the header is the first field of a live queue, by the promise at `push`.
        let jobs = unsafe { &(*job.as_ptr().cast::<Self>()).jobs };
        let first = loop {
            match jobs.steal() {
                Steal::Success(first) => break first,
                Steal::Retry => {}
                Steal::Empty => unreachable!("there is a job for each entry"),
            }
        };
        // SAFETY: taken from the queue just now.
        unsafe { first.perform() };
    }
}
