//! The sending end.

use crate::channel::subscribers::{not_sent, notify};
use crate::channel::watch::Receiver;
use crate::channel::watch::state::State;
use crate::channel::{SendError, SenderCore};
use crate::job::OnDrop;
use crate::sync::{ShortGuard, thread};
use std::error::Error;
use std::fmt;
use std::mem;
use std::sync::Arc;

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
    pub(super) core: SenderCore<State<T>>,
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
    #[doc(alias = "send_replace")]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let value = Arc::new(value);
        let state = self.lock_to_send();
        if state.subscribers.closed.is_some() {
            drop(state);
            return Err(not_sent(value));
        }
        replace(state, value);
        Ok(())
    }

    /// Changes the value by `modify`, which gets a copy of it. As [`send_if_modified`](Self::send_if_modified) with a
    /// closure that always returns true.
    ///
    /// # Errors
    /// As [`send_if_modified`](Self::send_if_modified).
    ///
    /// # Panics
    /// As [`send_if_modified`](Self::send_if_modified).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch(vec!["bread"]);
    /// sender.send_modify(|list| list.push("milk"))?;
    /// assert_eq!(*receiver.latest(), ["bread", "milk"]);
    /// # Ok::<(), manyhands::channel::SendError<()>>(())
    /// ```
    pub fn send_modify(&self, mut modify: impl FnMut(&mut T)) -> Result<(), SendError<()>>
    where
        T: Clone,
    {
        self.send_if_modified(|value| {
            modify(value);
            true
        })
        .map(drop)
    }

    /// Changes the value by `modify`, which gets a copy of it. The copy becomes the value if `modify` returns true;
    /// otherwise nothing changes, and nobody is notified. Returns what `modify` returned.
    ///
    /// No change is lost: if another sender has changed the value meanwhile, `modify` is called again with a copy of the
    /// new one. No lock is held while it runs, so it may read the channel, and if it panics nothing has changed. This
    /// differs from tokio, which changes the value in place while receivers wait, and keeps what was changed in any case.
    ///
    /// # Cost
    /// A clone of the value and one allocation for each call of `modify`, three short locks, and a wake for each receiver
    /// that waits.
    ///
    /// # Errors
    /// [`SendError`] when the channel was closed by [`close`](Self::close).
    ///
    /// # Panics
    /// When `modify` sends into this channel: its own change would always come too late. When `modify` panics.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(5);
    /// let raise_to = |new: u32| {
    ///     sender.send_if_modified(|highest| {
    ///         let is_higher = new > *highest;
    ///         *highest = new;
    ///         is_higher
    ///     })
    /// };
    /// assert_eq!((raise_to(3), *receiver.latest_and_update()), (Ok(false), 5));
    /// assert_eq!((raise_to(7), *receiver.latest_and_update()), (Ok(true), 7));
    /// ```
    pub fn send_if_modified(
        &self,
        mut modify: impl FnMut(&mut T) -> bool,
    ) -> Result<bool, SendError<()>>
    where
        T: Clone,
    {
        let thread = thread::current().id();
        loop {
            let mut state = self.lock_to_send();
            if state.subscribers.closed.is_some() {
                return Err(SendError(()));
            }
            let (old, version) = (Arc::clone(&state.value), state.version);
            state.modifying.push(thread);
            drop(state);
            // Dropped when this thread no longer counts as modifying, as the old value is: both may send then.
            let mut new;
            let modifies = OnDrop(|| self.core.lock().modifying.retain(|other| *other != thread));
            new = T::clone(&old);
            let is_modified = modify(&mut new);
            drop(modifies);
            if !is_modified {
                return Ok(false);
            }
            let new = Arc::new(new);
            let state = self.core.lock();
            if state.version == version && state.subscribers.closed.is_none() {
                replace(state, new);
                return Ok(true);
            }
        }
    }

    /// # Panics
    /// On a thread that modifies the value.
    fn lock_to_send(&self) -> ShortGuard<'_, State<T>> {
        let state = self.core.lock();
        if !state.modifying.is_empty() && state.modifying.contains(&thread::current().id()) {
            // Before the panic hook, which may use the channel.
            drop(state);
            panic!("what modifies the value of a watch channel sent into the channel");
        }
        state
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
        let core = self.core.subscribe();
        Receiver { core }
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
        let core = self.core.clone();
        Self { core }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Replaces the value; wakes receivers and drops the old value where no lock is held.
fn replace<T>(mut state: ShortGuard<'_, State<T>>, value: Arc<T>) {
    let old = mem::replace(&mut state.value, value);
    state.version += 1;
    notify(state);
    drop(old);
}
