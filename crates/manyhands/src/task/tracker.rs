//! Waiting for tasks whose results nobody wants: it keeps nothing of those that have ended.
//!
//! # The word
//! Twice the number of live tokens, and one more when the tracker is closed. Every change is a read-modify-write. The one that
//! brings the word to "closed and none" is made under the lock of the end, and its maker takes the completer there. So it
//! completes the end that the waits before it have, and no later one. Tokens may be added after that, and take no lock: the next
//! wait finds an end without a completer and another word, and begins another end.
//!
//! # Ordering
//! Release and acquire on every change, so that the waiter sees what all tasks did.
//!
//! Not here: groups, which gather results (`group.rs`), and scopes, whose futures may borrow (`scope.rs`).

use crate::job::InPlace;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};
use crate::task::{Completer, Completion, completion};
#[cfg(not(loom))]
use crate::task::{JoinHandle, builder};
use std::fmt;
use std::sync::Arc;

/// Waits until tasks have ended, without keeping anything of them: for a graceful shutdown.
///
/// Each clone can add tasks. After [`close`](Self::close), [`wait`](Self::wait) is ready as soon as none is left. A
/// [`TaskGroup`](crate::task::TaskGroup) gathers results, and keeps each until it is asked for.
///
/// # Cost
/// Memory: a pointer for each live task. Two atomic operations for each.
///
/// # Examples
/// ```
/// use manyhands::task::{self, TaskTracker};
/// use std::time::Duration;
/// # task::block_on(async {
/// let requests = TaskTracker::new();
/// for n in 0..3 {
///     drop(requests.spawn(async move { println!("request {n}") }));
/// }
/// requests.close();
/// let ended = manyhands::time::timeout(Duration::from_secs(10), requests.wait()).await;
/// assert!(ended.is_ok() && requests.is_empty());
/// # });
/// ```
#[doc(alias = "CountdownEvent")]
#[derive(Clone)]
pub struct TaskTracker {
    shared: Arc<Shared>,
}

/// Counts as a live task of its [`TaskTracker`] until it is dropped; made by [`TaskTracker::token`].
///
/// Example: see [`TaskTracker::token`].
pub struct TaskTrackerToken {
    shared: Arc<Shared>,
}

struct Shared {
    word: AtomicUsize,
    end: Mutex<End>,
}

/// What is waited for; its completer is taken by who completes it.
type End = (Option<Completer<()>>, Completion<()>);

impl TaskTracker {
    /// A tracker without tasks, not closed.
    ///
    /// Example: see [`TaskTracker`].
    #[must_use]
    pub fn new() -> Self {
        let word = AtomicUsize::new(0);
        let end = Mutex::new(begin());
        let shared = Arc::new(Shared { word, end });
        Self { shared }
    }

    /// [`task::spawn`](crate::task::spawn) of a tracked task. It counts until its future is dropped; a panic of that drop is one of
    /// the task.
    ///
    /// Example: see [`TaskTracker`].
    #[cfg(not(loom))]
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        builder::spawn((), tracked(future, self.token()))
    }

    /// [`task::run`](crate::task::run) of a tracked task.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskTracker};
    /// let tracker = TaskTracker::new();
    /// assert_eq!(tracker.run(|| 6 * 7).join().unwrap(), 42);
    /// tracker.close();
    /// task::block_on(tracker.wait());
    /// ```
    #[cfg(not(loom))]
    #[doc(alias = "spawn_blocking")]
    #[track_caller]
    pub fn run<T: Send + 'static>(
        &self,
        closure: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let tracked = (closure, self.token());
        builder::run((), move || {
            // As a whole, so that the closure is dropped before the token, also where it never begins.
            let tracked = tracked;
            let (closure, _token) = tracked;
            closure()
        })
    }

    /// Returns a token that counts as one more task until it is dropped, for work that another library runs.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskTracker};
    /// let tracker = TaskTracker::new();
    /// let token = tracker.token();
    /// tracker.close();
    /// assert_eq!(tracker.len(), 1);
    /// std::thread::spawn(move || drop(token));
    /// task::block_on(tracker.wait());
    /// ```
    #[must_use = "it counts until it is dropped"]
    pub fn token(&self) -> TaskTrackerToken {
        // AcqRel: see the top of the file.
        self.shared.word.fetch_add(ONE, Ordering::AcqRel);
        let shared = Arc::clone(&self.shared);
        TaskTrackerToken { shared }
    }

    /// Lets [`wait`](Self::wait) be ready when no task is left. Tasks may be added afterwards, also when none was left: who
    /// waits from then on waits for them, too.
    ///
    /// Example: see [`TaskTracker`].
    pub fn close(&self) {
        self.shared.change_under_lock(|word| {
            // AcqRel: see the top of the file.
            word.fetch_or(CLOSED, Ordering::AcqRel) | CLOSED
        });
    }

    /// Waits until the tracker was closed and no task was left at one time after this call; or until no task is left, and no
    /// clone of the tracker by which it could be closed.
    ///
    /// Example: see [`TaskTracker`].
    #[doc(alias = "WaitGroup")]
    pub fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        let ended = self.ended();
        async move {
            let _ = ended.await;
        }
    }

    /// The end that all tasks that are there now come before.
    pub(super) fn ended(&self) -> Completion<()> {
        let mut end = lock(&self.shared.end);
        if end.0.is_none() && !self.shared.has_ended() {
            *end = begin();
        }
        end.1.clone()
    }

    /// How many tasks have not ended.
    ///
    /// Example: see [`token`](Self::token).
    #[must_use]
    pub fn len(&self) -> usize {
        // Acquire: see the top of the file.
        self.shared.word.load(Ordering::Acquire) / ONE
    }

    /// Whether all tasks have ended.
    ///
    /// Example: see [`TaskTracker`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A future that is dropped before its token, also where it never begins.
