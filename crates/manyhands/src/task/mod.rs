//! Tasks: closures that run on the pool by themselves, with a handle to wait for their result.
//!
//! # Order
//! A task spawned on a worker goes to the back of that worker's queue, one spawned from outside to the back
//! of the runtime's. Both are first in, first out; idle workers take from others' queues, oldest first.
//! Every 61st time a worker looks at the tasks from outside before its own.
//!
//! Unsafe: a new task's cell is handed to a queue by pointer.

mod cell;
mod handle;
mod state;

pub use handle::{JoinError, JoinHandle};

use crate::runtime::current;

/// Runs `closure` on the current runtime and returns a handle to its result.
///
/// Dropping the handle detaches the task: it runs all the same.
///
/// # Cost
/// One allocation and a handful of atomic read-modify-writes: about 50 ns in all on a 2025 server core.
/// Does not block.
///
/// # Panics
/// A panic of `closure` goes to the handle, as [`JoinError`]; the worker survives.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let handle = task::run(|| (1..=10).product::<u64>());
/// assert_eq!(handle.join().unwrap(), 3_628_800);
/// ```
///
/// A task may outlive the caller, so it cannot borrow; [`scope`](crate::scope()) can:
/// ```compile_fail,E0373
/// let local = 1;
/// manyhands::task::run(|| local + 1);
/// ```
#[doc(alias = "Task.Run")]
#[doc(alias = "spawn_blocking")]
#[doc(alias = "QueueUserWorkItem")]
pub fn run<F, T>(closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let cell = cell::allocate(closure);
    match current::seat().filter(|seat| seat.runtime_or_none().is_some()) {
        Some(seat) => {
            // SAFETY: a new cell, valid until the queue's part of it ends.
            unsafe { seat.tasks.push(cell::as_job(cell)) };
            seat.runtime().wake_if_nobody_searches();
        }
        // SAFETY: as above.
        None => current::with_runtime(|shared| unsafe { shared.inject(cell::as_job(cell)) }),
    }
    JoinHandle::new(cell)
}
