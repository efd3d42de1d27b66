//! How many bodies may run at once, as the user sets it, and errors in that.
//!
//! Not here: which number is best between the limits (`async_loop/tuner.rs`).

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;

/// The lowest and highest number that may run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) min: usize,
    pub(super) max: usize,
}

impl Limits {
    /// The tuner chooses between these.
    pub(super) const ADAPTIVE: Self = Self {
        min: 1,
        max: ADAPTIVE_MAX,
    };

    /// Exactly this number.
    pub(super) fn exactly(count: usize) -> Result<Self, LimitsError> {
        Self::between(count..=count)
    }

    /// The best number that the tuner detects within these limits.
    pub(super) fn between(limits: RangeInclusive<usize>) -> Result<Self, LimitsError> {
        let (min, max) = limits.into_inner();
        if min == 0 {
            return Err(LimitsError(Fault::Zero));
        }
        if min > max {
            return Err(LimitsError(Fault::Reversed { min, max }));
        }
        Ok(Self { min, max })
    }

    /// The nearest number that they allow.
    pub(super) fn clamp(self, level: usize) -> usize {
        level.clamp(self.min, self.max)
    }
}

/// Why a degree of parallelism, or limits of it, are invalid.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let zero = parallel::options().try_degree_of_parallelism(0).unwrap_err();
/// assert!(zero.is_zero() && !zero.is_reversed());
/// assert_eq!(zero.to_string(), "a degree of parallelism is at least 1");
/// let reversed = parallel::options().try_concurrency_between(8..=4).unwrap_err();
/// assert!(reversed.is_reversed());
/// assert_eq!(reversed.to_string(), "the lower limit of 8 is above the higher one of 4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsError(Fault);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Zero,
    Reversed { min: usize, max: usize },
}

impl LimitsError {
    /// Whether a number is 0.
    ///
    /// Example: see [`LimitsError`].
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == Fault::Zero
    }

    /// Whether the lower limit is above the higher one.
    ///
    /// Example: see [`LimitsError`].
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        matches!(self.0, Fault::Reversed { .. })
    }
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Fault::Zero => f.write_str("a degree of parallelism is at least 1"),
            Fault::Reversed { min, max } => {
                write!(
                    f,
                    "the lower limit of {min} is above the higher one of {max}"
                )
            }
        }
    }
}

impl Error for LimitsError {}

/// For the forms that are documented to panic.
#[track_caller]
pub(super) fn or_panic<T>(checked: Result<T, LimitsError>) -> T {
    match checked {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// The tuner never goes above this by itself: sockets and memory are finite.
const ADAPTIVE_MAX: usize = 1024;
