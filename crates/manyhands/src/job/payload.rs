//! The payload of a panic, as part of errors that threads share.
//!
//! Not here: catching and resuming (`unwind.rs`), where a payload is still the plain box.
//!
//! Unsafe: `Sync` by hand, because a payload need not be.

use crate::job::unwind::Payload;
use std::any::Any;
use std::fmt;

/// The payload of a panic.
///
/// A panic's payload is `Send` but perhaps not `Sync`. Errors are shared, so this returns the payload itself
/// by value only, and a reference to it only as a type that is `Sync`.
///
/// # Examples
/// ```
/// use manyhands::parallel::{self, Failure};
/// let failures = parallel::try_for_each(0..3, |i| -> Result<(), ()> {
///     if i == 1 { panic!("not {i}") } else { Ok(()) }
/// }).unwrap_err();
/// let (position, failure) = failures.into_iter().next().unwrap();
/// let Failure::Panic(payload) = failure else { unreachable!() };
/// assert_eq!((position, payload.message()), (1, Some("not 1")));
/// assert_eq!(payload.downcast_ref::<String>().unwrap(), "not 1");
/// let owned = payload.into_inner().downcast::<String>().unwrap();
/// assert_eq!(*owned, "not 1");
/// ```
pub struct PanicPayload(Payload);

// SAFETY: the payload forbids it. Through a shared reference only the methods below reach it, and they return
// only references to types that are `Sync`.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    pub(crate) fn new(payload: Payload) -> Self {
        Self(payload)
    }

    /// The message, if the payload is one, as `panic!` makes it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let failures = parallel::try_for_each(0..1, |_| -> Result<(), ()> { panic!("no more") }).unwrap_err();
    /// assert_eq!(failures.panics().next().unwrap().1.message(), Some("no more"));
    /// ```
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        let text = self.downcast_ref::<&'static str>().copied();
        text.or_else(|| self.downcast_ref::<String>().map(String::as_str))
    }

    /// The payload as a `T`, if it is one.
    ///
    /// What cannot be shared must be taken out by value:
    /// ```compile_fail,E0277
    /// fn number(payload: &manyhands::PanicPayload) -> Option<u8> {
    ///     payload.downcast_ref::<std::cell::Cell<u8>>().map(std::cell::Cell::get)
    /// }
    /// ```
    ///
    /// Example: see [`PanicPayload`].
    #[must_use]
    pub fn downcast_ref<T: Any + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// The payload itself, to be inspected or resumed.
    ///
    /// Example: see [`PanicPayload`].
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Any + Send + 'static> {
        self.0
    }
}

/// The message.
impl fmt::Display for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().unwrap_or("no message"))
    }
}

/// The message; never the payload.
impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.message().unwrap_or("no message"), f)
    }
}
