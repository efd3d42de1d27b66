//! Cooperative cancellation: a source that cancels, and tokens that observe it.
//!
//! Only the holder of the [`TokenSource`] can cancel. A [`Token`] is cheap to copy. It says whether the source was
//! cancelled, runs callbacks when that happens, and can be awaited. Nothing is stopped by force: loops check their
//! token between items, and a body that runs long checks it itself.
//!
//! # Waits
//! [`Token::run_until_cancelled`] ends every wait of this library that is a future, as if the future were dropped: a
//! cancelled receive has taken no item. For a wait that blocks, run the future by
//! [`task::block_on`](crate::task::block_on):
//! ```
//! use manyhands::{cancel, channel, task};
//!
//! let source = cancel::TokenSource::new();
//! let token = source.token();
//! let (sender, receiver) = channel::unbounded::<u32>();
//! let consumer = std::thread::spawn(move || {
//!     task::block_on(token.run_until_cancelled(receiver.recv()))
//! });
//! source.cancel();
//! assert!(consumer.join().unwrap().is_err());
//! # drop(sender);
//! ```
//!
//! # Examples
//! ```
//! use manyhands::{cancel, parallel};
//!
//! let source = cancel::TokenSource::new();
//! let token = source.token();
//! let stopped = parallel::Options::new().cancellation(&token).for_each(0..1_000_000, |i| {
//!     if i == 5 {
//!         source.cancel();
//!     }
//! });
//! assert_eq!(stopped.unwrap_err().token(), &token);
//! ```

mod registration;
mod until_cancelled;

pub use registration::Registration;
pub(crate) use until_cancelled::UntilCancelled;

use registration::Callbacks;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Cancels its tokens, when [`cancel`](Self::cancel) is called. Dropping it does not cancel.
///
/// # Examples
/// ```
/// use manyhands::cancel::TokenSource;
/// let source = TokenSource::new();
/// let token = source.token();
/// let copy = token.clone();
/// assert!(!token.is_cancelled());
/// source.cancel();
/// assert!(token.is_cancelled() && copy.is_cancelled());
/// ```
#[doc(alias("CancellationTokenSource", "CancellationToken"))]
#[derive(Debug, Default)]
pub struct TokenSource {
    callbacks: Arc<Callbacks>,
}

/// Says whether its source was cancelled. Copies are equal to each other.
///
/// Example: see [`TokenSource`].
#[doc(alias = "CancellationToken")]
#[derive(Debug, Clone)]
pub struct Token {
    callbacks: Arc<Callbacks>,
}

impl TokenSource {
    /// A source that is not cancelled.
    ///
    /// # Examples
    /// ```
    /// let source = manyhands::cancel::TokenSource::new();
    /// assert!(!source.token().is_cancelled());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A source that is cancelled when any of `parents` is, or by itself. Cancelling it does not cancel the parents.
    ///
    /// The link lasts as long as a token of the source exists, even if the source itself is dropped. It needs nothing
    /// else of the parents than that one of them is cancelled.
    ///
    /// # Cost
    /// A registration with each parent.
    ///
    /// # Examples
    /// ```
    /// use manyhands::cancel::TokenSource;
    /// let (user, shutdown) = (TokenSource::new(), TokenSource::new());
    /// let linked = TokenSource::linked(&[user.token(), shutdown.token()]);
    /// let child = TokenSource::linked(&[linked.token()]).token();
    /// shutdown.cancel();
    /// assert!(linked.token().is_cancelled() && child.is_cancelled());
    /// assert!(!user.token().is_cancelled());
    /// ```
    #[doc(alias("child_token", "CreateLinkedTokenSource"))]
    #[must_use]
    pub fn linked(parents: &[Token]) -> Self {
        let source = Self::new();
        let link = |parent: &Token| source.callbacks.link(&parent.callbacks);
        parents.iter().for_each(link);
        source
    }

    /// A token of this source.
    ///
    /// Example: see [`TokenSource`].
    ///
    /// # Cost
    /// One atomic read-modify-write, as for each clone of a token.
    #[must_use]
    pub fn token(&self) -> Token {
        let callbacks = Arc::clone(&self.callbacks);
        Token { callbacks }
    }

