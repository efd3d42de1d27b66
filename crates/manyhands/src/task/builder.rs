//! Spawning tasks with options.
//!
//! Unsafe: a new task's cell is handed to a queue by pointer.

use crate::runtime::current;
use crate::task::cell::{self, Name, Work};
use crate::task::closure::Closure;
use crate::task::future::{Anywhere, Async, OneWorker};
use crate::task::{JoinHandle, schedule};
use std::panic::Location;

/// Options for a task, to be spawned with one of the methods at the end.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let handle = task::Builder::new().name("answer").spawn(async { 42 });
/// assert_eq!(handle.name(), Some("answer"));
/// assert_eq!(handle.join().unwrap(), 42);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a task is spawned"]
pub struct Builder {
    name: Option<Box<str>>,
}

impl Builder {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the task, for its handle and for diagnostics.
    ///
    /// # Cost
    /// Two words in the task's memory and an allocation for the name; a task without one pays nothing.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// As [`task::spawn`](super::spawn).
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        match self.name {
            Some(name) => spawn(name, future),
            None => spawn((), future),
        }
    }

    /// As [`task::spawn_local`](super::spawn_local).
    ///
    /// # Panics
    /// When the calling thread is no worker of the current runtime.
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
    #[track_caller]
    pub fn run<F, T>(self, closure: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        match self.name {
            Some(name) => run(name, closure),
            None => run((), closure),
        }
    }
}

#[track_caller]
pub(super) fn spawn<N, F>(name: N, future: F) -> JoinHandle<F::Output>
where
    N: Name,
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    queue_new(Async::<_, _, Anywhere>::new(future), name)
}

#[track_caller]
pub(super) fn spawn_local<N, F>(name: N, future: F) -> JoinHandle<F::Output>
where
    N: Name,
    F: Future + 'static,
    F::Output: 'static,
{
    let Some(seat) = current::seat().filter(|seat| seat.is_worker()) else {
        panic!(
            "`spawn_local` was called on a thread that is no worker of the current runtime: \
             call it inside a task"
        );
    };
    let work = Async::<_, _, OneWorker>::new(future);
    let cell = cell::allocate(work, name, Location::caller());
    // SAFETY: a new cell's queue part is the caller's, which is the worker.
    unsafe { schedule::queue_new_local(cell, seat) };
    JoinHandle::new(cell)
}

/// As [`spawn`], of a future that borrows.
///
/// # Safety
/// What the future borrows lives until the future has been dropped.
#[track_caller]
pub(super) unsafe fn spawn_borrowing<F>(future: F) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send,
{
    queue_new(Async::<_, _, Anywhere>::new(future), ())
}

#[track_caller]
pub(super) fn run<N, F, T>(name: N, closure: F) -> JoinHandle<T>
where
    N: Name,
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    queue_new(Closure::new(closure), name)
}

#[track_caller]
fn queue_new<W: Work>(work: W, name: W::Name) -> JoinHandle<W::Result> {
    let cell = cell::allocate(work, name, Location::caller());
    // SAFETY: a new cell's queue part is the caller's.
    unsafe { schedule::queue_new(cell) };
    JoinHandle::new(cell)
}
