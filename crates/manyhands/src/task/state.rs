//! The state word of a task, and every transition of it.
//!
//! # Bits
//! `CLAIMED` somebody runs it, ran it or dropped it; set once · `QUEUED` a queue, or the thread that took
//! the task from it, still holds the cell; cleared once · `HANDLE` the handle still holds the cell;
//! cleared once. Who clears the last of the two holders frees the cell.
//!
//! The claimer alone touches the closure; after that, the result belongs to the handle once the latch is
//! final, or to whoever frees the cell.

use crate::sync::atomic::{AtomicU32, Ordering};

/// The word.
#[derive(Debug)]
pub(super) struct State(AtomicU32);

/// Who owns a cell that one holder has let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterRelease {
    /// The other holder.
    Keep,
    /// Nobody: the caller frees it.
    Free,
}

/// What came of an attempt to claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Claim {
    /// The caller has the closure, and somebody has the handle.
    Awaited,
    /// The caller has the closure, and with it the whole cell if it also holds the queue's part.
    Detached,
    /// Somebody else was first.
    TooLate,
}

impl State {
    /// A task that is queued and has a handle.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(QUEUED | HANDLE))
    }

    /// The queue's holder claims the closure.
    pub(super) fn claim_queued(&self) -> Claim {
        // Acquire: pairs with the release of the handle: nobody else is left to claim.
        if self.0.load(Ordering::Acquire) & (HANDLE | CLAIMED) == 0 {
            return Claim::Detached;
        }
        self.claim()
    }

    /// Claims the closure.
    pub(super) fn claim(&self) -> Claim {
        // AcqRel: Acquire pairs with the release of the handle, whose bit decides who frees the cell;
        // Release orders the claim before the result.
        let before = self.0.fetch_or(CLAIMED, Ordering::AcqRel);
        match (before & CLAIMED != 0, before & HANDLE != 0) {
            (true, _) => Claim::TooLate,
            (false, true) => Claim::Awaited,
            (false, false) => Claim::Detached,
        }
    }

    /// The queue's holder lets go.
    pub(super) fn release_queue(&self) -> AfterRelease {
        self.release(QUEUED)
    }

    /// The handle lets go.
    pub(super) fn release_handle(&self) -> AfterRelease {
        self.release(HANDLE)
    }

    fn release(&self, holder: u32) -> AfterRelease {
        // AcqRel: the first holder's writes reach the second, which frees the cell. The bit is set, so
        // subtracting clears it; unlike masking, that is a single instruction everywhere.
        let before = self.0.fetch_sub(holder, Ordering::AcqRel);
        if before & (QUEUED | HANDLE) == holder {
            AfterRelease::Free
        } else {
            AfterRelease::Keep
        }
    }
}

const CLAIMED: u32 = 1;
const QUEUED: u32 = 2;
const HANDLE: u32 = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AfterRelease, Claim, State};

    #[test]
    fn the_second_holder_to_let_go_frees_the_cell() {
        let state = State::new();
        assert_eq!(state.release_queue(), AfterRelease::Keep);
        assert_eq!(state.release_handle(), AfterRelease::Free);
        let state = State::new();
        assert_eq!(state.release_handle(), AfterRelease::Keep);
        assert_eq!(state.release_queue(), AfterRelease::Free);
    }

    #[test]
    fn a_task_is_claimed_once() {
        let state = State::new();
        assert_eq!(state.claim(), Claim::Awaited);
        assert_eq!(state.claim(), Claim::TooLate);
        let state = State::new();
        assert_eq!(state.release_handle(), AfterRelease::Keep);
        assert_eq!(state.claim(), Claim::Detached);
        let state = State::new();
        assert_eq!(state.claim_queued(), Claim::Awaited);
        let state = State::new();
        assert_eq!(state.release_handle(), AfterRelease::Keep);
        assert_eq!(state.claim_queued(), Claim::Detached);
    }
}
