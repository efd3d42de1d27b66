//! With which lines the waits of a thread are recorded, and which lines are of this library.
//!
//! Not here: where a line comes from (`site.rs`).

use std::num::NonZeroU32;
use std::panic::Location;

/// What a thread has said for its waits: lines, and a set of tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    /// That of all waits, if the thread waits for one thing only, or polls a future of this library that has said one.
    pub(crate) of_all: Option<&'static Location<'static>>,
    /// In place of lines of this library: that on which the thread polls any future, if code of this library does so.
    pub(crate) of_library: Option<&'static Location<'static>>,
    /// The set of the handle that the thread polls.
    pub(crate) of_set: Option<NonZeroU32>,
}

impl Lines {
    /// Nothing was said.
    pub(crate) const NONE: Self = Self {
        of_all: None,
        of_library: None,
        of_set: None,
    };

    /// The line of a wait that is polled at `at`.
    pub(crate) fn of(self, at: &'static Location<'static>) -> &'static Location<'static> {
        self.of_library.filter(|_| is_of_library(at)).unwrap_or(at)
    }
}

/// Whether a line is of this library, not of the program.
pub(crate) fn is_of_library(at: &Location<'_>) -> bool {
    at.file().starts_with(SOURCES)
}

/// The folder of this library's files, as the compiler names them.
pub(crate) const SOURCES: &str = file!()
    .split_at(file!().len() - "recording/enabled/waits/lines.rs".len())
    .0;

#[cfg(test)]
mod tests {
    use super::{SOURCES, is_of_library};
    use std::panic::Location;

    #[test]
    fn a_line_of_this_library_is_known_from_its_file() {
        assert!(SOURCES.ends_with(['/', '\\']) && file!().starts_with(SOURCES));
        assert!(is_of_library(Location::caller()));
    }
}
