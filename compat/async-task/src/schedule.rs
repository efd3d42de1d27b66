//! What an executor does with a task that is to be run.

use crate::Runnable;

/// A function that gets each runnable of a task to be run: a closure with the runnable alone, or, as [`WithInfo`], with
/// what led to it. Implemented here only.
///
/// # Examples
/// ```
/// use async_task::{Runnable, ScheduleInfo, WithInfo};
/// use std::sync::mpsc;
/// let (sender, queue) = mpsc::channel();
/// let schedule = move |runnable: Runnable, info: ScheduleInfo| {
///     sender.send((runnable, info.woken_while_running)).unwrap();
/// };
/// let yields = smol::future::yield_now();
/// let (runnable, task) = async_task::spawn(yields, WithInfo(schedule));
/// assert!(runnable.run());
/// let (runnable, was_running) = queue.recv().unwrap();
/// assert!(was_running && !runnable.run());
/// smol::block_on(task);
/// ```
pub trait Schedule<M = ()>: sealed::Sealed<M> {
    /// Sees to it that the runnable is run.
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo);
}

mod sealed {
    use super::{ScheduleInfo, WithInfo};
    use crate::Runnable;

    /// Nobody else can name it, so nobody else can implement the trait above.
    pub trait Sealed<M> {}

    impl<M, F: Fn(Runnable<M>)> Sealed<M> for F {}

    impl<M, F: Fn(Runnable<M>, ScheduleInfo)> Sealed<M> for WithInfo<F> {}
}

/// Why a task is scheduled.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ScheduleInfo {
    /// Whether it was woken while it was running; an executor may run others first.
    pub woken_while_running: bool,
}

impl ScheduleInfo {
    pub(crate) fn new(woken_while_running: bool) -> Self {
        Self {
            woken_while_running,
        }
    }
}

/// A schedule function that also gets a [`ScheduleInfo`].
///
/// Example: see [`Schedule`].
#[derive(Debug)]
pub struct WithInfo<F>(pub F);

impl<F> From<F> for WithInfo<F> {
    fn from(schedule: F) -> Self {
        Self(schedule)
    }
}

impl<M, F: Fn(Runnable<M>)> Schedule<M> for F {
    fn schedule(&self, runnable: Runnable<M>, _: ScheduleInfo) {
        self(runnable);
    }
}

impl<M, F: Fn(Runnable<M>, ScheduleInfo)> Schedule<M> for WithInfo<F> {
    fn schedule(&self, runnable: Runnable<M>, info: ScheduleInfo) {
        (self.0)(runnable, info);
    }
}
