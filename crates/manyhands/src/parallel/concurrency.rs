//! How many bodies may run at once, as the user sets it, and errors in that.
//!
//! Not here: which number is best between the limits (`async_loop/tuner.rs`).

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;

/// How many items of an async loop run at once: a number, or limits between which the loop finds the best number.
///
/// Numbers and ranges convert to it, so it is seldom named.
///
/// # Examples
/// ```
/// use manyhands::parallel::{self, Concurrency};
/// let options = parallel::AsyncOptions::new();
/// let forty = options.degree_of_parallelism(40)?;
/// let some = options.degree_of_parallelism(4..=64)?;
/// let named = options.degree_of_parallelism(Concurrency::try_from(40)?)?;
/// assert_eq!(Concurrency::try_from(8)?, Concurrency::try_from(8..=8)?);
/// assert_eq!((Concurrency::try_from(4..=64)?.min(), Concurrency::try_from(4..=64)?.max()), (4, 64));
/// # Ok::<(), parallel::ConcurrencyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    min: usize,
    max: usize,
}

impl Concurrency {
    /// The tuner chooses between these, and never goes above them by itself: sockets and memory are finite.
    pub(super) const ADAPTIVE: Self = Self { min: 1, max: 1024 };

    /// The lowest number that is allowed.
    ///
    /// Example: see [`Concurrency`].
    #[must_use]
    pub fn min(self) -> usize {
        self.min
    }

    /// The highest number that is allowed.
    ///
    /// Example: see [`Concurrency`].
    #[must_use]
    pub fn max(self) -> usize {
        self.max
    }

    /// The nearest number that is allowed.
    pub(super) fn clamp(self, level: usize) -> usize {
        level.clamp(self.min, self.max)
    }
}

/// Exactly this number, as long as the source has as many items; with 1, one after the other, in order. An error if it is 0.
impl TryFrom<usize> for Concurrency {
    type Error = ConcurrencyError;

    fn try_from(count: usize) -> Result<Self, ConcurrencyError> {
        Self::try_from(count..=count)
    }
}

/// The best number that the loop finds within these limits. An error if the lower one is 0 or above the higher one.
impl TryFrom<RangeInclusive<usize>> for Concurrency {
    type Error = ConcurrencyError;

    fn try_from(limits: RangeInclusive<usize>) -> Result<Self, ConcurrencyError> {
        let (min, max) = limits.into_inner();
        let limits = Self { min, max };
        if min == 0 || min > max {
            return Err(ConcurrencyError(limits));
        }
        Ok(limits)
    }
}

/// A degree of parallelism that is invalid.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let zero = parallel::Options::new().degree_of_parallelism(0).unwrap_err();
/// assert!(zero.is_zero() && !zero.is_reversed());
/// assert_eq!(zero.to_string(), "degree of parallelism must be at least 1");
/// let reversed = parallel::AsyncOptions::new().degree_of_parallelism(8..=4).unwrap_err();
/// assert!(reversed.is_reversed());
/// assert_eq!(reversed.to_string(), "lower limit 8 is above upper limit 4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyError(Concurrency);

impl ConcurrencyError {
    /// Whether a number is 0.
    ///
    /// Example: see [`ConcurrencyError`].
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.min == 0
    }

    /// Whether the lower limit is above the higher one.
    ///
    /// Example: see [`ConcurrencyError`].
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        self.0.min > self.0.max
    }
}

impl fmt::Display for ConcurrencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Concurrency { min, max } = self.0;
        if self.is_zero() {
            f.write_str("degree of parallelism must be at least 1")
        } else {
            write!(f, "lower limit {min} is above upper limit {max}")
        }
    }
}

impl Error for ConcurrencyError {}

/// What is a [`Concurrency`] already has no error.
impl From<Infallible> for ConcurrencyError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
