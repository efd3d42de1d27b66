//! Making tasks.
//!
//! Unsafe: passes on the promises of those who spawn what may borrow, and makes them for those who spawn what may not.

use crate::local::Bound;
use crate::{Runnable, Schedule, ScheduleInfo, Task};
use manyhands::facade::{ForeignRunnable, OnPanic, WokenWhilePolled, spawn_foreign};

/// Makes tasks with metadata, or with another place for their panics.
///
/// # Examples
/// ```
/// use async_task::{Builder, Runnable};
/// use std::sync::mpsc;
/// let (sender, queue) = mpsc::channel::<Runnable<&'static str>>();
/// let schedule = move |runnable: Runnable<&'static str>| sender.send(runnable).unwrap();
/// let (runnable, task) = Builder::new()
///     .metadata("answer")
///     .propagate_panic(true)
///     .spawn(|name: &&'static str| std::future::ready(name.len()), schedule);
/// runnable.schedule();
/// let runnable = queue.recv().unwrap();
/// assert_eq!(*runnable.metadata(), "answer");
/// runnable.run();
/// assert_eq!(smol::block_on(task), 6);
/// ```
#[derive(Debug)]
pub struct Builder<M> {
    metadata: M,
    propagates_panic: bool,
}

impl<M: Default> Default for Builder<M> {
    fn default() -> Self {
        Builder::new().metadata(M::default())
    }
}

impl Builder<()> {
    /// Tasks without metadata, whose panics go on in [`Runnable::run`].
    pub fn new() -> Self {
        Self {
            metadata: (),
            propagates_panic: false,
        }
    }

    /// What [`Runnable::metadata`] and [`Task::metadata`] return, and what the future may be made of.
    pub fn metadata<M>(self, metadata: M) -> Builder<M> {
        Builder {
            metadata,
            propagates_panic: self.propagates_panic,
        }
    }
}

impl<M> Builder<M> {
    /// Whether a panic of the future goes on where the [`Task`] is awaited, rather than in [`Runnable::run`].
    pub fn propagate_panic(self, propagate_panic: bool) -> Self {
        Self {
            propagates_panic: propagate_panic,
            ..self
        }
    }

    /// As [`spawn`]; the future is made of the metadata, where that stays.
    ///
    /// Wakers take the metadata to other threads, and may live for ever: the last one drops it, and each gives it to
    /// the schedule function. So it must be [`Send`] and [`Sync`], and borrow nothing:
    /// ```compile_fail,E0277
    /// let counted = std::rc::Rc::new(());
    /// let schedule = |runnable: async_task::Runnable<_>| drop(runnable);
    /// let _ = async_task::Builder::new().metadata(counted).spawn(|_| async {}, schedule);
    /// ```
    /// ```compile_fail,E0597
    /// let name = String::from("mine");
    /// let schedule = |runnable: async_task::Runnable<&String>| println!("{}", runnable.metadata());
    /// let _ = async_task::Builder::new().metadata(&name).spawn(|_| async {}, schedule);
    /// ```
    ///
    /// # Panics
    /// If `future` does when it is called.
    #[track_caller]
    pub fn spawn<F, Fut, S>(self, future: F, schedule: S) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
    {
        // SAFETY: future, output, schedule function and metadata can be sent, and borrow nothing.
        unsafe { self.spawn_unchecked(future, schedule) }
    }

