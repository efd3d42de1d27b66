//! Tasks: futures and closures that run on the pool by themselves, with a handle to wait for their result.
//!
//! [`spawn`] takes a future, [`run`] a closure. Both return a [`JoinHandle`]: await it, or [`join`](JoinHandle::join) it on a
//! thread. [`block_on`] waits for any future on the calling thread. [`blocking`] declares that a closure may block.
//!
//! # Waiting
//! A future that waits occupies no thread: its worker continues with other tasks. [`JoinHandle::join`] and
//! [`block_on`] block the thread and declare it, so that another worker runs in its place. Neither ever runs
//! unrelated work on the waiting thread's stack.
//!
//! # Blocking
//! A task may block. Waits of this library declare it, as [`blocking`] does for a closure, and another thread runs in
//! its place at once. On Linux the pool detects other blocking: if work waits, after 0.4 ms at the earliest, and in the
//! worst cases after 20 to 50 ms. Added threads end after [`thread_keep_alive`](crate::RuntimeBuilder::thread_keep_alive) without
//! work. There is no second pool.
//!
//! # Priority
//! [`Builder::priority`] makes a task interactive, normal or background. Workers take them 8 : 4 : 1, and no kind
//! starves.
//!
//! # Order
//! A task that is spawned or woken on a worker goes to the back of that worker's queue, one from outside to the back of the
//! runtime's. Both are first in, first out. With more than 16 workers the runtime has several queues, so that its order
//! holds only among the tasks of one thread. Idle workers take from the queues of others, oldest first. Once in a round of 61 tasks, or of about half a
//! millisecond where tasks are longer, a worker checks the queue for tasks from outside first, and once the queues of
//! other workers, so no source starves another.
//!
//! While long computations occupy all workers, one extra thread runs waiting tasks, except those of closure and future
//! types that were observed to compute for a millisecond. Interactive tasks always qualify.
//!
//! While a thread is blocked in a task, a worker that takes several tasks together runs those of the same type last,
//! because each of them may block another thread.
//!
//! # Examples
//! ```
//! use manyhands::task::{self, Priority};
//!
//! async fn answer() -> u32 {
//!     let (completer, completion) = task::completion(); // from a callback to a future
//!     std::thread::spawn(move || completer.complete(6));
//!     let factor = task::spawn(async { 7 }); // runs by itself
//!     completion.await.unwrap() * factor.await.unwrap()
//! }
//! assert_eq!(task::block_on(answer()), 42);
//!
//! let read = task::run(|| task::blocking(|| std::fs::read("/dev/null")));
//! let background = task::Builder::new().priority(Priority::Background).run(|| "tidied");
//! assert!(read.join()?.is_ok());
//! assert_eq!(background.join()?, "tidied");
//! # Ok::<(), task::JoinError>(())
//! ```
//!
//! # Panics
//! A panic of a task goes to its handle, as [`JoinError`]; the worker survives. Panics of drops and of wakers are
//! caught and otherwise ignored.

mod abort_handle;
mod block_on;
pub(crate) mod budget;
mod builder;
mod cell;
mod closure;
mod completion;
mod continuation;
mod detached;
pub(crate) mod framed;
mod future;
mod group;
mod handle;
mod join_error;
mod joiner;
mod name;
mod poll_waker;
mod ready_set;
pub(crate) mod runtime_handle;
mod schedule;
mod scope;
mod state;
mod steps;
mod tracker;
mod try_scope;
mod wait_list;
mod waker;
mod when_all;
mod when_any;
mod when_each;
mod yield_now;

pub use crate::runtime::Priority;
pub use abort_handle::AbortHandle;
pub use block_on::block_on;
pub(crate) use block_on::block_on_timer;
pub use builder::Builder;
pub use completion::{Completer, Completion, CompletionError, completion};
pub use detached::run_detached;
pub use group::{GroupError, TaskGroup};
pub use handle::{JoinHandle, TaskId};
pub use join_error::JoinError;
pub(crate) use poll_waker::{PollWaker, is_task};
pub use scope::{TaskScope, scope_blocking};
pub use tracker::{TaskTracker, TaskTrackerToken};
pub use try_scope::{TryTaskScope, try_scope_blocking};
pub(crate) use wait_list::{WaitList, WaiterKey};
pub(crate) use waker::task_of;
pub use when_all::{WhenAll, when_all};
pub use when_any::{FirstEnded, WhenAny, when_any};
pub(crate) use when_each::GroupWaker;
pub use when_each::{WhenEach, when_each};
pub use yield_now::yield_now;

