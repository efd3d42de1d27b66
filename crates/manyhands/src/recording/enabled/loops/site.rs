//! With the feature: the line of the program that calls a loop. Same functions as in `recording/disabled.rs`.

use std::panic::Location;

/// The line that calls a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopSite(pub(crate) &'static Location<'static>);

impl LoopSite {
    /// The caller's.
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn here() -> Self {
        Self(Location::caller())
    }
}
