//! Results that are set by hand: they connect callbacks and events to tasks.

use crate::job::{discard, wake};
use crate::recording::{self, Awaited, Site, WaitKind};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, OnceLock, lock};
#[cfg(not(loom))]
use crate::task::block_on;
use crate::task::{PollWaker, WaitList, WaiterKey, budget};
use futures_core::future::FusedFuture;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Creates a completion, a future whose result is set by hand, and the completer that sets it.
///
/// Any number of completers may try, and the first one wins; any number of clones of the completion may wait,
/// as futures or blocking. When the last completer is dropped without a result, the completion is cancelled.
///
/// The code that waits never runs on the completing thread's stack; it continues where tasks run.
///
/// # Cost
/// One allocation for both ends.
///
/// # Examples
/// A function that takes a callback, made into one that returns a future:
/// ```
/// use manyhands::task;
///
/// fn fetch_with_callback(callback: impl FnOnce(u32) + Send + 'static) {
///     std::thread::spawn(move || callback(42));
/// }
///
/// async fn fetch() -> u32 {
///     let (completer, completion) = task::completion();
///     fetch_with_callback(move |value| completer.complete(value));
///     completion.await.unwrap()
/// }
///
/// assert_eq!(task::block_on(fetch()), 42);
/// ```
///
/// Two events, the first of which decides:
/// ```
/// use manyhands::task;
/// # struct Button;
/// # impl Button {
/// #     fn on_click(&self, f: impl Fn() + Send + 'static) { std::thread::spawn(f); }
/// #     fn on_close(&self, f: impl Fn() + Send + 'static) { std::thread::spawn(f); }
/// # }
/// # let button = Button;
/// let (clicked, first_event) = task::completion();
/// let closed = clicked.clone();
/// button.on_click(move || { let _ = clicked.try_complete("clicked"); });
/// button.on_close(move || { let _ = closed.try_complete("closed"); });
/// let event = first_event.wait_blocking().unwrap();
/// assert!(["clicked", "closed"].contains(&event));
/// ```
#[doc(alias("ManualResetEventSlim", "WriteOnceBlock"))]
#[doc(alias("oneshot", "promise", "TaskCompletionSource"))]
#[must_use]
pub fn completion<T>() -> (Completer<T>, Completion<T>) {
    let shared = Arc::new(Shared {
        outcome: OnceLock::new(),
        waiters: Mutex::new(WaitList::new()),
        completers: AtomicUsize::new(1),
    });
    let completion = Completion {
        shared: Arc::clone(&shared),
        waiter: None,
        is_over: false,
    };
    (Completer { shared }, completion)
}

/// Sets the result of a [`completion`].
///
/// # Cost
/// Setting the result takes a short lock and a wake for each waiter. None of the calls blocks.
///
/// # Examples
/// The first result is the one that counts:
/// ```
/// use manyhands::task;
/// let (completer, completion) = task::completion();
/// assert!(!completer.is_completed() && !completion.is_completed());
/// assert_eq!(completer.try_complete("first"), Ok(()));
/// assert!(completer.is_completed() && completion.is_completed());
/// assert!(!completer.try_fail("no answer") && !completer.try_cancel());
/// assert_eq!(completion.wait_blocking().unwrap(), "first");
/// ```
#[doc(alias = "TaskCompletionSource")]
pub struct Completer<T> {
    shared: Arc<Shared<T>>,
}

/// Waits for the result of a [`completion`].
///
/// # Panics
/// Never as a future; it may be polled again after it is ready, and gives the same result.
///
/// # Examples
/// Clones wait for the same result:
/// ```
/// use manyhands::task;
/// let (completer, completion) = task::completion();
/// let doubled = [completion.clone(), completion].map(|completion| {
///     task::spawn(async move { completion.await.unwrap() * 2 })
/// });
/// completer.complete(21);
/// assert_eq!(doubled.map(|task| task.join().unwrap()), [42, 42]);
/// ```
#[doc(alias = "Shared")]
pub struct Completion<T> {
    shared: Arc<Shared<T>>,
    waiter: Option<WaiterKey>,
    /// Whether it has given the result, as a future.
    is_over: bool,
}

/// Why a completion has no value. Clones have the same cause.
///
/// # Examples
/// ```
/// use std::error::Error;
/// let (completer, completion) = manyhands::task::completion::<u32>();
/// completer.fail("no answer");
/// let error = completion.wait_blocking().unwrap_err();
/// assert!(!error.is_cancelled() && !error.is_abandoned());
/// assert_eq!(error.source().unwrap().to_string(), "no answer");
/// ```
#[derive(Clone)]
pub struct CompletionError(Cause);

