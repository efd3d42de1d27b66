//! Futures that borrow and can fail: the first failure cancels the others of its group.
//!
//! Not here: why borrowing is sound (`borrowing.rs`, whose group this one is made of).

use crate::job::{PanicPayload, catch};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use crate::task::cell::Failure;
use crate::task::{Group, GroupError, GroupFailure, JoinError};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Spawns futures that may fail, and borrow everything that outlives the group. Made by [`try_group`].
#[derive(Debug)]
pub struct TryGroup<'group, 'env: 'group, E> {
    group: Group<'group, 'env>,
    spawned: AtomicUsize,
    first_failure: Mutex<Option<GroupError<E>>>,
}

/// As [`group`](super::group), with futures that can fail: at the first failure the others are cancelled.
/// Still it returns when all of them have ended.
///
/// # Blocking
/// As [`group`](super::group).
///
/// # Errors
/// [`GroupError`]: what failed first. A future that panics fails, as does one that is cancelled, by
/// [`TryGroup::cancel`] or because the runtime is shut down.
///
/// # Panics
/// If `body` does; the futures are cancelled and ended first. In a simulation, as [`group`](super::group).
///
/// # Examples
/// ```
/// use manyhands::task;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// let sum = AtomicU32::new(0);
/// let add = |texts: [&'static str; 2]| {
///     task::try_group(|group| {
///         for text in texts {
///             group.spawn(async {
///                 sum.fetch_add(text.parse()?, Relaxed);
///                 Ok::<(), std::num::ParseIntError>(())
///             });
///         }
///     })
/// };
/// assert!(add(["40", "2"]).is_ok());
/// assert_eq!(sum.load(Relaxed), 42);
/// assert_eq!(add(["1", "none"]).unwrap_err().index, 1);
/// ```
#[doc(alias = "try_join_all")]
pub fn try_group<'env, R, E>(
    body: impl for<'group> FnOnce(&'group TryGroup<'group, 'env, E>) -> R,
) -> Result<R, GroupError<E>> {
    let group = TryGroup {
        group: Group::new(),
        spawned: AtomicUsize::new(0),
        first_failure: Mutex::new(None),
    };
    let value = group.group.run(|| body(&group));
    let first_failure = lock(&group.first_failure).take();
    first_failure.map_or(Ok(value), Err)
}

impl<'group, E: Send> TryGroup<'group, '_, E> {
    /// Spawns a future on the current runtime. If it fails, the group is cancelled.
    #[track_caller]
    pub fn spawn<F>(&'group self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'group,
    {
        // Relaxed: the numbers only have to differ.
        let index = self.spawned.fetch_add(1, Ordering::Relaxed);
        let member = Member {
            group: self,
            index,
            failure: Some(GroupFailure::Ended(JoinError(Failure::Cancelled))),
        };
        self.group.spawn(async move {
            let mut future = pin!(future);
            let ended = poll_fn(|context| match catch(|| future.as_mut().poll(context)) {
                Ok(polled) => polled.map(|result| result.map_err(GroupFailure::Failed)),
                Err(payload) => {
                    let panicked = Failure::Panicked(PanicPayload::new(payload));
                    Poll::Ready(Err(GroupFailure::Ended(JoinError(panicked))))
                }
            });
            member.end(ended.await);
        });
    }
}

impl<E> TryGroup<'_, '_, E> {
    /// Asks all futures to end, also those that are spawned later; see
    /// [`JoinHandle::cancel`](super::JoinHandle::cancel).
    pub fn cancel(&self) {
        self.group.cancel();
    }
}

/// One future's part in its group.
struct Member<'group, 'env, E> {
    group: &'group TryGroup<'group, 'env, E>,
    index: usize,
    /// How it failed, if it was dropped now.
    failure: Option<GroupFailure<E>>,
}

impl<E> Member<'_, '_, E> {
    fn end(mut self, result: Result<(), GroupFailure<E>>) {
        self.failure = result.err();
    }
}

impl<E> Drop for Member<'_, '_, E> {
    fn drop(&mut self) {
        let Some(failure) = self.failure.take() else {
            return;
        };
        let mut first_failure = lock(&self.group.first_failure);
        if first_failure.is_none() {
            let index = self.index;
            *first_failure = Some(GroupError { index, failure });
            drop(first_failure);
            self.group.cancel();
        }
    }
}
