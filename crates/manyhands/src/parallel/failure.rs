//! All failures of one call whose bodies can fail.

use crate::cancel::Cancelled;
use crate::job::{AggregatePanic, PanicPayload, Payload, catch, contain, resume_all};
use crate::parallel::LoopState;
use crate::sync::{Mutex, into_inner, lock};
use std::error::Error;
use std::fmt;
use std::mem;
use std::vec;

/// All failures of a call, by position; at least one, or a cancellation.
///
/// After the first failure no new bodies start. Those that run are not interrupted, and if they fail too, their
/// failures are included.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let parsed = parallel::try_map(&["1", "2", "x"], |text| text.parse::<i32>());
/// let failures = parsed.unwrap_err();
/// assert_eq!(failures.errors().next().unwrap().0, 2);
/// ```
#[doc(alias = "AggregateException")]
#[derive(Debug)]
pub struct Failures<E> {
    failures: Vec<(u64, Failure<E>)>,
    cancelled: Option<Cancelled>,
}

/// How one body failed.
///
/// # Examples
/// ```
/// use manyhands::parallel::{self, Failure};
/// # std::panic::set_hook(Box::new(|_| ()));
/// let explain = |n: u32| {
///     let failures = parallel::try_for_each(n..n + 1, |n| match n {
///         0 => Err("nothing"),
///         n => panic!("{n} is too many"),
///     });
///     match failures.unwrap_err().into_iter().next().unwrap() {
///         (_, Failure::Error(error)) => format!("error: {error}"),
///         (_, Failure::Panic(payload)) => format!("panic: {payload}"),
///     }
/// };
/// assert_eq!([explain(0), explain(9)], ["error: nothing", "panic: 9 is too many"]);
/// ```
#[derive(Debug)]
pub enum Failure<E> {
    /// It returned this error.
    Error(E),
    /// It panicked with this payload.
    Panic(PanicPayload),
}

impl<E> Failures<E> {
    /// Each failure with the position of its item, counted from the start of the source, lowest first.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel::{self, Failure};
    /// let failures = parallel::try_for_each(0..2, |i| if i == 0 { Err("no") } else { Ok(()) }).unwrap_err();
    /// let (position, failure) = failures.iter().next().unwrap();
    /// assert!(position == 0 && matches!(failure, Failure::Error("no")));
    /// ```
    #[doc(alias = "InnerExceptions")]
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Failure<E>)> {
        let failures = self.failures.iter();
        failures.map(|(position, failure)| (*position, failure))
    }

    /// The errors that bodies returned, with their positions.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let failures = parallel::try_map(&["1", "x"], |text| text.parse::<i32>()).unwrap_err();
    /// let positions: Vec<u64> = failures.errors().map(|(position, _)| position).collect();
    /// assert_eq!(positions, [1]);
    /// ```
    pub fn errors(&self) -> impl Iterator<Item = (u64, &E)> {
        self.iter().filter_map(|(position, failure)| match failure {
            Failure::Error(error) => Some((position, error)),
            Failure::Panic(_) => None,
        })
    }

    /// The payloads of bodies that panicked, with their positions.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let failures = parallel::try_for_each(0..1, |_| -> Result<(), ()> { panic!("no more") }).unwrap_err();
    /// let (position, payload) = failures.panics().next().unwrap();
    /// assert_eq!((position, payload.message()), (0, Some("no more")));
    /// ```
    pub fn panics(&self) -> impl Iterator<Item = (u64, &PanicPayload)> {
        self.iter().filter_map(|(position, failure)| match failure {
            Failure::Error(_) => None,
            Failure::Panic(payload) => Some((position, payload)),
        })
    }

    /// The cancellation, if the call was cancelled, alone or beside failures.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, parallel};
    /// let source = cancel::TokenSource::new();
    /// source.cancel();
    /// let token = source.token();
    /// let options = parallel::Options::new().cancellation(&token);
    /// let failures = options.try_for_each(0..10, |_| Ok::<(), ()>(())).unwrap_err();
    /// assert!(failures.cancelled().is_some());
    /// ```
    #[must_use]
    pub fn cancelled(&self) -> Option<&Cancelled> {
        self.cancelled.as_ref()
    }
}