use crate::runtime::sleep::blocking_on_others;

/// Runs `future` on the current runtime and returns a handle to its result.
///
/// Dropping the handle detaches the task: it runs all the same. When the runtime is shut down, a future that
/// has not finished is dropped. A task whose handles are dropped and that nothing can wake is dropped at once.
///
/// # Cost
/// One allocation, also for a future that is ready at once. Does not block.
///
/// # Panics
/// A panic of the future goes to the handle, as [`JoinError`]; the worker survives.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let handle = task::spawn(async { (1..=10).product::<u64>() });
/// assert_eq!(handle.join().unwrap(), 3_628_800);
/// ```
///
/// A task may outlive the caller, so it cannot borrow:
/// ```compile_fail,E0373
/// let local = 1;
/// manyhands::task::spawn(async { local + 1 });
/// ```
#[doc(alias = "Task.Run")]
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    builder::spawn((), future)
}

/// Runs `future`, which need not be `Send`, on this worker, and returns a handle to its result.
///
/// It is polled and dropped on this worker's thread only, in turn with the worker's other tasks; it may be
/// woken and cancelled from any thread. While the worker runs something else, the future waits: no other worker
/// can run it. So await the handle on this worker: [`join`](JoinHandle::join) panics there, and any other wait for the future that
/// blocks the thread, such as in [`block_on`], never ends.
///
/// # Panics
/// When the calling thread is no worker of the current runtime, such as the main thread. A panic of the
/// future goes to the handle.
///
/// # Examples
/// ```
/// use manyhands::task;
/// use std::rc::Rc;
/// let handle = task::spawn(async {
///     task::spawn_local(async {
///         let shared = Rc::new(41);
///         task::yield_now().await;
///         *shared + 1
///     })
///     .await
/// });
/// assert_eq!(handle.join().unwrap().unwrap(), 42);
/// ```
#[doc(alias = "LocalSet")]
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    builder::spawn_local((), future)
}

/// Runs `closure` on the current runtime and returns a handle to its result.
///
/// Dropping the handle detaches the task: it runs all the same. The closure may block, best inside
/// [`blocking`], which lets another worker take over at once. For long or frequent waits a future is
/// cheaper.
///
/// # Cost
/// One allocation and a handful of atomic read-modify-writes. Does not block.
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
#[doc(alias("Task.Run", "spawn_blocking"))]
#[track_caller]
pub fn run<F, T>(closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    builder::run((), closure)
}

/// Runs `closure`, which may block the thread, on the calling thread; on a thread of the pool, another worker
/// runs in its place meanwhile.
///
/// For files, foreign locks, calls of other libraries: all waits outside of this library. The waits
/// of this library, such as on a channel or [`JoinHandle::join`], declare themselves. The
/// monitor also detects undeclared blocking, but that takes it some milliseconds.
///
/// `task::run(|| task::blocking(|| …))` is what other libraries call `spawn_blocking`: there is no second
/// pool. Threads are added up to the limit given by [`RuntimeBuilder::max_threads`](crate::RuntimeBuilder::max_threads), and
/// end when they are not needed any more.
///
/// While the closure runs, other workers may take the worker's queued tasks, and the monitor fires its timers;
/// only tasks that no other worker may run, those of [`spawn_local`], wait.
/// A long computation is no reason to call this: it needs the processor that its worker has.
///
/// # Cost
/// Two atomic read-modify-writes if nothing else is to be done; a wake-up, or the start of a thread, if
/// work waits.
///
/// # Panics
/// If `closure` does.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let read = task::run(|| task::blocking(|| std::fs::read_to_string("/dev/null")));
/// assert!(read.join().unwrap().is_ok_and(|text| text.is_empty()));
/// ```
#[doc(alias("block_in_place", "spawn_blocking", "unblock"))]
pub fn blocking<R>(closure: impl FnOnce() -> R) -> R {
    blocking_on_others(closure)
}
