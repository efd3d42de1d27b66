//! How much a task may do in one poll before it makes room for others.
//!
//! A future that always finds its channel full or its timer expired would never return from its poll. So
//! each poll of a task starts with a budget; what may go on without end, every leaf future of this library,
//! asks [`poll_proceed`] first and charges for what it has done. When nothing is left the leaf says
//! pending, and the task goes to the back of its queue.
//!
//! Outside a task, as in [`block_on`](super::block_on), there is nobody to make room for, and no limit.

use std::cell::Cell;
use std::task::{Context, Poll};

thread_local! {
    static LEFT: Cell<Left> = const { Cell::new(Left::UNLIMITED) };
}

/// What is left to the current poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left(u16);

/// The right to do one operation now.
#[derive(Debug)]
#[must_use = "an operation that succeeds is charged for"]
pub(crate) struct Permit(());

impl Permit {
    /// The operation has been done. One that turned out pending is not charged for: its poll ends anyway,
    /// and else the first of many that wait together would use up what the last ones need.
    pub(crate) fn charge(self) {
        LEFT.set(LEFT.get().less_one());
    }
}

/// Whether the current task may do one more operation; if not, it is woken to go on later.
///
/// # Cost
/// A thread-local load.
pub(crate) fn poll_proceed(context: &Context<'_>) -> Poll<Permit> {
    if LEFT.get() == Left::NOTHING {
        context.waker().wake_by_ref();
        return Poll::Pending;
    }
    Poll::Ready(Permit(()))
}

/// Whether the calling thread polls a task, and nothing on top of it.
pub(super) fn is_in_poll() -> bool {
    LEFT.get() != Left::UNLIMITED
}

/// Runs one poll of a task with a full budget.
pub(crate) fn during_poll<R>(poll: impl FnOnce() -> R) -> R {
    with(Left(OPERATIONS_PER_POLL), poll)
}

/// Runs what polls outside any task, perhaps on top of one, without limit.
pub(super) fn unlimited<R>(poll: impl FnOnce() -> R) -> R {
    with(Left::UNLIMITED, poll)
}

fn with<R>(left: Left, poll: impl FnOnce() -> R) -> R {
    let _restore = Restore(LEFT.replace(left));
    poll()
}

/// Gives the poll underneath its own budget back.
struct Restore(Left);

impl Drop for Restore {
    fn drop(&mut self) {
        LEFT.set(self.0);
    }
}

impl Left {
    const UNLIMITED: Self = Self(u16::MAX);
    const NOTHING: Self = Self(0);

    fn less_one(self) -> Self {
        if self == Self::UNLIMITED {
            self
        } else {
            Self(self.0.saturating_sub(1))
        }
    }
}

/// Enough to share the price of a turn through the queue, few enough to last some ten microseconds.
const OPERATIONS_PER_POLL: u16 = 128;
