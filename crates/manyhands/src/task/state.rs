//! The state word of a task, and every transition of it.
//!
//! # Bits
//! Holders, which keep the cell in memory:
//! - `QUEUED`: a queue, or the thread that has taken the task from it.
//! - `RUNNING`: the thread that polls it, a future only.
//! - `HANDLE`: the handle.
//! - above them the count of wakers.
//!
//! The holder that clears the last of them frees the cell.
//!
//! Marks, which are only ever set, except for `NOTIFIED`:
//! - `CLAIMED`: a thread runs the closure, ran it or dropped it.
//! - `NOTIFIED`: the future was woken while it was polled.
//! - `CANCELLED`: the task must be dropped.
//! - `DONE`: the future is dropped, and the outcome is stored where it was.
//!
//! # A future's life
//! ```text
//!             begin_poll             finish             release_runner
//!   QUEUED ───────────────► RUNNING ─────────► RUNNING ────────────────► nothing but handle and wakers
//!     ▲  ▲     end_poll:    │  │                + DONE
//!     │  └──────────────────┘  │ end_poll
//!     │    woken meanwhile     ▼
//!     └───────────────────── idle: neither QUEUED nor RUNNING
//!        wake, cancel, last waker gone
//! ```
//! `QUEUED` and `RUNNING` are never set together, so only the runner touches the future, and the queue's link belongs
//! to the queue. The thread that sets `QUEUED` must push the task. A task that is cancelled, or that has neither wakers
//! nor a handle, is queued one last time, so that it is dropped where tasks run; if it is being polled, its runner
//! drops it after the poll.
//!
//! After `finish` the outcome belongs to the handle if there is one, else to the runner.
//!
//! # A closure's life
//! The holder of the queue's part and the handle race for `CLAIMED`; only the claimer touches the closure. After that
//! the outcome belongs to the handle once the joiner is final, or to the holder that frees the cell. A closure is
//! never `RUNNING` and never `DONE`, and has no wakers but abort handles, which are counted with them.
//!
//! # Ordering
//! All changes are read-modify-writes of one word, so its history is a single order, and each acquires what
//! all earlier releases published. `end_poll` releases the future to the next `begin_poll`. A wake releases
//! what its thread did before to the poll that it causes, even if the task was queued already. Each holder
//! releases to the last one, which frees the cell.

use crate::sync::atomic::{AtomicU32, Ordering};

/// The word.
pub(super) struct State(AtomicU32);

/// The owner of a cell after one holder has released it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterRelease {
    /// The other holders.
    Keep,
    /// None: the caller frees it.
    Free,
    /// The future has neither wakers nor a handle: the caller must queue it, to be dropped.
    Queue,
}

/// What is to be done with a closure or a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Step {
    /// Run the closure, poll the future.
    Run,
    /// Drop it: it is cancelled.
    Drop,
}

/// What the caller may do with the closure it has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claimed {
    /// The handle exists, or an abort handle. If not, and the caller also holds the queue's part, only the caller has the cell.
    pub(super) is_shared: bool,
    pub(super) step: Step,
}

/// What to do with a future that is still pending after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterPoll {
    /// Nothing: the caller has released it.
    Wait,
    /// It was woken meanwhile: queue it.
    Queue,
    /// It was cancelled, or has neither wakers nor a handle: drop it. The caller is still the runner.
    Drop,
}

/// The owner of the outcome of a finished future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum AfterFinish {
    /// The handle; its waiter must be woken.
    Awaited,
    /// The runner; but wakers still hold the cell.
    Detached,
    /// The runner, which also has the whole cell.
    Sole,
}

