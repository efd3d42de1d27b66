//! Spawning tasks with options.
//!
//! Unsafe: a task of a scope borrows from it, and a local one is queued by pointer.

use crate::runtime::enqueue::{enqueue_bound, enqueue_new};
use crate::runtime::{Priority, current};
use crate::task::JoinHandle;
use crate::task::cell::{self, HandlePart, QueuePart};
use crate::task::closure::Closure;
use crate::task::future::Async;
use crate::task::name::{Bound, Name, Prioritized};
use std::panic::Location;
use std::sync::Arc;

/// Options for a task, to be spawned with one of the methods at the end.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let handle = task::Builder::new().name("answer").spawn(async { 42 });
/// assert_eq!(handle.name(), Some("answer"));
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[doc(alias("TaskFactory", "StartNew", "TaskCreationOptions"))]
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a task is spawned"]
pub struct Builder {
    name: Option<Arc<str>>,
    priority: Priority,
}

impl Builder {
    /// No options.
    ///
    /// Example: see [`Builder`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the task, for its handle and for diagnostics.
    ///
    /// Example: see [`Builder`].
    ///
    /// # Cost
    /// Two words in the task's memory and an allocation for the name; a task without one pays nothing.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into());
        self
    }

    /// The task's priority, each time it is queued. A task that is bound to a worker, by
    /// [`spawn_local`](Self::spawn_local), takes turns with that worker's other tasks whatever its priority.
    ///
    /// # Cost
    /// Three words in the task's memory, including the name. Interactive and background tasks
    /// share one set of queues for the whole runtime, which workers check from the first such task on.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, Priority};
    /// let tidying = task::Builder::new().priority(Priority::Background).run(|| "tidied");
    /// let answer = task::Builder::new().priority(Priority::Interactive).spawn(async { 42 });
    /// assert_eq!((answer.join().unwrap(), tidying.join().unwrap()), (42, "tidied"));
    /// ```
    #[doc(alias = "PreferFairness")]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// As [`task::spawn`](super::spawn).
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let handle = task::Builder::new().name("sum").spawn(async { 1 + 2 });
    /// assert_eq!(handle.join().unwrap(), 3);
    /// ```
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match (self.name, self.priority) {
            (None, Priority::Normal) => spawn((), future),
            (Some(name), Priority::Normal) => spawn(name, future),
            (name, priority) => spawn(Prioritized { name, priority }, future),
        }
    }

    /// As [`task::spawn_local`](super::spawn_local).
    ///
    /// # Panics
    /// When the calling thread is no worker of the current runtime.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// use std::rc::Rc;
    /// let name = task::spawn(async {
    ///     let shared = Rc::new("local");
    ///     let local = task::Builder::new().name("local").spawn_local(async move { *shared });
    ///     assert_eq!(local.name(), Some("local"));
    ///     local.await.unwrap()
    /// });
    /// assert_eq!(name.join().unwrap(), "local");
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        match self.name {
            Some(name) => spawn_local(name, future),
            None => spawn_local((), future),
        }
    }

    /// As [`task::run`](super::run).
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let handle = task::Builder::new().name("sum").run(|| 1 + 2);
    /// assert_eq!((handle.name(), handle.is_finished()).0, Some("sum"));
    /// assert_eq!(handle.join().unwrap(), 3);
    /// ```
    #[track_caller]
    pub fn run<F, T>(self, closure: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match (self.name, self.priority) {
            (None, Priority::Normal) => run((), closure),
            (Some(name), Priority::Normal) => run(name, closure),
            (name, priority) => run(Prioritized { name, priority }, closure),
        }
    }
}

#[track_caller]
pub(super) fn spawn<N: Name, F>(name: N, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    queue_new(name.label().priority, new_future(name, future))
}

#[track_caller]
pub(super) fn spawn_local<N: Name, F>(name: N, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: 'static> + 'static,
{
    let Some(slot) = current::slot().filter(|slot| slot.is_worker()) else {
        panic!(
            "`spawn_local` was called on a thread that is no worker of the current runtime: \
             call it inside a task"
        );
    };
    let at = Bound {
        name,
        home: slot.number,
    };
    let (queued, part) = new_future(at, future);
    slot.has_bound_tasks.set(true);
    // SAFETY: the task is new, and the caller is this worker.
    unsafe { enqueue_bound(queued.into_job(), slot) };
    JoinHandle { part }
}

/// As [`spawn`], of a future that borrows.
///
/// # Safety
/// The borrowed values are valid until the future has been dropped.
#[track_caller]
pub(super) unsafe fn spawn_borrowing<F: Future<Output = ()> + Send>(future: F) -> JoinHandle<()> {
    queue_new(Priority::Normal, new_future((), future))
}

#[track_caller]
pub(super) fn run<N: Name, F, T: Send + 'static>(name: N, closure: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
{
    queue_new(name.label().priority, new_closure(name, closure))
}

/// A task that is in no queue yet.
pub(super) type NewTask<T> = (QueuePart, HandlePart<T>);

/// A task that is a future.
#[track_caller]
pub(super) fn new_future<N: Name, F: Future>(name: N, future: F) -> NewTask<F::Output> {
    if const { is_large::<F>() } {
        cell::allocate(Async(Box::pin(future)), name, Location::caller())
    } else {
        cell::allocate(Async(future), name, Location::caller())
    }
}

/// A task that is a closure.
#[track_caller]
pub(super) fn new_closure<N: Name, F: FnOnce() -> T, T>(name: N, closure: F) -> NewTask<T> {
    if const { is_large::<F>() } {
        cell::allocate(Closure(Box::new(closure)), name, Location::caller())
    } else {
        cell::allocate(Closure(closure), name, Location::caller())
    }
}

fn queue_new<T>(priority: Priority, (queued, part): NewTask<T>) -> JoinHandle<T> {
    enqueue_new(queued.into_job(), priority);
    JoinHandle { part }
}

/// Whether work is moved to the heap before its cell is made: without optimization each function that it passes through
/// on its way to the cell has copies of it on the stack.
const fn is_large<W>() -> bool {
    size_of::<W>() > 16 << 10
}
