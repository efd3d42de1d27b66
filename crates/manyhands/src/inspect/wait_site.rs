//! With the feature: the line of the program with which waits inside this library's own futures are shown. Same functions as
//! in `disabled.rs`.
//!
//! A future that waits itself takes the line from who polls it. If that is code of this library, the line would say nothing
//! to the program's author; such code knows the line that has called it, and says so around the poll.

use crate::inspect::loop_site::LoopSite;
use crate::inspect::record;
use std::panic::Location;

/// A line of the program that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitSite(&'static Location<'static>);

impl WaitSite {
    /// The caller's.
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn here() -> Self {
        Self(Location::caller())
    }

    /// That of a loop.
    #[inline(always)]
    pub(crate) const fn of_loop(site: LoopSite) -> Self {
        Self(site.0)
    }

    /// Polls what waits on this line, unless a call around this has said another one.
    #[inline]
    pub(crate) fn during<R>(self, poll: impl FnOnce() -> R) -> R {
        let _said = (record::is_recorded() && record::say_line(self.0)).then_some(Said);
        poll()
    }
}

/// The calling thread has said on which line it waits, until this is dropped.
struct Said;

impl Drop for Said {
    fn drop(&mut self) {
        record::take_line_back();
    }
}
