//! Futures that borrow and can fail: the first failure cancels the others of its scope.
//!
//! Not here: why borrowing is sound (`scope.rs`, whose scope this one is made of).

use crate::job::{InPlace, catch, contain};
use crate::recording::Awaited;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use crate::task::{GroupError, JoinError, TaskScope};
use std::task::{Poll, ready};

/// Spawns futures that may fail, and borrow everything that outlives the scope. Made by [`try_scope_blocking`].
///
/// Example: see [`try_scope_blocking`].
#[derive(Debug)]
pub struct TryTaskScope<'scope, 'env: 'scope, E> {
    scope: TaskScope<'scope, 'env>,
    spawned: AtomicUsize,
    first_failure: Mutex<Option<GroupError<E>>>,
}

/// As [`scope_blocking`](super::scope_blocking()), with futures that can fail: at the first failure the others are cancelled.
/// It still returns only when all of them have ended.
///
/// # Blocking
/// As [`scope_blocking`](super::scope_blocking()).
///
/// # Errors
/// [`GroupError`]: the first failure. A future that panics fails, also where it is dropped after its end, as does one that is cancelled, by
/// [`TryTaskScope::abort_all`] or because the runtime is shut down.
///
/// # Panics
/// If `body` does; the futures are cancelled and ended first. In a simulation, as [`scope_blocking`](super::scope_blocking()).
///
/// # Examples
/// ```
/// use manyhands::task;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// let sum = AtomicU32::new(0);
/// let add = |texts: [&'static str; 2]| {
///     task::try_scope_blocking(|scope| {
///         for text in texts {
///             scope.spawn(async {
///                 sum.fetch_add(text.parse()?, Relaxed);
///                 Ok::<(), std::num::ParseIntError>(())
///             });
///         }
///     })
/// };
/// assert!(add(["40", "2"]).is_ok());
/// assert_eq!(sum.load(Relaxed), 42);
/// assert_eq!(add(["1", "none"]).unwrap_err().index(), 1);
/// ```
#[doc(alias = "try_join_all")]
#[cfg_attr(feature = "inspect", track_caller)]
pub fn try_scope_blocking<'env, R, E>(
    body: impl for<'scope> FnOnce(&'scope TryTaskScope<'scope, 'env, E>) -> R,
) -> Result<R, GroupError<E>> {
    let scope = TryTaskScope {
        scope: TaskScope::new(),
        spawned: AtomicUsize::new(0),
        first_failure: Mutex::new(None),
    };
    let value = scope.scope.run(Awaited::TryScope, || body(&scope));
    let first_failure = lock(&scope.first_failure).take();
    if let Some(failure) = first_failure {
        // First: the compiler leaks what is returned if a drop panics after that.
        drop(value);
        return Err(failure);
    }
    Ok(value)
}

impl<'scope, E: Send> TryTaskScope<'scope, '_, E> {
    /// Spawns a future on the current runtime. If it fails, the scope is cancelled.
    ///
    /// # Cost
    /// A task, and a short lock to keep its handle. Does not block.
    ///
    /// # Examples
    /// Each future borrows its own part of a vector:
    /// ```
    /// use manyhands::task;
    /// use std::num::ParseIntError;
    /// let mut numbers = vec![0; 2];
    /// let parsed = task::try_scope_blocking(|tasks| {
    ///     for (number, text) in numbers.iter_mut().zip(["40", "2"]) {
    ///         tasks.spawn(async move {
    ///             *number = text.parse()?;
    ///             Ok::<(), ParseIntError>(())
    ///         });
    ///     }
    /// });
    /// assert!(parsed.is_ok());
    /// assert_eq!(numbers, [40, 2]);
    /// ```
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'scope,
    {
        // Relaxed: the numbers only have to differ.
        let index = self.spawned.fetch_add(1, Ordering::Relaxed);
        let mut member = Member {
            scope: self,
            failure: Some(GroupError::Ended(index, JoinError::CANCELLED)),
        };
        // Twice, so that a panic of the future's drop is its failure.
        let member = InPlace::by(InPlace::of(future), move |future, context| {
            let result = match catch(|| future.poll(context)) {
                Ok(polled) => ready!(polled).map_err(|error| GroupError::Failed(index, error)),
                Err(payload) => Err(GroupError::Ended(index, JoinError::panicked(payload))),
            };
            member.failure = result.err();
            member.ends();
            Poll::Ready(())
        });
        // A future that has panicked in its poll is dropped after that. It has failed already.
        self.scope.spawn(InPlace::by(member, |member, context| {
            let mut polled = Poll::Ready(());
            contain(|| polled = member.poll(context));
            polled
        }));
    }
}

impl<E> TryTaskScope<'_, '_, E> {
    /// Asks all futures to end, also those that are spawned later; see
    /// [`JoinHandle::abort`](super::JoinHandle::abort).
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, GroupError};
    /// let error = task::try_scope_blocking(|tasks| {
    ///     tasks.spawn(std::future::pending::<Result<(), ()>>());
    ///     tasks.abort_all();
    /// })
    /// .unwrap_err();
    /// let GroupError::Ended(0, ended) = error else { panic!("it never ends by itself") };
    /// assert!(ended.is_cancelled());
    /// ```
    #[doc(alias = "cancel")]
    pub fn abort_all(&self) {
        self.scope.abort_all();
    }
}

/// One future of the scope.
struct Member<'scope, 'env, E> {
    scope: &'scope TryTaskScope<'scope, 'env, E>,
    /// The failure to record if it were dropped now.
    failure: Option<GroupError<E>>,
}

impl<E> Member<'_, '_, E> {
    /// Records its failure, and cancels the others if it is the first.
    fn ends(&mut self) {
        let Some(failure) = self.failure.take() else {
            return;
        };
        let mut first_failure = lock(&self.scope.first_failure);
        if first_failure.is_none() {
            *first_failure = Some(failure);
            drop(first_failure);
            self.scope.abort_all();
        }
    }
}

impl<E> Drop for Member<'_, '_, E> {
    fn drop(&mut self) {
        self.ends();
    }
}
