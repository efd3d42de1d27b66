//! The cooperative budget: how much a task may do in one poll before it yields.
//!
//! A future that always finds its channel full or its timer expired would never return from its poll. So
//! each poll of a task starts with a budget. Every leaf future of this library, which could go on without end,
//! asks [`poll_proceed`] first and charges for what it has done. When nothing is left the leaf is pending,
//! and the task goes to the back of its queue.
//!
//! A future that is polled after the one that has used the budget up must get its turn, too: a task that waits for the
//! first of several would otherwise never hear of a cancellation beside a channel that is always full. So each refusal
//! allows an operation more, which is another future's, because the refused one is pending now. A third one may need what that
//! uses up, and is not refused, as it waits for something else then: so from poll to poll a refusal allows one operation, two,
//! four, eight, and one again. There are only some of these in one poll, as a task that waits in a loop for either of two such
//! futures asks the refused one again.
//!
//! The budget is counted in operations, and in time: a task that computes long between two operations yields
//! sooner. It is given in stages, each as long as those before it together. The clock is read only between two of them, from
//! the fourth operation on, so that short polls do not pay for it.
//!
//! The future of a [`block_on`](super::block_on) has no other task to yield to, and is polled again at once; but what it waits
//! for beside a future that is always ready gets its turn. On a worker it has no limit, as the worker then polls no task.
//! Nor is there one for another library's executor on top of a poll, which polls a refused future again at once: the number
//! of refusals in one poll reveals it.

use crate::job::{OnDrop, wake_by_ref};
#[cfg(not(loom))]
use crate::{runtime::current, sync::clock};
use std::cell::Cell;
use std::task::{Context, Poll};

crate::sync::thread_local! {
    /// Halves of operations that the current stage has left.
    static LEFT: Cell<i32> = const { Cell::new(i32::MAX) };
    /// Halves of operations that the current poll has done when its stage is over.
    static STAGE_END: Cell<i32> = const { Cell::new(UNLIMITED) };
    /// The tick counter after the first operations of the current poll.
    static READ_FIRST: Cell<u64> = const { Cell::new(0) };
    /// A poll has used up its budget, and quickly.
    static SPENT_QUICKLY: Cell<bool> = const { Cell::new(false) };
    /// How often the current poll was refused an operation.
    static REFUSALS: Cell<i32> = const { Cell::new(0) };
    /// How many operations each of these allows, as a power of two.
    static ALLOWED: Cell<u32> = const { Cell::new(0) };
}

/// The right to do one operation now.
#[must_use = "an operation that succeeds is charged for"]
pub(crate) struct Permit(());

impl Permit {
    /// Charges for the operation. A pending operation is not charged for: its poll ends anyway,
    /// and else the first of many futures that wait together would use up what the last ones need.
    #[inline]
    pub(crate) fn charge(self) {
        charge(2);
    }

    /// As [`charge`](Self::charge), for a receive, which counts half. So a receiver consumes what one
    /// poll has sent, and then waits; and the two tasks can stay on one worker.
    #[inline]
    pub(crate) fn charge_half(self) {
        charge(1);
    }
}

/// Whether the current task may do one more operation; if not, it is woken to continue later.
///
/// # Cost
/// A thread-local load.
#[inline]
pub(crate) fn poll_proceed(context: &Context<'_>) -> Poll<Permit> {
    if LEFT.get() <= 0 {
        return poll_beyond(context);
    }
    Poll::Ready(Permit(()))
}

/// When a stage is over: the next one begins, or the budget is used up.
#[cold]
fn poll_beyond(context: &Context<'_>) -> Poll<Permit> {
    let spent = STAGE_END.get();
    if spent == UNLIMITED {
        begin_stage(UNLIMITED, i32::MAX);
    } else if spent < HALVES_PER_POLL {
        // Each poll comes here before its budget is used up, and not after that.
        REFUSALS.set(0);
        if has_run_long(spent) {
            begin_stage(HALVES_PER_POLL, 0);
        } else {
            begin_stage(2 * spent, LEFT.get() + spent);
        }
    }
    if LEFT.get() > 0 {
        return Poll::Ready(Permit(()));
    }
    // All is spent: the next operation is one that a refusal has allowed, or it is refused.
    let beyond = -LEFT.get();
    if beyond < (2 * REFUSALS.get()) << ALLOWED.get() && beyond < HALVES_BEYOND {
        return Poll::Ready(Permit(()));
    }
    put_off(context);
    Poll::Pending
}