#[derive(Clone)]
enum Cause {
    Cancelled,
    Abandoned,
    Failed(Arc<dyn Error + Send + Sync>),
}

type Outcome<T> = Result<T, CompletionError>;

struct Shared<T> {
    /// The first one to write it wins.
    outcome: OnceLock<Outcome<T>>,
    /// A waiter reads the outcome once more under this lock. The winner takes the wakers under it
    /// after it has written. So no waiter is forgotten.
    waiters: Mutex<WaitList<()>>,
    completers: AtomicUsize,
}

impl<T> Shared<T> {
    /// Sets the outcome; returns it if there is one already.
    fn finish(&self, outcome: Outcome<T>) -> Result<(), Outcome<T>> {
        self.outcome.set(outcome)?;
        let mut wakers = Vec::new();
        lock(&self.waiters).notify_all(&mut wakers);
        wakers.into_iter().for_each(wake);
        Ok(())
    }
}

impl<T> Completer<T> {
    /// Sets the value.
    ///
    /// # Panics
    /// When there is a result already. [`try_complete`](Self::try_complete) says so instead.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion();
    /// completer.complete(42);
    /// assert_eq!(completion.wait_blocking().unwrap(), 42);
    /// ```
    #[doc(alias = "SetResult")]
    pub fn complete(&self, value: T) {
        let is_first = self.shared.finish(Ok(value)).is_ok();
        assert!(is_first, "a completion was completed twice");
    }

    /// Sets the value if there is no result yet.
    ///
    /// # Errors
    /// The value, when there is a result already.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion();
    /// assert_eq!(completer.try_complete("first"), Ok(()));
    /// assert_eq!(completer.try_complete("second"), Err("second"));
    /// assert_eq!(completion.wait_blocking().unwrap(), "first");
    /// ```
    #[doc(alias = "TrySetResult")]
    pub fn try_complete(&self, value: T) -> Result<(), T> {
        match self.shared.finish(Ok(value)) {
            Err(Ok(value)) => Err(value),
            Ok(()) | Err(Err(_)) => Ok(()),
        }
    }

    /// Sets an error as the result.
    ///
    /// # Panics
    /// When there is a result already. [`try_fail`](Self::try_fail) says so instead.
    ///
    /// # Examples
    /// ```
    /// use std::error::Error;
    /// let (completer, completion) = manyhands::task::completion::<u32>();
    /// completer.fail("no answer");
    /// let error = completion.wait_blocking().unwrap_err();
    /// assert_eq!(error.source().unwrap().to_string(), "no answer");
    /// ```
    #[doc(alias = "SetException")]
    pub fn fail(&self, error: impl Into<Box<dyn Error + Send + Sync>>) {
        assert!(self.try_fail(error), "a completion was completed twice");
    }

    /// Sets an error as the result if there is none yet. Returns whether it did.
    ///
    /// Example: see [`Completer`].
    #[doc(alias = "TrySetException")]
    #[must_use = "whether this was the first result"]
    pub fn try_fail(&self, error: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.try_end(Cause::Failed(error.into().into()))
    }

    /// Ends the completion without a value.
    ///
    /// # Panics
    /// When there is a result already. [`try_cancel`](Self::try_cancel) says so instead.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion::<u32>();
    /// completer.cancel();
    /// assert!(completion.wait_blocking().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "SetCanceled")]
    pub fn cancel(&self) {
        assert!(self.try_cancel(), "a completion was completed twice");
    }

    /// Ends the completion without a value if there is no result yet. Returns whether it did.
    ///
    /// Example: see [`Completer`].
    #[doc(alias = "TrySetCanceled")]
    #[must_use = "whether this was the first result"]
    pub fn try_cancel(&self) -> bool {
        self.try_end(Cause::Cancelled)
    }

    /// Whether there is a result.
    ///
    /// Example: see [`Completer`].
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.shared.outcome.get().is_some()
    }

    fn try_end(&self, cause: Cause) -> bool {
        self.shared.finish(Err(CompletionError(cause))).is_ok()
    }
}

impl<T> Clone for Completer<T> {
    fn clone(&self) -> Self {
        // Relaxed: the clone's drop comes after.
        self.shared.completers.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&self.shared);
        Self { shared }
    }
}

impl<T> Drop for Completer<T> {
    fn drop(&mut self) {
        // AcqRel: what earlier completers did comes before the last one's end.
        if self.shared.completers.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.try_end(Cause::Abandoned);
        }
    }
}