impl State {
    /// A task that is queued and has a handle.
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(QUEUED | HANDLE))
    }

    /// Closure: the holder of the queue's part claims it. `None`: another thread was first.
    pub(super) fn claim_queued(&self) -> Option<Claimed> {
        // Acquire: pairs with the release of the handle, after which no other thread can claim.
        let word = self.0.load(Ordering::Acquire);
        if word & (HOLDERS | CLAIMED) == QUEUED {
            return Some(Claimed {
                is_shared: false,
                step: step_of(word),
            });
        }
        self.claim()
    }

    /// Closure: claims it. `None`: another thread was first.
    pub(super) fn claim(&self) -> Option<Claimed> {
        // AcqRel: Acquire pairs with the release of the handle, whose bit decides which of them frees the cell;
        // Release orders the claim before the result.
        let before = self.0.fetch_or(CLAIMED, Ordering::AcqRel);
        (before & CLAIMED == 0).then_some(Claimed {
            is_shared: before & HOLDERS & !QUEUED != 0,
            step: step_of(before),
        })
    }

    /// Closure: releases the queue's part.
    pub(super) fn release_queue(&self) -> AfterRelease {
        self.release(QUEUED)
    }

    /// Future: the thread that has taken it from a queue becomes its runner.
    pub(super) fn begin_poll(&self) -> Step {
        // AcqRel: Acquire pairs with `end_poll` and with every wake before; Release keeps those wakes
        // published to the next reader of the word.
        let before = self.0.fetch_add(RUNNING - QUEUED, Ordering::AcqRel);
        debug_assert_eq!(
            before & (QUEUED | RUNNING),
            QUEUED,
            "only a queued future is taken"
        );
        step_of(before)
    }

    /// How many wakers exist; `None` if they are not counted any more.
    pub(super) fn wakers(&self) -> Option<u32> {
        // Relaxed: the runner's own clones are in it, and others may come and go.
        let word = self.0.load(Ordering::Relaxed);
        (!is_saturated(word)).then_some(word / WAKER)
    }

    /// Runner: the future is pending.
    pub(super) fn end_poll(&self) -> AfterPoll {
        self.change(|word| {
            let others = word & HOLDERS & !RUNNING;
            if word & CANCELLED != 0 || (word & NOTIFIED == 0 && others == 0) {
                (word, AfterPoll::Drop)
            } else if word & NOTIFIED != 0 {
                let queued = word & !(NOTIFIED | RUNNING) | QUEUED;
                (queued, AfterPoll::Queue)
            } else {
                (word & !RUNNING, AfterPoll::Wait)
            }
        })
    }

    /// Runner: the future is dropped and the outcome is stored where it was.
    pub(super) fn finish(&self) -> AfterFinish {
        // Acquire: pairs with the release of the handle and of wakers: no other holder is left.
        if self.0.load(Ordering::Acquire) & HOLDERS == RUNNING {
            return AfterFinish::Sole;
        }
        // AcqRel: Release publishes the outcome to the handle; Acquire as above.
        if self.0.fetch_or(DONE, Ordering::AcqRel) & HANDLE == 0 {
            AfterFinish::Detached
        } else {
            AfterFinish::Awaited
        }
    }

    /// Runner, after `finish`: releases its part.
    pub(super) fn release_runner(&self) -> AfterRelease {
        self.release(RUNNING)
    }

    /// Requests a poll; a finished task needs none. Returns whether the caller must queue the task.
    #[must_use]
    pub(super) fn wake(&self) -> bool {
        self.change(|word| {
            let woken = woken(word);
            (woken, is_to_be_queued(word, woken))
        })
    }

    /// As [`wake`](Self::wake), and releases the waker's part.
    pub(super) fn wake_and_release(&self) -> AfterRelease {
        self.change(|word| {
            let woken = woken(word);
            if is_to_be_queued(word, woken) {
                (without_waker(woken), AfterRelease::Queue)
            } else {
                let word = without_waker(woken);
                (word, released(word))
            }
        })
    }

    /// Requests that the task be dropped; too late for one that is done, or a closure that is claimed. Returns whether the caller
    /// must queue the task.
    #[must_use]
    pub(super) fn cancel(&self) -> bool {
        self.change(|word| {
            if word & (DONE | CLAIMED | CANCELLED) != 0 {
                return (word, false);
            }
            let cancelled = woken(word) | CANCELLED;
            (cancelled, is_to_be_queued(word, cancelled))
        })
    }

    /// Future: whether it is dropped and the outcome stored.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        // Acquire: pairs with `finish`.
        self.0.load(Ordering::Acquire) & DONE != 0
    }

    /// One more waker or abort handle, made from an existing one, by the runner, by the handle, or by the holder of the
    /// queue's part.
    pub(super) fn add_waker(&self) {
        // Relaxed: the thread that makes it holds the cell already.
        let before = self.0.fetch_add(WAKER, Ordering::Relaxed);
        if is_saturated(before) {
            // Not counted any more; see `UNCOUNTED`. Relaxed: as above.
            self.0.fetch_sub(WAKER, Ordering::Relaxed);
        }
    }

    /// Releases a waker's part.
    pub(super) fn release_waker(&self) -> AfterRelease {
        self.change(|word| {
            let word = without_waker(word);
            (orphaned(word), released(word))
        })
    }

    /// Releases the handle's part. `None`: it is not released, because the outcome is there. The caller drops the outcome and
    /// calls `release_finished_handle`.
    #[must_use]
    pub(super) fn release_handle(&self) -> Option<AfterRelease> {
        self.change(|word| {
            if word & DONE != 0 {
                return (word, None);
            }
            let word = word & !HANDLE;
            (orphaned(word), Some(released(word)))
        })
    }

    /// Releases the handle's part after the outcome was dropped.
    pub(super) fn release_finished_handle(&self) -> AfterRelease {
        self.release(HANDLE)
    }

    fn release(&self, holder: u32) -> AfterRelease {
        // AcqRel: the first holder's writes reach the last, which frees the cell. The bit is set, so
        // subtracting clears it; unlike masking, that is a single instruction everywhere.
        let before = self.0.fetch_sub(holder, Ordering::AcqRel);
        if before & HOLDERS == holder {
            AfterRelease::Free
        } else {
            AfterRelease::Keep
        }
    }

    /// Changes the word as `step` says, and returns `step`'s second value.
    fn change<R>(&self, step: impl Fn(u32) -> (u32, R)) -> R {
        // Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (changed, result) = step(word);
            // AcqRel: see the top of the file; also if nothing changes, because the exchange still publishes
            // what the caller did before. Relaxed on failure: tried again.
            let exchanged =
                self.0
                    .compare_exchange_weak(word, changed, Ordering::AcqRel, Ordering::Relaxed);
            match exchanged {
                Ok(_) => return result,
                Err(now) => word = now,
            }
        }
    }
}

