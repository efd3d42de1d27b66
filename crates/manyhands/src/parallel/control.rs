//! What a body can ask of its loop, and how a loop ended that could be cut short.
//!
//! # Ordering
//! The flags and the lowest break only say what runners need not start; what bodies write is published when their
//! runner leaves. So they are Relaxed throughout. `fetch_min` makes "everything below the lowest break runs" exact:
//! the end never rises.

use crate::cancel::Token;
use crate::engine::{Watch, limit_each};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A body's view of its loop.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let outcome = parallel::Options::new().for_each_with_control(0..1000, |i, control| {
///     assert!(!control.is_stopped() && !control.is_exceptional());
///     if i % 7 == 6 {
///         control.break_at_current();
///         assert!(control.lowest_break().unwrap() <= i);
///     }
/// });
/// assert_eq!(outcome.lowest_break(), Some(6));
/// ```
#[doc(alias = "ParallelLoopState")]
#[derive(Debug)]
pub struct Control<'a> {
    pub(super) state: &'a LoopState,
    pub(super) position: u64,
    pub(super) token: Option<&'a Token>,
}

/// How a loop ended that was not cancelled and had no failures.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let break_at = |at| {
///     parallel::Options::new().for_each_with_control(0..1000, |i, control| {
///         if i == at {
///             control.break_at_current();
///         }
///     })
/// };
/// assert!(break_at(5000).is_completed());
/// let broken = break_at(500);
/// assert!(!broken.is_completed() && !broken.is_stopped());
/// assert_eq!(broken.lowest_break(), Some(500));
/// ```
#[doc(alias = "ParallelLoopResult")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    lowest_break: Option<u64>,
    stopped: bool,
}

impl Control<'_> {
    /// Nothing above this position needs to run any more. Everything below still runs.
    ///
    /// # Panics
    /// If the loop was stopped: the first of the two calls applies.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let outcome = parallel::Options::new().for_each_with_control(0..1000, |i, control| {
    ///     if i % 100 == 42 {
    ///         control.break_at_current();
    ///     }
    /// });
    /// assert_eq!(outcome.lowest_break(), Some(42));
    /// ```
    #[doc(alias = "Break")]
    pub fn break_at_current(&self) {
        self.state.claim_kind(BROKEN);
        let end = self.position + 1;
        // Relaxed: see the file's header.
        self.state.end.fetch_min(end, Ordering::Relaxed);
    }

    /// Nothing more needs to run, at any position.
    ///
    /// # Panics
    /// If the loop was broken: the first of the two calls applies.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let outcome = parallel::Options::new().for_each_with_control(0..1000, |i, control| {
    ///     if i % 100 == 42 {
    ///         control.stop();
    ///     }
    /// });
    /// assert!(outcome.is_stopped());
    /// ```
    pub fn stop(&self) {
        self.state.claim_kind(STOPPED);
    }

    /// Whether this body's work is no longer needed, because the loop was stopped, broken below, or cancelled, or
    /// another body failed. Long bodies should check this regularly.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// parallel::Options::new().for_each_with_control(0..100, |i, control| {
    ///     for _step in 0..1000 {
    ///         if control.should_exit() {
    ///             return;
    ///         }
    ///         if i == 10 {
    ///             control.stop();
    ///         }
    ///     }
    /// });
    /// ```
    #[doc(alias = "ShouldExitCurrentIteration")]
    #[must_use]
    pub fn should_exit(&self) -> bool {
        self.token.is_some_and(Token::is_cancelled) || self.state.end() <= self.position
    }

    /// Whether the loop was stopped.
    ///
    /// Example: see [`Control`].
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.state.is(STOPPED)
    }

    /// Whether another body has failed or panicked.
    ///
    /// Example: see [`Control`].
    #[must_use]
    pub fn is_exceptional(&self) -> bool {
        self.state.is(FAILED)
    }

    /// The lowest position at which the loop was broken so far, counted from the source's start.
    ///
    /// Example: see [`Control`].
    #[doc(alias = "LowestBreakIteration")]
    #[must_use]
    pub fn lowest_break(&self) -> Option<u64> {
        self.state.lowest_break()
    }
}

impl Outcome {
    /// Whether every body ran: the loop was neither broken nor stopped.
    ///
    /// Example: see [`Outcome`].
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.lowest_break.is_none() && !self.stopped
    }

    /// Whether the loop was stopped.
    ///
    /// Example: see [`Outcome`].
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The lowest position at which the loop was broken, counted from the source's start. Every body below it has run.
    ///
    /// Example: see [`Outcome`].
    #[doc(alias = "LowestBreakIteration")]
    #[must_use]
    pub fn lowest_break(&self) -> Option<u64> {
        self.lowest_break
    }
}

/// The state behind every [`Control`] of one loop.
#[derive(Debug)]
pub(crate) struct LoopState {
    /// One past the lowest break.
    end: AtomicU64,
    /// [`BROKEN`] or [`STOPPED`], whichever came first, and [`FAILED`].
    flags: AtomicU32,
}

impl LoopState {
    pub(crate) fn new() -> Self {
        Self {
            end: AtomicU64::new(u64::MAX),
            flags: AtomicU32::new(0),
        }
    }

    /// A body has failed or panicked.
    pub(crate) fn note_failure(&self) {
        // Relaxed: see the file's header.
        self.flags.fetch_or(FAILED, Ordering::Relaxed);
    }

    pub(super) fn outcome(&self) -> Outcome {
        Outcome {
            lowest_break: self.lowest_break(),
            stopped: self.is(STOPPED),
        }
    }

    fn lowest_break(&self) -> Option<u64> {
        // Relaxed: see the file's header.
        let end = self.end.load(Ordering::Relaxed);
        (end != u64::MAX).then(|| end - 1)
    }

    /// Whether one of these flags is set.
    fn is(&self, flags: u32) -> bool {
        // Relaxed: see the file's header.
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    fn claim_kind(&self, kind: u32) {
        let other = kind ^ (BROKEN | STOPPED);
        let claim = |flags| (flags & other == 0).then_some(flags | kind);
        let word = &self.flags;
        // Relaxed, both: see the file's header.
        let claimed = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim);
        let (is, cannot) = match kind {
            BROKEN => ("stopped", "broken"),
            _ => ("broken", "stopped"),
        };
        assert!(claimed.is_ok(), "a loop that was {is} cannot be {cannot}");
    }
}

impl Watch for &LoopState {
    fn end(&self) -> u64 {
        if self.is(STOPPED | FAILED) {
            return 0;
        }
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }

    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item> {
        limit_each(self, first, items)
    }

    fn note_panic(&self) {
        self.note_failure();
    }
}

/// Cut short by either. The second hears of panics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Both<A, B>(pub(crate) A, pub(crate) B);

impl<A: Watch, B: Watch> Watch for Both<A, B> {
    #[inline]
    fn end(&self) -> u64 {
        self.0.end().min(self.1.end())
    }

    #[inline]
    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item> {
        self.1.limit(first, self.0.limit(first, items))
    }

    fn note_panic(&self) {
        self.1.note_panic();
    }
}

/// Nothing above the lowest break need run.
const BROKEN: u32 = 1;
/// Nothing more is run.
const STOPPED: u32 = 2;
/// A body has failed or panicked: nothing more is run.
const FAILED: u32 = 4;