impl<T> Completion<T> {
    /// The result, if there is one, by reference.
    ///
    /// # Errors
    /// [`CompletionError`] when there is no value and will be none.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion();
    /// assert!(completion.get().is_none());
    /// completer.complete("done");
    /// assert_eq!(completion.get().unwrap().ok(), Some(&"done"));
    /// ```
    #[must_use]
    pub fn get(&self) -> Option<Result<&T, &CompletionError>> {
        self.shared.outcome.get().map(Result::as_ref)
    }

    /// Whether there is a result.
    ///
    /// Example: see [`Completer`].
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.get().is_some()
    }
}

#[cfg(not(loom))]
impl<T: Clone> Completion<T> {
    /// Waits for the result on the calling thread. In async code, await the completion itself.
    ///
    /// # Blocking
    /// As [`block_on`].
    ///
    /// # Errors
    /// [`CompletionError`] when the completion failed, was cancelled or abandoned.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion();
    /// std::thread::spawn(move || completer.complete(42));
    /// assert_eq!(completion.wait_blocking().unwrap(), 42);
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_blocking(&self) -> Result<T, CompletionError> {
        self.wait_as(Self::awaited)
    }

    /// As [`wait_blocking`](Self::wait_blocking), on the caller's line. What is at this address is waited for as `awaited` says.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn wait_as<'a>(
        &self,
        awaited: impl Fn(usize) -> Awaited<'a>,
    ) -> Result<T, CompletionError> {
        let site = Site::here();
        let mut end = self.clone();
        block_on(poll_fn(|context| {
            site.poll(|| end.poll_as(context, &awaited))
        }))
    }
}

impl<T> Clone for Completion<T> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            waiter: None,
            is_over: false,
        }
    }
}

impl<T: Clone> Future for Completion<T> {
    type Output = Result<T, CompletionError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_as(context, Self::awaited)
    }
}

impl<T: Clone> Completion<T> {
    /// What a wait for the completion at this address is for.
    fn awaited(address: usize) -> Awaited<'static> {
        Awaited::Thing(WaitKind::Completion, address)
    }

    /// Polls it. What is at this address is waited for as `awaited` says.
    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_as<'a>(
        &mut self,
        context: &mut Context<'_>,
        awaited: impl FnOnce(usize) -> Awaited<'a>,
    ) -> Poll<Result<T, CompletionError>> {
        let permit = ready!(budget::poll_proceed(context));
        if self.shared.outcome.get().is_none() {
            // Before the lock, because it may run code of the user.
            let mut by = PollWaker::of(context);
            let mut waiters = lock(&self.shared.waiters);
            let waits = self.shared.outcome.get().is_none();
            let stale = waits.then(|| waiters.wait(&mut self.waiter, &mut by));
            drop(waiters);
            discard(stale.flatten());
            if waits {
                let resource = Arc::as_ptr(&self.shared).addr();
                recording::waits(self, context.waker(), || awaited(resource));
                return Poll::Pending;
            }
        }
        permit.charge();
        self.is_over = true;
        let outcome = self.shared.outcome.get();
        Poll::Ready(outcome.expect("looked for above").clone())
    }
}

/// Terminated once it was ready, so that a `select!` in a loop takes the result once. It may be polled all the same.
impl<T: Clone> FusedFuture for Completion<T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for Completion<T> {
    fn drop(&mut self) {
        recording::forget(self);
        let waker = lock(&self.shared.waiters).give_up(&mut self.waiter);
        discard(waker);
    }
}

impl CompletionError {
    /// Whether the completion was cancelled, or abandoned by all its completers.
    ///
    /// Example: see [`CompletionError`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Cause::Cancelled | Cause::Abandoned)
    }

    /// Whether every completer was dropped without a result.
    ///
    /// # Examples
    /// ```
    /// let (completer, completion) = manyhands::task::completion::<u32>();
    /// drop(completer);
    /// let error = completion.wait_blocking().unwrap_err();
    /// assert!(error.is_abandoned() && error.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        matches!(self.0, Cause::Abandoned)
    }
}

impl fmt::Display for CompletionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Cause::Cancelled => f.write_str("the completion was cancelled"),
            Cause::Abandoned => f.write_str("every completer was dropped without a result"),
            Cause::Failed(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for CompletionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for CompletionError {
    /// The error the completion failed with.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Cause::Failed(error) => Some(&**error),
            Cause::Cancelled | Cause::Abandoned => None,
        }
    }
}

impl<T> fmt::Debug for Completer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completer")
            .field("is_completed", &self.is_completed())
            .finish()
    }
}

impl<T> fmt::Debug for Completion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion")
            .field("is_completed", &self.is_completed())
            .finish()
    }
}