fn step_of(word: u32) -> Step {
    if word & CANCELLED == 0 {
        Step::Run
    } else {
        Step::Drop
    }
}

/// Whether wakers are not counted any more.
fn is_saturated(word: u32) -> bool {
    word & UNCOUNTED != 0
}

/// The word without one waker.
fn without_waker(word: u32) -> u32 {
    if is_saturated(word) {
        word
    } else {
        word - WAKER
    }
}

/// The word after a wake.
fn woken(word: u32) -> u32 {
    if word & (DONE | CLAIMED | QUEUED) != 0 {
        word
    } else if word & RUNNING != 0 {
        word | NOTIFIED
    } else {
        word | QUEUED
    }
}

/// Whether who has made this change must queue the task.
fn is_to_be_queued(before: u32, after: u32) -> bool {
    before & QUEUED != after & QUEUED
}

/// The word after a release: a future with neither wakers nor a handle must be dropped.
fn orphaned(word: u32) -> u32 {
    if released(word) == AfterRelease::Queue {
        word | QUEUED | CANCELLED
    } else {
        word
    }
}

fn released(word: u32) -> AfterRelease {
    if word & HOLDERS != 0 {
        AfterRelease::Keep
    } else if word & (DONE | CLAIMED) != 0 {
        AfterRelease::Free
    } else {
        AfterRelease::Queue
    }
}

