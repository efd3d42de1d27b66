//! The search of a worker, as a value.
//!
//! Not here: where it looks (`search.rs`).

use crate::job::RunPermit;
use crate::runtime::sleep::idle::Idle;
use crate::runtime::sleep::idle::counts::SEARCHING;
use crate::sync::atomic::Ordering;

/// While it lives, its worker counts as one that looks for work, so wakers wake no other one. The worker has no permit
/// meanwhile: nothing of the user's can be called.
#[derive(Debug)]
#[must_use]
pub(crate) struct Searching<'a> {
    idle: &'a Idle,
    _permit: RunPermit<'a>,
}

impl Idle {
    /// Begins a search.
    pub(crate) fn search<'a>(&'a self, permit: RunPermit<'a>) -> Searching<'a> {
        // SeqCst: I1.
        self.counts.fetch_add(SEARCHING, Ordering::SeqCst);
        Searching {
            idle: self,
            _permit: permit,
        }
    }
}

impl Drop for Searching<'_> {
    fn drop(&mut self) {
        // SeqCst: I1.
        self.idle.counts.fetch_sub(SEARCHING, Ordering::SeqCst);
    }
}