fn tracked<F: Future>(future: F, token: TaskTrackerToken) -> impl Future<Output = F::Output> {
    InPlace::by(future, move |future, context| {
        let _counts = &token;
        future.poll(context)
    })
}

impl Shared {
    /// Makes a change that perhaps ends it. `change` returns the new word.
    fn change_under_lock(&self, change: impl FnOnce(&AtomicUsize) -> usize) {
        let ending = {
            let mut end = lock(&self.end);
            let has_ended = change(&self.word) == CLOSED;
            // Not there if it had ended before: nobody has waited since.
            end.0.take_if(|_| has_ended)
        };
        if let Some(completer) = ending {
            completer.complete(());
        }
    }

    /// Whether the tracker is closed, and no task is left.
    fn has_ended(&self) -> bool {
        // Acquire: see the top of the file.
        self.word.load(Ordering::Acquire) == CLOSED
    }
}

fn begin() -> End {
    let (completer, ended) = completion();
    (Some(completer), ended)
}

impl Drop for TaskTrackerToken {
    fn drop(&mut self) {
        let unless_last = |word: usize| (word != ONE | CLOSED).then(|| word - ONE);
        let word = &self.shared.word;
        // AcqRel: see the top of the file. Relaxed: the lock comes after.
        let ended = word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, unless_last);
        if ended.is_err() {
            self.shared.change_under_lock(|word| {
                // AcqRel: see the top of the file.
                word.fetch_sub(ONE, Ordering::AcqRel) - ONE
            });
        }
    }
}

impl Default for TaskTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTracker")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TaskTrackerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTrackerToken").finish_non_exhaustive()
    }
}

const CLOSED: usize = 1;
const ONE: usize = 2;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{TaskTracker, tracked};
    use std::pin::pin;
    use std::task::{Context, Waker};

    #[test]
    fn a_tracked_future_is_kept_once_with_a_pointer() {
        let large = async {
            let kept = [0_u8; 10_000];
            std::future::pending::<()>().await;
            kept
        };
        let alone = size_of_val(&large);
        let whole = size_of_val(&tracked(large, TaskTracker::new().token()));
        assert!(whole <= alone + 16, "{whole} bytes for {alone}");
    }

    #[test]
    fn a_wait_knows_of_what_was_added_after_the_last_task_had_ended() {
        let tracker = TaskTracker::new();
        tracker.close();
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            let mut before = pin!(tracker.wait());
            let token = tracker.token();
            let mut during = pin!(tracker.wait());
            assert!(during.as_mut().poll(&mut context).is_pending());
            assert!(
                before.as_mut().poll(&mut context).is_ready(),
                "no task was left"
            );
            drop(token);
            assert!(during.as_mut().poll(&mut context).is_ready());
        }
    }
}
