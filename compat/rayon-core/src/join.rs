//! Two closures, perhaps in parallel.
//!
//! The second waits in the calling thread's deque while the first runs. If nobody has stolen it by then, the calling
//! thread runs it too.
//!
//! Not here: the wait for a thief (`wait.rs`).
//!
//! Unsafe: the second closure is a job in the caller's frame, which is left only when it has run.

use crate::global;
use crate::latch::Latch;
use crate::stack_job::StackJob;
use crate::unwind::halt_unwinding;
use crate::worker::WorkerThread;
use std::marker::PhantomData;
use std::panic::resume_unwind;

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// The first runs on the calling thread if that has a slot in a pool; otherwise both are sent to the global one.
///
/// # Panics
/// If a closure does. The other one runs all the same. If both panic, the first one's panic goes on.
///
/// # Examples
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() < 10 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = rayon_core::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&(0..1000).collect::<Vec<_>>()), 499_500);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| oper_a(), |_| oper_b())
}

/// As [`join`]; the closures learn whether they run on another thread than the one that called this.
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    global::in_worker(|worker, is_sent| join_on(worker, is_sent, oper_a, oper_b))
}

#[inline]
fn join_on<A, B, RA, RB>(worker: &WorkerThread, is_sent: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB + Send,
    RB: Send,
{
    let job = StackJob::new(Latch::new(Some(worker), worker.registry()), |is_stolen| {
        b(FnContext::new(is_sent || is_stolen))
    });
    let queued = job.as_job();
    worker.push(queued);
    // The job must be back, or done, before this frame is left.
    let a = halt_unwinding(|| a(FnContext::new(is_sent)));
    let b = loop {
        if job.latch().is_set() {
            break None;
        }
        match worker.forked.pop() {
            Some(popped) if popped == queued => {
                // SAFETY: popped from its own deque, so no other thread has it.
                break Some(halt_unwinding(|| unsafe { job.run_inline() }));
            }
            // Something that the first closure has left there.
            Some(popped) => worker.execute(popped),
            None => worker.wait_until(job.latch()),
        }
    };
    let a = a.unwrap_or_else(|payload| resume_unwind(payload));
    let b = match b {
        Some(b) => b.unwrap_or_else(|payload| resume_unwind(payload)),
        None => job.into_result(),
    };
    (a, b)
}

/// What a closure of [`join_context`] learns.
#[derive(Debug)]
pub struct FnContext {
    is_migrated: bool,
    /// Neither `Send` nor `Sync`.
    here: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(is_migrated: bool) -> Self {
        Self {
            is_migrated,
            here: PhantomData,
        }
    }

    /// Whether the closure runs on another thread than the one that it was given on.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.is_migrated
    }
}