    /// Cancels: runs the callbacks on this thread, and wakes the waiting futures, the newest first. Later
    /// calls do nothing.
    ///
    /// # Blocking
    /// As long as the callbacks take.
    ///
    /// # Panics
    /// When callbacks panic: `cancel` runs every callback, then resumes the panics together.
    ///
    /// # Examples
    /// ```
    /// let source = manyhands::cancel::TokenSource::new();
    /// let token = source.token();
    /// source.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        self.callbacks.cancel();
    }

    /// A function that cancels this source, if the source or a token of it still exists.
    pub(crate) fn canceller(&self) -> impl Fn() + Send + 'static {
        let callbacks = Arc::downgrade(&self.callbacks);
        move || {
            if let Some(callbacks) = callbacks.upgrade() {
                callbacks.cancel();
            }
        }
    }

    /// Keeps `guard` until the next call, or until the source and all its tokens are dropped.
    pub(crate) fn keep(&self, guard: Box<dyn Send>) {
        self.callbacks.keep(guard);
    }
}

impl Token {
    /// A token that is never cancelled.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel::Token, parallel};
    /// let squares = parallel::Options::new().cancellation(&Token::never()).map(0..4, |i| i * i);
    /// assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
    /// ```
    #[doc(alias = "CancellationToken.None")]
    #[must_use]
    pub fn never() -> Self {
        static NEVER: OnceLock<TokenSource> = OnceLock::new();
        NEVER.get_or_init(TokenSource::new).token()
    }

    /// Whether the source was cancelled.
    ///
    /// Example: see [`TokenSource`].
    ///
    /// # Cost
    /// One plain load.
    #[doc(alias = "IsCancellationRequested")]
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.callbacks.is_cancelled()
    }

    /// An error if the source was cancelled, for use with `?`.
    ///
    /// # Cost
    /// One plain load, unless it is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`], which carries this token.
    ///
    /// # Examples
    /// ```
    /// use manyhands::cancel::{Cancelled, TokenSource, Token};
    ///
    /// fn work(token: &Token) -> Result<u32, Cancelled> {
    ///     let mut done = 0;
    ///     for _ in 0..1000 {
    ///         token.check()?;
    ///         done += 1;
    ///     }
    ///     Ok(done)
    /// }
    /// let source = TokenSource::new();
    /// assert_eq!(work(&source.token()), Ok(1000));
    /// source.cancel();
    /// assert!(work(&source.token()).is_err());
    /// ```
    #[doc(alias = "ThrowIfCancellationRequested")]
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            let token = self.clone();
            return Err(Cancelled { token });
        }
        Ok(())
    }

    /// Runs `callback` when the source is cancelled, on the cancelling thread; at once, on this thread,
    /// if the source is cancelled already.
    ///
    /// Dropping the registration unregisters the callback. If the callback is running on another thread, the drop
    /// waits for its end, so that what it uses may be freed afterwards. On a thread of the pool, another worker runs in its
    /// place meanwhile.
    ///
    /// # Cost
    /// An allocation, and a short lock to register and to unregister.
    ///
    /// # Panics
    /// If the source is cancelled already and `callback` panics. A panic of a callback that runs later propagates from
    /// [`TokenSource::cancel`].
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc;
    /// let source = manyhands::cancel::TokenSource::new();
    /// let (sender, receiver) = mpsc::channel();
    /// let registration = source.token().register(move || sender.send("cancelled").unwrap());
    /// source.cancel();
    /// assert_eq!(receiver.recv(), Ok("cancelled"));
    /// # drop(registration);
    /// ```
    #[doc(alias = "UnsafeRegister")]
    pub fn register(&self, callback: impl FnOnce() + Send + 'static) -> Registration {
        Registration::new(&self.callbacks, Box::new(callback))
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.callbacks, &other.callbacks)
    }
}

impl Eq for Token {}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.callbacks).hash(state);
    }
}

/// A call ended because its token was cancelled.
///
/// Example: see [`Token::check`].
#[doc(alias = "OperationCanceledException")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    pub(crate) token: Token,
}

impl Cancelled {
    /// The token that was cancelled.
    ///
    /// # Examples
    /// ```
    /// use manyhands::cancel::TokenSource;
    /// let (mine, other) = (TokenSource::new(), TokenSource::new());
    /// mine.cancel();
    /// let cancelled = mine.token().check().unwrap_err();
    /// assert!(*cancelled.token() == mine.token() && *cancelled.token() != other.token());
    /// ```
    #[must_use]
    pub fn token(&self) -> &Token {
        &self.token
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the call was cancelled")
    }
}

impl Error for Cancelled {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::TokenSource;
    use crate::engine::Ending;
    use crate::job::catch;
    use std::sync::Arc;

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn a_cancelled_call_whose_result_panics_when_dropped_keeps_no_token() {
        let source = TokenSource::new();
        let token = source.token();
        source.cancel();
        let tokens = Arc::strong_count(&source.callbacks);
        let ended = catch(|| drop((&token).conclude(Some(PanicsWhenDropped))));
        assert!(ended.is_err(), "the panic is lost");
        assert_eq!(Arc::strong_count(&source.callbacks), tokens);
    }
}
