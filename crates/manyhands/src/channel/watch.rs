//! A channel of one value, whose receivers see the latest.
//!
//! [`watch`](super::watch()) makes it. Sending replaces the value and never waits. A receiver that waits for a change
//! sees the newest value, not each one in between. Values are in an `Arc`: no lock is held while a value is read.
//!
//! # Protocol
//! The value has a version, which rises with each send. Each receiver knows the version that it has seen, and updates
//! it in the very step that returns the value: a wait that is given up has missed nothing.
//!
//! # Examples
//! ```
//! use manyhands::channel;
//!
//! let (sender, mut receiver) = channel::watch("starting");
//! assert_eq!(*receiver.latest(), "starting");
//! sender.send("loading")?;
//! sender.send("ready")?;
//! assert_eq!(*receiver.changed_blocking()?, "ready");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::channel::error::{RecvError, SendError};
use crate::channel::future::{note_end, note_wait};
use crate::channel::subscribers::{HasSubscribers, SenderCore, Subscribers, TakenWakers};
use crate::channel::thread;
use crate::channel::wait_list::WaiterKey;
use crate::inspect::{self, WaitKind};
use crate::sync::ShortLock;
use crate::task::budget;
use futures_core::future::FusedFuture;
use futures_core::stream::{FusedStream, Stream};
use std::error::Error;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
#[cfg(not(loom))]
use {crate::channel::RecvTimeoutError, std::time::Duration};

/// The state of a channel between two operations.
#[derive(Debug)]
struct State<T> {
    value: Arc<T>,
    version: u64,
    subscribers: Subscribers,
}

impl<T> State<T> {
    /// One attempt of a receiver that has seen the version `seen`.
    fn poll(
        &mut self,
        seen: &mut u64,
        waiter: &mut Option<WaiterKey>,
        waker: &Waker,
    ) -> (Poll<Result<Arc<T>, RecvError>>, TakenWakers) {
        let result = if *seen != self.version {
            *seen = self.version;
            Ok(Arc::clone(&self.value))
        } else if let Some(closed) = self.subscribers.closed() {
            Err(closed.clone())
        } else {
            return (Poll::Pending, self.subscribers.wait(waiter, waker));
        };
        (Poll::Ready(result), self.subscribers.leave(waiter))
    }
}

impl<T> HasSubscribers for State<T> {
    fn subscribers(&mut self) -> &mut Subscribers {
        &mut self.subscribers
    }
}

/// See [`channel::watch`](crate::channel::watch()).
pub(super) fn channel<T>(initial: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(ShortLock::new(State {
        value: Arc::new(initial),
        version: 0,
        subscribers: Subscribers::new(),
    }));
    let sender = Sender {
        core: SenderCore::new(Arc::clone(&shared)),
    };
    (sender, Receiver { shared, seen: 0 })
}

/// Replaces the value. Clones are equal; dropping the last one closes the channel.
///
/// None of its calls waits for receivers: each takes a short lock.
///
/// # Examples
/// ```
/// let (sender, receiver) = manyhands::channel::watch("dark");
/// let other = sender.subscribe();
/// assert_eq!(sender.receiver_count(), 2);
/// sender.send("light")?;
/// assert_eq!((*receiver.latest(), *other.latest()), ("light", "light"));
/// assert!(!sender.is_closed());
/// assert!(sender.close_with("the window is gone"));
/// assert!(sender.is_closed() && receiver.is_closed());
/// # Ok::<(), manyhands::channel::SendError<&str>>(())
/// ```
pub struct Sender<T> {
    core: SenderCore<State<T>>,
}

