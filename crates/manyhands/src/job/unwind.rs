//! Panics as values, and guards: for what is done also when a frame unwinds, and for code that must not.

use crate::integrations::tracing_events;
use crate::job::PanicPayload;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Runs `work` and returns its value or its panic.
///
/// The caller that observes the outcome resumes or reports the panic, so no code uses broken state as if it were
/// whole; hence the assertion.
pub(crate) fn catch<R>(work: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(work))
}

/// Runs code that may panic, and drops the panic. Does not unwind, whatever the payload does.
pub(crate) fn contain(work: impl FnOnce()) {
    if let Err(payload) = catch(work) {
        let payload = PanicPayload::new(payload);
        tracing_events::panic_ignored(payload.message(), None);
        dispose(payload.into_inner());
    }
}

/// Drops the payload of an ignored panic. Does not unwind: dropping a payload may panic with another payload, and so
/// on; the last of a long series is leaked.
#[cold]
pub(crate) fn dispose(mut payload: Payload) {
    for _ in 0..PAYLOADS_MAX {
        match catch(|| drop(payload)) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    let _ = std::mem::ManuallyDrop::new(payload);
}

/// Wakes. A waker is user code: its panic is ignored here, because it does not concern the waking thread, and
/// other wakers are still to be woken.
pub(crate) fn wake(waker: Waker) {
    contain(|| waker.wake());
}

/// As [`wake`], by a waker that is kept: that of a poll which goes on later.
pub(crate) fn wake_by_ref(waker: &Waker) {
    contain(|| waker.wake_by_ref());
}

/// Drops a waker that is not needed any more, which may run user code; as for [`wake`].
#[inline]
pub(crate) fn discard(waker: Option<Waker>) {
    if waker.is_some() {
        contain(|| drop(waker));
    }
}

/// Resumes the panics of one call: a single one as it was, several as an [`AggregatePanic`].
pub(crate) fn resume_all(mut payloads: Vec<Payload>) {
    match payloads.len() {
        0 => {}
        1 => resume_unwind(payloads.remove(0)),
        _ => resume_unwind(Box::new(AggregatePanic {
            payloads: payloads.into_iter().map(PanicPayload::new).collect(),
        })),
    }
}

/// Ends a call whose body returned or panicked, and whose other parts may have panicked too: returns the value if there
/// was no panic; else resumes the panics, that of the body first.
pub(crate) fn value_or_resume<R>(body: Result<R, Payload>, mut others: Vec<Payload>) -> R {
    let value = body.map_err(|payload| others.insert(0, payload));
    resume_all(others);
    value.expect("the body's panic was resumed")
}

/// The payload of the panic that a parallel call resumes when more than one of its bodies panicked.
///
/// A single panic is resumed with its own payload.
///
/// # Examples
/// ```
/// use manyhands::{parallel, AggregatePanic};
/// let both = std::panic::catch_unwind(|| {
///     parallel::invoke((|| panic!("left"), || panic!("right")))
/// });
/// let payload = both.unwrap_err().downcast::<AggregatePanic>().unwrap();
/// assert_eq!(payload.payloads().len(), 2);
/// let kept = payload.into_payloads();
/// assert!(kept.iter().any(|payload| payload.downcast_ref() == Some(&"left")));
/// ```
#[doc(alias = "AggregateException")]
pub struct AggregatePanic {
    payloads: Vec<PanicPayload>,
}

impl AggregatePanic {
    /// What a part of a call panicked with: several panics if it was shared itself.
    pub(crate) fn parts(payload: Payload) -> Vec<Payload> {
        match payload.downcast::<Self>() {
            Ok(panics) => panics.into_payloads(),
            Err(payload) => vec![payload],
        }
    }

    /// What each panic carried.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{AggregatePanic, parallel};
    /// use std::panic;
    /// # panic::set_hook(Box::new(|_| ()));
    /// let both = [1, 2].map(|i| move || { if i > 0 { panic!("closure {i}") } });
    /// let payload = panic::catch_unwind(|| parallel::invoke(both)).unwrap_err();
    /// let panics = payload.downcast::<AggregatePanic>().unwrap();
    /// assert_eq!(panics.payloads().len(), 2);
    /// ```
    #[must_use]
    pub fn payloads(&self) -> &[PanicPayload] {
        &self.payloads
    }

    /// What each panic carried, to be kept.
    ///
    /// Example: see [`AggregatePanic`].
    #[must_use]
    pub fn into_payloads(self) -> Vec<Box<dyn Any + Send + 'static>> {
        let payloads = self.payloads.into_iter();
        payloads.map(PanicPayload::into_inner).collect()
    }
}

impl fmt::Display for AggregatePanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} panics:", self.payloads.len())?;
        self.payloads
            .iter()
            .try_for_each(|payload| write!(f, " [{payload}]"))
    }
}

impl fmt::Debug for AggregatePanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for AggregatePanic {}

/// The most nested payloads that are dropped, each from the drop of the one before.
const PAYLOADS_MAX: usize = 8;

/// Calls a closure when dropped, so also where its frame is left by unwinding; only there if it is
/// [disarmed](Self::disarm) at the end.
#[must_use]
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> OnDrop<F> {
    /// Ends the guarded section without the call.
    #[inline]
    #[expect(clippy::mem_forget, reason = "forgetting is how the guard is disarmed")]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline]
    fn drop(&mut self) {
        (self.0)();
    }
}
