//! Why a runtime can add no thread, in a word.

use std::fmt;

/// Why a runtime can add no thread.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")]
/// assert_eq!(manyhands::inspect::NoMoreThreads::Limit.to_string(), "the limit is reached");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoMoreThreads {
    /// As many threads exist as [`RuntimeBuilder::max_threads`](crate::RuntimeBuilder::max_threads) allows.
    Limit,
    /// Memory is scarce, so there are no more threads than workers.
    Memory,
    /// The system has refused the last one.
    Refused,
}

impl fmt::Display for NoMoreThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the limit is reached",
            Self::Memory => "memory is scarce",
            Self::Refused => "the system starts no more",
        })
    }
}
