//! A sender that does not keep its channel open.

use crate::channel::{ChannelInner, Sender};
use std::fmt;
use std::sync::Weak;

/// Becomes a [`Sender`] again for as long as the channel has one. [`Sender::downgrade`] makes it.
///
/// It does not count as an end: a channel is closed when its last sender is dropped, whatever weak ones there are.
///
/// # Examples
/// A worker that may send itself more work, and ends when nobody else can:
/// ```
/// use manyhands::channel;
///
/// let (sender, receiver) = channel::unbounded();
/// let weak = sender.downgrade();
/// assert!(weak.upgrade().is_some_and(|again| again.same_channel(&sender)));
/// sender.send_blocking(3)?;
/// drop(sender);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(receiver.recv_blocking(), Ok(3));
/// assert!(receiver.recv_blocking().is_err());
/// # Ok::<(), channel::SendError<u32>>(())
/// ```
pub struct WeakSender<T> {
    pub(super) shared: Weak<ChannelInner<T>>,
}

impl<T> WeakSender<T> {
    /// A sender, unless the last one has been dropped. A channel that was closed by hand may still have one.
    ///
    /// # Cost
    /// One short lock.
    ///
    /// Example: see [`WeakSender`].
    #[must_use]
    pub fn upgrade(&self) -> Option<Sender<T>> {
        let shared = self.shared.upgrade()?;
        shared.add_sender().then(|| Sender::new(shared))
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        let shared = Weak::clone(&self.shared);
        Self { shared }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}