const QUEUED: u32 = 1;
const RUNNING: u32 = 2;
const HANDLE: u32 = 4;
const CLAIMED: u32 = 8;
const NOTIFIED: u32 = 16;
const CANCELLED: u32 = 32;
const DONE: u32 = 64;
/// One waker.
const WAKER: u32 = 128;
const HOLDERS: u32 = QUEUED | RUNNING | HANDLE | !(WAKER - 1);
/// Set for ever once there have been 2^24 wakers at once, half of what the word can count. From then on wakers
/// are not counted. So the cell is never freed, as if one waker were leaked; the future and its
/// outcome are dropped all the same. The other half has room for every thread that is about to see the bit.
const UNCOUNTED: u32 = 1 << 31;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{
        AfterFinish, AfterPoll, AfterRelease, Claimed, HANDLE, QUEUED, State, Step, UNCOUNTED,
        WAKER, is_saturated,
    };
    use crate::sync::atomic::{AtomicU32, Ordering};

    const SHARED: Claimed = Claimed {
        is_shared: true,
        step: Step::Run,
    };

    #[test]
    fn a_closure_is_claimed_once_and_freed_by_the_second_holder() {
        let state = State::new();
        assert_eq!((state.claim(), state.claim_queued()), (Some(SHARED), None));
        assert_eq!(state.release_queue(), AfterRelease::Keep);
        assert_eq!(state.release_handle(), Some(AfterRelease::Free));
        let state = State::new();
        assert_eq!(state.claim_queued(), Some(SHARED));
        assert_eq!(state.release_handle(), Some(AfterRelease::Keep));
        assert_eq!(state.release_queue(), AfterRelease::Free);
    }

    #[test]
    fn a_closure_without_a_handle_is_the_queue_s() {
        let state = State::new();
        assert!(!state.cancel());
        assert_eq!(state.release_handle(), Some(AfterRelease::Keep));
        let claimed = state.claim_queued().unwrap();
        assert_eq!((claimed.is_shared, claimed.step), (false, Step::Drop));
    }

    #[test]
    fn a_closure_with_an_abort_handle_is_freed_by_its_last_holder() {
        let state = State::new();
        state.add_waker();
        assert_eq!(state.release_handle(), Some(AfterRelease::Keep));
        assert_eq!(state.claim_queued(), Some(SHARED));
        assert!(!state.cancel(), "it has begun");
        assert_eq!(state.release_queue(), AfterRelease::Keep);
        assert_eq!(state.release_waker(), AfterRelease::Free);
    }

    #[test]
    fn a_future_waits_until_it_is_woken_and_is_queued_once() {
        let state = State::new();
        assert!(!state.wake(), "it is queued already");
        assert_eq!(state.begin_poll(), Step::Run);
        state.add_waker();
        assert_eq!(state.end_poll(), AfterPoll::Wait);
        assert!(state.wake());
        assert!(!state.wake());
        assert_eq!(state.begin_poll(), Step::Run);
        assert_eq!(state.wake_and_release(), AfterRelease::Keep);
        assert_eq!(state.end_poll(), AfterPoll::Queue);
        assert_eq!(state.begin_poll(), Step::Run);
        assert_eq!(state.finish(), AfterFinish::Awaited);
        assert!(!state.wake(), "it is done");
        assert_eq!(state.release_handle(), None);
        assert_eq!(state.release_finished_handle(), AfterRelease::Keep);
        assert_eq!(state.release_runner(), AfterRelease::Free);
    }

    #[test]
    fn a_cancelled_future_is_dropped_wherever_it_is_found() {
        let state = State::new();
        assert!(!state.cancel());
        assert_eq!(state.begin_poll(), Step::Drop);
        let state = State::new();
        assert_eq!(state.begin_poll(), Step::Run);
        assert!(!state.cancel());
        assert_eq!(state.end_poll(), AfterPoll::Drop);
        let state = State::new();
        assert_eq!(state.begin_poll(), Step::Run);
        assert_eq!(state.end_poll(), AfterPoll::Wait);
        assert!(state.cancel());
        assert_eq!(state.begin_poll(), Step::Drop);
    }

    #[test]
    fn a_task_with_more_wakers_than_can_be_counted_ends_and_is_never_freed() {
        let state = State(AtomicU32::new(QUEUED | HANDLE | (UNCOUNTED - 2 * WAKER)));
        assert_eq!(state.begin_poll(), Step::Run);
        assert_eq!(state.release_waker(), AfterRelease::Keep);
        for _ in 0..10 {
            state.add_waker();
        }
        assert!(is_saturated(state.0.load(Ordering::Relaxed)));
        assert_eq!(state.end_poll(), AfterPoll::Wait);
        assert_eq!(state.wake_and_release(), AfterRelease::Queue);
        assert_eq!(state.begin_poll(), Step::Run);
        let word = state.0.load(Ordering::Relaxed);
        for _ in 0..10 {
            assert_eq!(state.release_waker(), AfterRelease::Keep);
        }
        assert_eq!(
            state.0.load(Ordering::Relaxed),
            word,
            "not counted any more"
        );
        assert_eq!(state.finish(), AfterFinish::Awaited);
        assert_eq!(state.release_handle(), None);
        assert_eq!(state.release_finished_handle(), AfterRelease::Keep);
        assert_eq!(state.release_runner(), AfterRelease::Keep);
    }

    #[test]
    fn a_future_that_nobody_can_reach_is_dropped() {
        let state = State::new();
        assert_eq!(state.release_handle(), Some(AfterRelease::Keep));
        assert_eq!(state.begin_poll(), Step::Run);
        state.add_waker();
        assert_eq!(state.end_poll(), AfterPoll::Wait);
        assert_eq!(state.release_waker(), AfterRelease::Queue);
        assert_eq!(state.begin_poll(), Step::Drop);
        assert_eq!(state.finish(), AfterFinish::Sole);
        let state = State::new();
        assert_eq!(state.begin_poll(), Step::Run);
        assert_eq!(state.release_handle(), Some(AfterRelease::Keep));
        assert_eq!(state.end_poll(), AfterPoll::Drop);
    }
}