impl<T> Sender<T> {
    /// Replaces the value, even if there is no receiver.
    ///
    /// # Cost
    /// One allocation, one short lock, and a wake for each receiver that waits.
    ///
    /// # Errors
    /// [`SendError`] with the value when the channel was closed by [`close`](Self::close).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch(1);
    /// sender.send(2)?;
    /// assert_eq!(*receiver.latest(), 2);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[expect(
        clippy::missing_panics_doc,
        reason = "the pointer has just been made and is not shared"
    )]
    #[doc(alias = "send_replace")]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let value = Arc::new(value);
        let mut state = self.core.lock();
        if state.subscribers.closed().is_some() {
            drop(state);
            let value = Arc::into_inner(value).expect("the value was not shared yet");
            return Err(SendError(value));
        }
        let old = mem::replace(&mut state.value, value);
        state.version += 1;
        let wakers = state.subscribers.notify_all();
        drop(state);
        wakers.wake();
        drop(old);
        Ok(())
    }

    /// The current value.
    ///
    /// # Examples
    /// ```
    /// let (sender, _receiver) = manyhands::channel::watch(1);
    /// let next = *sender.latest() + 1;
    /// sender.send(next).unwrap();
    /// assert_eq!(*sender.latest(), 2);
    /// ```
    #[must_use]
    pub fn latest(&self) -> Arc<T> {
        Arc::clone(&self.core.lock().value)
    }

    /// A receiver that has seen the current value.
    ///
    /// # Examples
    /// ```
    /// let (sender, _) = manyhands::channel::watch(1);
    /// let receiver = sender.subscribe();
    /// assert!(!receiver.has_changed());
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        let mut state = self.core.lock();
        state.subscribers.add_receiver();
        let seen = state.version;
        drop(state);
        Receiver {
            shared: self.core.share(),
            seen,
        }
    }

    /// How many receivers there are.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.core.receiver_count()
    }

    /// Closes the channel: receivers see the last value, then the end. Returns whether the channel was open.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(1);
    /// assert!(sender.close());
    /// assert!(receiver.changed_blocking().is_err());
    /// assert_eq!(*receiver.latest(), 1);
    /// ```
    pub fn close(&self) -> bool {
        self.core.close(None)
    }

    /// As [`close`](Self::close), with a reason that every receiver gets. The first reason stays.
    ///
    /// Example: see [`Sender`].
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.core.close(Some(Arc::from(reason.into())))
    }

    /// Whether the channel is closed.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            core: self.core.clone(),
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Sees the value. A clone has seen what this one has seen.
///
/// Example: see [the module](self).
pub struct Receiver<T> {
    shared: Arc<ShortLock<State<T>>>,
    seen: u64,
}

impl<T> Receiver<T> {
    /// The current value. It does not count as seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch("dark");
    /// sender.send("light").unwrap();
    /// assert_eq!(*receiver.latest(), "light");
    /// assert!(receiver.has_changed());                             // read, but not counted as seen
    /// ```
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn latest(&self) -> Arc<T> {
        Arc::clone(&self.shared.lock().value)
    }