/// Collects failures.
pub(crate) struct Gathered<E>(Mutex<Vec<(u64, Failure<E>)>>);

impl<E> Gathered<E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Records the outcome of the body at `position`; returns its value if it has one.
    #[inline]
    pub(crate) fn sort_out<T>(
        &self,
        position: u64,
        result: Result<Result<T, E>, Payload>,
    ) -> Option<T> {
        match result {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => self.note(position, Failure::Error(error)),
            Err(payload) => self.note(position, Failure::Panic(PanicPayload::new(payload))),
        }
        None
    }

    #[cold]
    fn note(&self, position: u64, failure: Failure<E>) {
        lock(&self.0).push((position, failure));
    }

    /// Runs a body, and records how it has failed if it has: then no more bodies start.
    #[inline]
    pub(crate) fn attempt<T>(
        &self,
        state: &LoopState,
        position: u64,
        body: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        let value = self.sort_out(position, catch(body));
        if value.is_none() {
            state.note_failure();
        }
        value
    }

    /// Runs the call whose bodies fail. Where something beside them panics, as the source or a runner's state may, that panic
    /// goes on, and with it those of the bodies.
    pub(crate) fn around<R>(&self, call: impl FnOnce() -> R) -> R {
        catch(call).unwrap_or_else(|payload| {
            self.resume_beside(AggregatePanic::parts(payload));
            unreachable!("there is a panic to resume")
        })
    }

    /// If there are panics beside those of bodies, resumes all of them. Errors of bodies are lost then.
    pub(crate) fn resume_beside(&self, mut panics: Vec<Payload>) {
        if panics.is_empty() {
            return;
        }
        for (_, failure) in mem::take(&mut *lock(&self.0)) {
            match failure {
                Failure::Panic(payload) => panics.push(payload.into_inner()),
                Failure::Error(error) => contain(|| drop(error)),
            }
        }
        resume_all(panics);
    }

    /// `value` if nothing failed.
    pub(crate) fn conclude<T>(
        self,
        value: Option<T>,
        cancelled: Option<Cancelled>,
    ) -> Result<T, Failures<E>> {
        let mut failures = into_inner(self.0);
        failures.sort_by_key(|(position, _)| *position);
        match value {
            Some(value) if failures.is_empty() && cancelled.is_none() => Ok(value),
            unwanted => {
                // First: the compiler leaks what is returned if a drop panics after that.
                drop(unwanted);
                Err(Failures {
                    failures,
                    cancelled,
                })
            }
        }
    }
}

impl<E: fmt::Display> fmt::Display for Failures<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.failures.len();
        let bodies = if count == 1 { "body" } else { "bodies" };
        write!(f, "{count} {bodies} failed")?;
        if self.cancelled.is_some() {
            f.write_str(", and the call was cancelled")?;
        }
        for (position, failure) in &self.failures {
            write!(f, "; item {position}: {failure}")?;
        }
        Ok(())
    }
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => fmt::Display::fmt(error, f),
            Self::Panic(payload) => write!(f, "panicked: {payload}"),
        }
    }
}

/// What bodies returned need not be errors, and their texts are part of this one's.
impl<E: fmt::Debug + fmt::Display> Error for Failures<E> {
    /// The cancellation, if nothing else ended the call.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let cancelled = self.cancelled.as_ref();
        let only = cancelled.filter(|_| self.failures.is_empty())?;
        Some(only)
    }
}

/// Each failure with the position of its item, lowest first.
impl<E> IntoIterator for Failures<E> {
    type Item = (u64, Failure<E>);
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.failures.into_iter()
    }
}