/// Begins a stage, which has so much left.
fn begin_stage(end: i32, left: i32) {
    STAGE_END.set(end);
    LEFT.set(left);
}

fn put_off(context: &Context<'_>) {
    #[cfg(not(loom))]
    SPENT_QUICKLY.set(ticks_since_first() < clock::ticks_in(NANOS_QUICK));
    let refusals = REFUSALS.get() + 1;
    REFUSALS.set(refusals);
    if refusals == 1 {
        ALLOWED.set((ALLOWED.get() + 1) % ALLOWED_TURNS);
    }
    if refusals >= REFUSALS_MAX {
        // For the rest of this poll.
        begin_stage(UNLIMITED, i32::MAX);
    }
    wake_by_ref(context.waker());
}

/// Whether a task has used up its budget, and quickly, since this was last asked on this thread. A hint about the
/// one that was just polled.
pub(super) fn was_spent_quickly() -> bool {
    SPENT_QUICKLY.replace(false)
}

#[inline]
fn charge(halves: i32) {
    LEFT.set(LEFT.get() - halves);
}

/// Whether the calling worker polls a task, with nothing on top of it.
pub(super) fn is_in_poll() -> bool {
    STAGE_END.get() != UNLIMITED
}

/// Runs one poll of a task, or of what a thread waits for that is no worker, with a full budget.
pub(crate) fn during_poll<R>(poll: impl FnOnce() -> R) -> R {
    with(FIRST_STAGE, FIRST_STAGE, poll)
}

/// Runs code that polls outside any task, perhaps on top of one, without limit.
pub(crate) fn unlimited<R>(poll: impl FnOnce() -> R) -> R {
    with(UNLIMITED, i32::MAX, poll)
}

fn with<R>(stage_end: i32, left: i32, poll: impl FnOnce() -> R) -> R {
    // The budget of the poll underneath.
    let before = (STAGE_END.get(), LEFT.get(), REFUSALS.get());
    begin_stage(stage_end, left);
    let _restore = OnDrop(|| {
        begin_stage(before.0, before.1);
        REFUSALS.set(before.2);
    });
    poll()
}

/// A simulation begins on this thread: what its polls may do must not depend on what the thread has done before.
pub(crate) fn begin_simulation() {
    ALLOWED.set(0);
}

/// Whether the current poll has taken too long, after `halves` halves of operations.
#[cfg(not(loom))]
fn has_run_long(halves: i32) -> bool {
    if halves == FIRST_STAGE {
        READ_FIRST.set(clock::ticks());
        return false;
    }
    // A simulation must not depend on the speed of this machine.
    ticks_since_first() > clock::ticks_in(NANOS_PER_POLL)
        && !current::worker().is_some_and(|(_, shared)| shared.clock.is_virtual())
}

/// How long ago the first operations of the current poll were.
#[cfg(not(loom))]
fn ticks_since_first() -> u64 {
    clock::ticks().saturating_sub(READ_FIRST.get())
}

/// In the models only operations count.
#[cfg(all(test, loom))]
fn has_run_long(_halves: i32) -> bool {
    false
}

/// The end of a stage that has none.
const UNLIMITED: i32 = i32::MAX;
/// More leaf futures than one poll has, and few enough to be over in a millisecond.
const REFUSALS_MAX: i32 = 10_000;
/// Enough to share the price of a turn through the queue, few enough to last some ten microseconds.
const HALVES_PER_POLL: i32 = 2 * 128;
/// The numbers of operations that a refusal allows by turns: 1, 2, 4, 8.
const ALLOWED_TURNS: u32 = 4;
/// A poll ends no later after this. Room for as many futures that always find something to do as are in one task.
const HALVES_BEYOND: i32 = HALVES_PER_POLL / 8;
/// Halves of operations before the clock is read.
const FIRST_STAGE: i32 = 8;
const _: () = assert!(
    (HALVES_PER_POLL / FIRST_STAGE).count_ones() == 1,
    "the last stage ends with the budget"
);
/// What others in the queue can wait for, and long beside the price of a turn.
const NANOS_PER_POLL: u64 = 200_000;
/// What a budget is used up in by a task that only passes on what others wait for.
const NANOS_QUICK: u64 = 8_000;