    /// Whether there is a value that this receiver has not seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch(1);
    /// assert!(!receiver.has_changed());
    /// sender.send(2)?;
    /// assert!(receiver.has_changed());
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.shared.lock().version != self.seen
    }

    /// As [`changed`](Self::changed), and waits on the calling thread.
    ///
    /// # Blocking
    /// While there is no new value. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(1);
    /// let writer = std::thread::spawn(move || sender.send(2));
    /// assert_eq!(receiver.changed_blocking().as_deref(), Ok(&2));
    /// # writer.join().unwrap()?;
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn changed_blocking(&mut self) -> Result<Arc<T>, RecvError> {
        let mut future = self.changed();
        thread::wait(|cx| Pin::new(&mut future).poll(cx))
    }

    /// Waits for a value that this receiver has not seen, and gives the newest. [`changed_blocking`](Self::changed_blocking)
    /// waits on the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready marks no value as seen.
    ///
    /// # Errors
    /// [`RecvError`] when the channel is closed and its last value has been seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(1);
    /// sender.send(2)?;
    /// assert_eq!(pollster::block_on(receiver.changed()).as_deref(), Ok(&2));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use = "a future does nothing unless awaited; await it, or call `changed_blocking`"]
    pub fn changed(&mut self) -> ChangedFuture<'_, T> {
        ChangedFuture {
            receiver: self,
            waiter: None,
            is_over: false,
        }
    }

    /// As [`changed_blocking`](Self::changed_blocking), and gives up when it has waited for about `limit`. In async code,
    /// await [`changed`](Self::changed) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`changed_blocking`](Self::changed_blocking), for as long as `limit`.
    ///
    /// # Errors
    /// [`RecvTimeoutError`] when the time is over, or the channel is closed and its last value was seen.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let (_sender, mut receiver) = manyhands::channel::watch(1);
    /// assert!(receiver.changed_timeout_blocking(Duration::from_millis(1)).is_err());
    /// ```
    #[cfg(not(loom))]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn changed_timeout_blocking(
        &mut self,
        limit: Duration,
    ) -> Result<Arc<T>, RecvTimeoutError> {
        let mut future = self.changed();
        match thread::wait_for(limit, |cx| Pin::new(&mut future).poll(cx)) {
            Some(result) => Ok(result?),
            None => Err(RecvTimeoutError::Timeout),
        }
    }

    /// The values that this receiver has not seen, each time the newest, as a [`Stream`]. It ends when the channel is
    /// closed and the last value has been seen. It is a receiver of its own.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// let (sender, receiver) = manyhands::channel::watch(0);
    /// (1..=3).try_for_each(|n| sender.send(n))?;
    /// drop(sender);
    /// let seen = receiver.stream().map(|value| *value).collect::<Vec<u32>>();
    /// assert_eq!(pollster::block_on(seen), [3]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    pub fn stream(&self) -> ChangedStream<T> {
        self.clone().into_stream()
    }

    /// As [`stream`](Self::stream), made of this receiver.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// let (sender, receiver) = manyhands::channel::watch(0);
    /// (1..=3).try_for_each(|n| sender.send(n))?;
    /// drop(sender);
    /// let seen = receiver.into_stream().map(|value| *value).collect::<Vec<u32>>();
    /// assert_eq!(pollster::block_on(seen), [3]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    pub fn into_stream(self) -> ChangedStream<T> {
        ChangedStream {
            receiver: self,
            waiter: None,
            is_over: false,
        }
    }

    fn poll_changed(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Arc<T>, RecvError>> {
        let permit = ready!(budget::poll_proceed(cx));
        let (polled, wakers) = self.shared.lock().poll(&mut self.seen, waiter, cx.waker());
        wakers.wake();
        let result = ready!(polled);
        permit.charge();
        Poll::Ready(result)
    }

    /// Gives a wait up.
    fn cancel_changed(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            let wakers = self.shared.lock().subscribers.leave(waiter);
            wakers.wake();
        }
    }

    /// Whether the channel is closed.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.lock().subscribers.closed().is_some()
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.lock().subscribers.add_receiver();
        Self {
            shared: Arc::clone(&self.shared),
            seen: self.seen,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.lock().subscribers.remove_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("seen", &self.seen)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Waits for a change; made by [`Receiver::changed`].
///
/// Example: see [`Receiver::changed`].
///
/// # Panics
/// When it is polled again after it was ready.
#[must_use = "futures do nothing unless awaited"]
pub struct ChangedFuture<'a, T> {
    receiver: &'a mut Receiver<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<T> Future for ChangedFuture<'_, T> {
    type Output = Result<Arc<T>, RecvError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.is_over,
            "a wait for a change was polled after its end"
        );
        let this = &mut *self;
        let polled = this.receiver.poll_changed(&mut this.waiter, cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        let result = ready!(polled);
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for ChangedFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for ChangedFuture<'_, T> {
    fn drop(&mut self) {
        inspect::forget(self);
        self.receiver.cancel_changed(&mut self.waiter);
    }
}

impl<T> fmt::Debug for ChangedFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedFuture")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

/// Each change, until the channel is closed; [`Receiver::stream`] and [`Receiver::into_stream`] make it.
///
/// Example: see [`Receiver::stream`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct ChangedStream<T> {
    receiver: Receiver<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<T> Stream for ChangedStream<T> {
    type Item = Arc<T>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<T>>> {
        let this = &mut *self;
        let has_waited = this.waiter.is_some();
        let polled = this.receiver.poll_changed(&mut this.waiter, cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        if has_waited {
            note_end(&polled, this);
        }
        let result = ready!(polled);
        this.is_over = result.is_err();
        Poll::Ready(result.ok())
    }
}

impl<T> FusedStream for ChangedStream<T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for ChangedStream<T> {
    fn drop(&mut self) {
        inspect::forget(self);
        self.receiver.cancel_changed(&mut self.waiter);
    }
}
