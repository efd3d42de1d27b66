//! Jobs: closures behind a pointer, in boxes or elsewhere.
//!
//! Each begins with a header, so that a queue's entry is one word. Performing a job does not unwind. What its closure
//! captures is dropped before anybody learns that it was performed: a waiter may own what that borrows.
//!
//! Not here: jobs in the frame of their waiter (`stack_job.rs`), and queues (`slot.rs`, `registry.rs`).
//!
//! Unsafe: jobs are reached by pointer, and what they borrow is erased.

use crate::sync::{Injector, Steal};
use crate::unwind::AbortIfPanic;
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The first field of every job.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    perform: unsafe fn(NonNull<Self>),
    /// Written before the job is pushed, never after.
    awaited: Cell<Awaited>,
}

impl Header {
    /// The header of a job that `perform` performs, and this waiter waits for.
    #[inline]
    pub(crate) fn new(perform: unsafe fn(NonNull<Self>), awaited: Awaited) -> Self {
        Self {
            perform,
            awaited: Cell::new(awaited),
        }
    }

    /// Says who waits, before the job is pushed.
    #[inline]
    pub(crate) fn set_awaited(&self, awaited: Awaited) {
        self.awaited.set(awaited);
    }
}

/// Who waits for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Awaited {
    /// The latch's name; 0: nobody waits.
    pub(crate) latch: usize,
    /// Where the frame is that waits.
    pub(crate) waiter: Place,
}

impl Awaited {
    /// Nobody waits.
    pub(crate) const NOBODY: Self = Self {
        latch: 0,
        waiter: Place::ELSEWHERE,
    };
}

/// The frames of the thread in a slot that lie between two of its executions: the slot's index plus one, and how many executions
/// are below, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    /// No place of the pool that performs the job.
    pub(crate) const ELSEWHERE: Self = Self(0);

    /// Below all executions of the thread in slot `index`.
    pub(crate) fn lowest(index: usize) -> Self {
        Self((index as u64 + 1) << LEVEL_BITS)
    }

    /// On top of one more execution.
    pub(crate) fn above(self) -> Self {
        Self(self.0 + 1)
    }

    /// The slot's index.
    #[inline]
    pub(crate) fn slot(self) -> Option<usize> {
        ((self.0 >> LEVEL_BITS) as usize).checked_sub(1)
    }

    /// How many executions are below.
    pub(crate) fn level(self) -> usize {
        (self.0 & ((1 << LEVEL_BITS) - 1)) as usize
    }

    /// As a number, to be kept in an atomic.
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// From what [`to_bits`](Self::to_bits) has returned.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// More levels than any stack has room for.
const LEVEL_BITS: u32 = 40;

/// A job in a queue, or in the hands of the thread that will perform it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobRef(NonNull<Header>);

// SAFETY: the closures of jobs are `Send`.
unsafe impl Send for JobRef {}

impl JobRef {
    /// The job that begins with this header.
    ///
    /// # Safety
    /// The job stays where it is until it is performed or taken back, and `job` may be used for all of it.
    #[inline]
    pub(crate) unsafe fn new(job: NonNull<Header>) -> Self {
        Self(job)
    }

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
        let header = Header::new(Self::perform, awaited);
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

// SAFETY: the header is not written while the queue is shared.
unsafe impl Sync for FifoQueue {}
// SAFETY: as above.
unsafe impl Send for FifoQueue {}

impl FifoQueue {
    /// An empty queue of jobs that nobody waits for.
    pub(crate) fn new() -> Self {
        Self {
            header: Header::new(Self::perform_first, Awaited::NOBODY),
            jobs: Injector::new(),
        }
    }

    /// Says who waits for all its jobs.
    pub(crate) fn set_awaited(&mut self, awaited: Awaited) {
        self.header.set_awaited(awaited);
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
