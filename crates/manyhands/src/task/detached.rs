//! Closures without a handle: a job and the closure, with no outcome and no name.
//!
//! Not a task with a dropped handle (`closure.rs`): that one has space for everything that its handle might have read.
//!
//! Unsafe: cells are reached by pointer.

use crate::job::{Action, Job, JobKind, block, contain};
use crate::queue::Unqueued;
use crate::runtime::Priority;
use crate::runtime::enqueue::enqueue_new;
use std::ptr::NonNull;

/// The cell.
#[repr(C)]
struct Detached<F> {
    job: Job,
    closure: F,
}

/// Runs `closure` on the current runtime, without a handle: it cannot be awaited or cancelled, and has no
/// result.
///
/// For very many very small closures: about half the memory of [`run`](crate::task::run) and two atomic operations fewer.
/// A runtime that is shut down drops the closures that it has not started.
///
/// # Cost
/// One allocation of 16 bytes more than the closure. Does not block.
///
/// # Panics
/// A panic of `closure` is reported by the panic hook and otherwise ignored; the worker survives.
///
/// # Examples
/// ```
/// use manyhands::{channel, task};
/// let (sender, receiver) = channel::unbounded();
/// for i in 0..100_u64 {
///     let sender = sender.clone();
///     task::run_detached(move || drop(sender.send_blocking(i * i)));
/// }
/// drop(sender);
/// assert_eq!(receiver.iter().sum::<u64>(), 328_350);
/// ```
#[doc(alias("rayon::spawn", "QueueUserWorkItem"))]
pub fn run_detached<F>(closure: F)
where
    F: FnOnce() + Send + 'static,
{
    let cell = block::allocate(Detached {
        job: Job::new(const { &JobKind::new(Detached::<F>::perform) }),
        closure,
    });
    // SAFETY: 1. valid until it is performed; 2. new.
    let job = unsafe { Unqueued::new(cell.cast().as_ptr()) };
    enqueue_new(job, Priority::Normal);
}

impl<F: FnOnce()> Detached<F> {
    /// See [`Job::perform`].
    unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
        // SAFETY: a job is never null.
        let cell = unsafe { NonNull::new_unchecked(job.cast::<Self>()) };
        // SAFETY: the job is the first field of a cell allocated by `run_detached`, performed once.
        let closure = unsafe { block::free(cell) }.closure;
        match action {
            Action::Run(_) => contain(closure),
            Action::Discard | Action::Drop(_) => contain(|| drop(closure)),
        }
        true
    }
}
