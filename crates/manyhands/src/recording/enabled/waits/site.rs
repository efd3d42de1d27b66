//! With the feature: the line of the program with which loops, and waits inside this library's own futures, are shown. Same
//! functions as in `recording/disabled.rs`.
//!
//! A future that waits itself takes the line from its caller. If that is code of this library, the line would say nothing
//! to the program's author; such code knows the line that has called it, and says so around the poll. Where it polls any
//! future of the program, the lines inside that one are better, unless it is itself one of this library.

use crate::recording::enabled::{Lines, current};
use std::panic::Location;

/// A line of the program that waits, or calls a loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site(pub(crate) &'static Location<'static>);

impl Site {
    /// The caller's.
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn here() -> Self {
        Self(Location::caller())
    }

    /// Polls what waits on this line, unless a call around this has said another one.
    #[inline]
    pub(crate) fn poll<R>(self, poll: impl FnOnce() -> R) -> R {
        let _said = Said::now(|lines| {
            lines.of_all.get_or_insert(self.0);
        });
        poll()
    }

    /// Polls any future. What it waits for is on this line where that would be one of this library; if this is one, too, on
    /// that of the call around this.
    #[inline]
    pub(crate) fn around<R>(self, poll: impl FnOnce() -> R) -> R {
        let _said = Said::now(|lines| lines.of_library = Some(lines.of(self.0)));
        poll()
    }
}

/// The calling thread has said something else, until this is dropped. It has what it said before.
pub(super) struct Said(Lines);

impl Said {
    /// `None` if no wait of the calling thread is recorded.
    #[inline]
    pub(super) fn now(change: impl FnOnce(&mut Lines)) -> Option<Self> {
        current::is_recorded().then(|| {
            let said = Self(current::get().lines);
            current::change(|current| change(&mut current.lines));
            said
        })
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        current::change(|current| current.lines = self.0);
    }
}