    /// As [`spawn_local`]; the future is made of the metadata, where that stays.
    ///
    /// Wakers take the metadata to other threads, as for [`spawn`](Self::spawn):
    /// ```compile_fail,E0277
    /// let counted = std::rc::Rc::new(());
    /// let schedule = |runnable: async_task::Runnable<_>| drop(runnable);
    /// let _ = async_task::Builder::new().metadata(counted).spawn_local(|_| async {}, schedule);
    /// ```
    ///
    /// # Panics
    /// If `future` does when it is called.
    #[track_caller]
    pub fn spawn_local<F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&M) -> Fut,
        Fut: Future + 'static,
        Fut::Output: 'static,
        S: Schedule<M> + Send + Sync + 'static,
        M: Send + Sync + 'static,
    {
        // SAFETY: the bound future is polled and dropped on this thread only. Schedule function and metadata can be
        // sent, and nothing is borrowed. A `Task` can be sent only if the output can.
        unsafe { self.spawn_unchecked(|metadata| Bound::here(future(metadata)), schedule) }
    }

    /// As [`spawn_unchecked`]; the future is made of the metadata, where that stays, and may borrow it.
    ///
    /// # Panics
    /// If `future` does when it is called.
    ///
    /// # Safety
    /// As for [`spawn_unchecked`], whose promises for the schedule function are made for the metadata too.
    #[track_caller]
    pub unsafe fn spawn_unchecked<'a, F, Fut, S>(
        self,
        future: F,
        schedule: S,
    ) -> (Runnable<M>, Task<Fut::Output, M>)
    where
        F: FnOnce(&'a M) -> Fut,
        Fut: Future + 'a,
        S: Schedule<M>,
        M: 'a,
    {
        let schedule = move |runnable: ForeignRunnable<M>, woken: WokenWhilePolled| {
            let info = ScheduleInfo::new(woken == WokenWhilePolled::Yes);
            schedule.schedule(Runnable::new(runnable), info);
        };
        let on_panic = if self.propagates_panic {
            OnPanic::Keep
        } else {
            OnPanic::Unwind
        };
        // SAFETY: 1., 2. and 3. by the caller's promise. The metadata is dropped with the cell, after the future.
        let (runnable, task) = unsafe { spawn_foreign(future, schedule, self.metadata, on_panic) };
        (Runnable::new(runnable), Task::new(task))
    }
}

/// Makes `future` a task, which is run by its [`Runnable`] and awaited by its [`Task`].
///
/// `schedule` gets the runnable whenever the task is to be run again: because it was woken, or, to be dropped, because
/// it was cancelled or nobody can wake it any more. For the first time the caller schedules it.
///
/// # Cost
/// One allocation.
///
/// # Examples
/// ```
/// let (runnable, task) = async_task::spawn(async { 1 + 2 }, |runnable: async_task::Runnable| drop(runnable));
/// runnable.run();
/// assert_eq!(smol::block_on(task), 3);
/// ```
#[track_caller]
pub fn spawn<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Schedule + Send + Sync + 'static,
{
    Builder::new().spawn(move |()| future, schedule)
}

/// As [`spawn`], for a future that need not be `Send`. It must be run, and its runnable dropped, on the calling thread.
///
/// # Panics
/// Where the runnable is run on another thread. If it is dropped there, the future is leaked.
///
/// # Examples
/// ```
/// let shared = std::rc::Rc::new(7);
/// let (runnable, task) = async_task::spawn_local(async move { *shared }, |runnable: async_task::Runnable| drop(runnable));
/// runnable.run();
/// assert_eq!(smol::block_on(task), 7);
/// ```
#[track_caller]
pub fn spawn_local<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Schedule + Send + Sync + 'static,
{
    Builder::new().spawn_local(move |()| future, schedule)
}

/// As [`spawn`], for any future and schedule function.
///
/// # Safety
/// 1. Unless the future is `Send`, its runnables are used and dropped on the calling thread. 2. Unless the schedule
///    function is `Send` and `Sync`, runnables, wakers and the task are used and dropped on the calling thread. 3. What
///    the future borrows lives until the last runnable is gone; what the schedule function borrows, until runnables,
///    wakers and the task are.
#[track_caller]
pub unsafe fn spawn_unchecked<F, S>(future: F, schedule: S) -> (Runnable, Task<F::Output>)
where
    F: Future,
    S: Schedule,
{
    // SAFETY: by the caller's promise.
    unsafe { Builder::new().spawn_unchecked(move |()| future, schedule) }
}
