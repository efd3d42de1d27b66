//! Futures that borrow: a scope that ends before the borrowed values do.
//!
//! # Why borrowing is sound
//! Each future has a token of the scope's tracker, which is dropped after the future. [`scope_blocking`] does not return, nor
//! unwind, before all tokens are dropped. Futures return no result that could outlive that. The rest of a cell, held by wakers
//! or the scope's handles, borrows nothing.
//!
//! Not here: how tokens are counted (`tracker.rs`), futures that can fail (`try_scope.rs`), that borrow nothing (`group.rs`),
//! closures that borrow (`runtime/fork_join/scope.rs`).
//!
//! Unsafe: futures are spawned that borrow.

use crate::job::{InPlace, OnDrop, Payload, abort, catch, value_or_resume};
use crate::recording::{Awaited, TaskSet};
use crate::runtime::wait;
use crate::sync::{Mutex, lock, process};
use crate::task::{JoinHandle, TaskTracker, builder};
use std::marker::PhantomData;
use std::task::Poll;

/// Spawns futures that may borrow everything that outlives the scope. Made by [`scope_blocking`].
///
/// Example: see [`scope_blocking`].
#[derive(Debug)]
pub struct TaskScope<'scope, 'env: 'scope> {
    /// Closed when the body has ended; has a token for each future that has not been dropped.
    tracker: TaskTracker,
    tasks: Mutex<Tasks>,
    set: TaskSet,
    panics: Mutex<Vec<Payload>>,
    /// Invariant, both: other lifetimes would let borrows escape.
    borrows: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

#[derive(Debug, Default)]
struct Tasks {
    handles: Vec<JoinHandle<()>>,
    /// When there are this many handles, those of ended tasks are dropped.
    tidied_at: usize,
    is_cancelled: bool,
}

/// Runs `body`, which may spawn futures that borrow, and returns when all of them have ended.
///
/// The futures run as tasks of the current runtime, and may spawn more of the same scope. If they can fail,
/// [`try_scope_blocking`](super::try_scope_blocking()) cancels the others at the first failure.
///
/// # Blocking
/// At its end the caller waits for the futures as [`block_on`](super::block_on) does. If the runtime may not
/// start a thread to replace this one, that may last for ever.
///
/// # Cancellation
/// When `body` panics the futures are cancelled. When the runtime is shut down they are dropped.
///
/// # Panics
/// If a future or `body` does; still every future is ended first. Several panics are resumed as one
/// [`AggregatePanic`](crate::AggregatePanic). In a [simulation](crate::simulation), whose only thread it would
/// block, it panics before it runs `body`.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let words = ["many", "hands"];
/// let lengths = std::sync::Mutex::new(0);
/// task::scope_blocking(|scope| {
///     for word in &words {
///         scope.spawn(async {
///             task::yield_now().await;
///             *lengths.lock().unwrap() += word.len();
///         });
///     }
/// });
/// assert_eq!(lengths.into_inner().unwrap(), 9);
/// ```
///
/// A value made inside `body` cannot be borrowed, because a future may outlive it:
/// ```compile_fail,E0373
/// manyhands::task::scope_blocking(|scope| {
///     let inside = 1;
///     scope.spawn(async { println!("{inside}") });
/// });
/// ```
#[doc(alias("AttachedToParent", "scope_async"))]
#[cfg_attr(feature = "inspect", track_caller)]
pub fn scope_blocking<'env, R>(
    body: impl for<'scope> FnOnce(&'scope TaskScope<'scope, 'env>) -> R,
) -> R {
    let scope = TaskScope::new();
    scope.run(Awaited::Scope, || body(&scope))
}

impl TaskScope<'_, '_> {
    pub(super) fn new() -> Self {
        Self {
            tracker: TaskTracker::new(),
            tasks: Mutex::default(),
            set: TaskSet::of_futures(|| true),
            panics: Mutex::default(),
            borrows: PhantomData,
        }
    }

    /// Runs the body, and returns or unwinds when all futures are dropped. Called once. `awaited` says what it waits for then.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn run<'a, R>(
        &'a self,
        awaited: fn(&'a TaskSet, usize) -> Awaited<'a>,
        body: impl FnOnce() -> R,
    ) -> R {
        // The wait below cannot unwind.
        wait::refuse_in_simulation();
        process::refuse_forked();
        let value = catch(body);
        // Futures may borrow from below this frame: the frame must not be left before they are dropped.
        let frame = OnDrop(|| abort("a scope has panicked while its futures borrow"));
        if value.is_err() {
            self.abort_all();
        }
        self.tracker.close();
        let outcome = self.tracker.ended().wait_as(|end| awaited(&self.set, end));
        assert!(outcome.is_ok(), "a scope ends with all its futures gone");
        frame.disarm();
        let panics = std::mem::take(&mut *lock(&self.panics));
        value_or_resume(value, panics)
    }
}

impl<'scope> TaskScope<'scope, '_> {
    /// Spawns a future on the current runtime.
    ///
    /// # Cost
    /// A task, and a short lock to keep its handle. Does not block.
    ///
    /// # Panics
    /// A panic of `future` is resumed at the end of the [`scope_blocking`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// use std::sync::Mutex;
    /// let words = ["many", "hands"];
    /// let lengths = Mutex::new(Vec::new());
    /// task::scope_blocking(|tasks| {
    ///     for word in &words {
    ///         tasks.spawn(async { lengths.lock().unwrap().push(word.len()) });
    ///     }
    /// });
    /// assert_eq!(lengths.into_inner().unwrap().len(), 2);
    /// ```
    #[track_caller]
    pub fn spawn<F>(&'scope self, future: F)
    where
        F: Future<Output = ()> + Send + 'scope,
    {
        let token = self.tracker.token();
        // Twice, so that a panic of the future's drop is kept, too.
        let contained = InPlace::by(InPlace::of(future), move |future, context| {
            let _counts = &token;
            catch(|| future.poll(context)).unwrap_or_else(|payload| {
                lock(&self.panics).push(payload);
                Poll::Ready(())
            })
        });
        // SAFETY: `run` does not return before the token has been dropped, which is after the future, also where that never
        // begins. The spawner is the body or has a token itself, so the tracker does not end before.
        let handle = unsafe { builder::spawn_borrowing(contained) };
        self.set.add(handle.record());
        self.keep(handle);
    }

    /// Asks all futures to end, also those that are spawned later; see [`JoinHandle::abort`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let ran = task::scope_blocking(|tasks| {
    ///     tasks.spawn(std::future::pending());
    ///     tasks.abort_all();
    ///     "the end"
    /// });
    /// assert_eq!(ran, "the end");
    /// ```
    #[doc(alias = "cancel")]
    pub fn abort_all(&self) {
        let mut tasks = lock(&self.tasks);
        tasks.is_cancelled = true;
        tasks.handles.iter().for_each(JoinHandle::abort);
    }

    fn keep(&self, handle: JoinHandle<()>) {
        let mut tasks = lock(&self.tasks);
        if tasks.is_cancelled {
            handle.abort();
        }
        if tasks.handles.len() >= tasks.tidied_at {
            tasks.handles.retain(|handle| !handle.is_finished());
            tasks.tidied_at = TIDIED_MIN.max(tasks.handles.len() * 2);
        }
        tasks.handles.push(handle);
    }
}

/// A scope with fewer handles is not worth tidying.
const TIDIED_MIN: usize = 64;
