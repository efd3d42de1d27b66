//! What a loop does with its items: the interface between the engine and each kind of loop. And a loop as the engine shares it:
//! what becomes of its positions, whatever its items are.
//!
//! Where a loop is shared, a block takes some microseconds, so a virtual call costs it nothing. The code there is compiled
//! once, with the library, and not for each loop of a program. The path of short loops (`mod.rs`) knows the types of source and
//! consumer.
//!
//! Not here: where the items come from (`source/`) and which thread runs them (`mod.rs`).
//!
//! Unsafe: positions are handed to the source, each exactly once.

use crate::cancel::{Cancelled, Token};
use crate::engine::Indexed;
use crate::job::contain;
use std::ops::Range;

/// Takes items in blocks, from several runners at once.
pub trait Consumer<T>: Sync {
    /// What one runner keeps between its blocks.
    type Runner;

    /// What decides where blocks begin and end.
    const GROUPING: Grouping = Grouping::Any;

    /// Called before a runner consumes its first block.
    fn start(&self) -> Self::Runner;

    /// Consumes the items at these positions, or those up to the end of a source that ends early. It may leave the
    /// rest untouched when [`end`](Self::end) allows it. No other runner is given positions between these.
    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    );

    /// Called after a runner's last block, also if the runner has panicked.
    fn finish(&self, _runner: Self::Runner) {}

    /// As [`finish`](Self::finish), of a runner that was the only one: nobody else shares the consumer.
    #[inline]
    fn finish_only(&mut self, runner: Self::Runner) {
        self.finish(runner);
    }

    /// Positions from here on need not be consumed any more. Never rises.
    fn end(&self) -> u64 {
        u64::MAX
    }

    /// The source ended early: all items at positions below `end` were consumed. The positions that follow start at
    /// `end`, even if a block was said to reach beyond it.
    fn pass(&self, _end: u64) {}

    /// A body has panicked on some runner; the engine hands out no more blocks.
    fn note_panic(&self) {}
}

/// How far a loop still has to go: to its end, unless something has cut it short.
pub trait Watch: Sync {
    /// Positions from here on need not be run.
    fn end(&self) -> u64;

    /// The items up to the end, which is read before each item.
    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item>;

    /// As [`Consumer::note_panic`].
    fn note_panic(&self) {}
}

/// What can cancel a call, and so how it returns its result: nothing, `()`, and the plain result; a token, `&Token`, and a
/// `Result`. Sealed.
///
/// # Examples
/// A function that takes options with a token or without:
/// ```
/// use manyhands::cancel::{Cancelled, Token};
/// use manyhands::parallel::{self, Ending, Options};
///
/// fn total<E: Ending>(options: &Options<'_, E>) -> E::Output<Option<u32>> {
///     options.map_reduce(1..=4_u32, |n| n, |a, b| a + b)
/// }
/// let plain: Option<u32> = total(&parallel::Options::new());
/// let token = Token::never();
/// let checked: Result<Option<u32>, Cancelled> = total(&parallel::Options::new().cancellation(&token));
/// assert_eq!((plain, checked), (Some(10), Ok(Some(10))));
/// ```
pub trait Ending: Watch + Copy + Send {
    /// How reductions group their values.
    #[doc(hidden)]
    const GROUPING: Grouping = Grouping::Any;

    /// The returned type for a result of type `T`.
    type Output<T>;

    /// Returns the result. `value` is `None` only when the call was cut short.
    #[doc(hidden)]
    fn conclude<T>(&self, value: Option<T>) -> Self::Output<T>;

    /// Returns a value that was complete before any cancellation.
    #[doc(hidden)]
    fn complete<T>(value: T) -> Self::Output<T>;

    /// The token that can cancel the call.
    #[doc(hidden)]
    fn token(&self) -> Option<&Token>;

    /// Whether the call was cancelled.
    #[doc(hidden)]
    fn cancelled(&self) -> Option<Cancelled> {
        self.token().and_then(|token| token.check().err())
    }
}

/// How values are grouped before they are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// By the blocks that runners happen to claim.
    Any,
    /// By the source's length alone.
    Fixed,
}

impl Watch for () {
    #[inline]
    fn end(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn limit<I: Iterator>(&self, _first: u64, items: I) -> impl Iterator<Item = I::Item> {
        items
    }
}

impl Ending for () {
    type Output<T> = T;

    fn conclude<T>(&self, value: Option<T>) -> T {
        value.expect("a call that cannot be cancelled ends or panics")
    }

    #[inline]
    fn complete<T>(value: T) -> T {
        value
    }

    fn token(&self) -> Option<&Token> {
        None
    }
}

impl Watch for &Token {
    #[inline]
    fn end(&self) -> u64 {
        if self.is_cancelled() { 0 } else { u64::MAX }
    }

    #[inline]
    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item> {
        limit_each(self, first, items)
    }
}

impl Ending for &Token {
    type Output<T> = Result<T, Cancelled>;

    fn conclude<T>(&self, value: Option<T>) -> Result<T, Cancelled> {
        if let Some(cancelled) = self.cancelled() {
            // First: the compiler leaks what is returned if a drop panics after that.
            drop(value);
            return Err(cancelled);
        }
        Ok(value.expect("only cancellation cuts the call short"))
    }

    #[inline]
    fn complete<T>(value: T) -> Result<T, Cancelled> {
        Ok(value)
    }

    fn token(&self) -> Option<&Token> {
        Some(self)
    }
}

/// Checks the end before each item.
#[inline]
pub(crate) fn limit_each<W: Watch, I: Iterator>(
    watch: &W,
    first: u64,
    mut items: I,
) -> impl Iterator<Item = I::Item> {
    let mut position = first;
    std::iter::from_fn(move || {
        if position >= watch.end() {
            return None;
        }
        position += 1;
        items.next()
    })
}

/// A loop, whatever its items are.
pub(super) trait AnyLoop: Sync {
    /// Positions from here on need not be run.
    fn end(&self) -> u64;

    /// Drops the items at `start..end`.
    ///
    /// # Safety
    /// As for [`Indexed::block`].
    unsafe fn discard(&self, start: u64, end: u64);

    /// A body has panicked on some runner.
    fn note_panic(&self);

    /// Calls `part` with a new runner, whose state is finished after that.
    fn with_runner(&self, part: &mut dyn FnMut(&mut dyn BlockRunner));
}

/// One thread's part in a loop.
pub(super) trait BlockRunner {
    /// Runs the items at `start..end`.
    ///
    /// # Safety
    /// As for [`Indexed::block`].
    unsafe fn run(&mut self, start: u64, end: u64);
}

impl<L: AnyLoop + ?Sized> AnyLoop for &L {
    fn end(&self) -> u64 {
        (**self).end()
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { (**self).discard(start, end) }
    }

    fn note_panic(&self) {
        (**self).note_panic();
    }

    fn with_runner(&self, part: &mut dyn FnMut(&mut dyn BlockRunner)) {
        (**self).with_runner(part);
    }
}

/// The items of a source, for a consumer.
pub(super) struct Loop<'a, S, C> {
    pub(super) source: &'a S,
    pub(super) consumer: &'a C,
}

impl<S: Indexed, C: Consumer<S::Item>> AnyLoop for Loop<'_, S, C> {
    #[inline]
    fn end(&self) -> u64 {
        self.consumer.end()
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.source.discard(start, end) }
    }

    fn note_panic(&self) {
        self.consumer.note_panic();
    }

    fn with_runner(&self, part: &mut dyn FnMut(&mut dyn BlockRunner)) {
        let mut runner = LoopRunner::new(self.source, self.consumer);
        part(&mut runner);
        runner.runner.finish();
    }
}

/// One thread's part in a [`Loop`].
pub(super) struct LoopRunner<'a, S: Indexed, C: Consumer<S::Item>> {
    source: &'a S,
    runner: Runner<'a, S::Item, C>,
}

impl<'a, S: Indexed, C: Consumer<S::Item>> LoopRunner<'a, S, C> {
    #[inline]
    pub(super) fn new(source: &'a S, consumer: &'a C) -> Self {
        let runner = Runner::new(consumer);
        Self { source, runner }
    }

    /// The state, which the caller finishes.
    #[inline]
    pub(super) fn into_state(mut self) -> Option<C::Runner> {
        self.runner.state.take()
    }
}

impl<S: Indexed, C: Consumer<S::Item>> BlockRunner for LoopRunner<'_, S, C> {
    #[inline(always)]
    unsafe fn run(&mut self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.source.block(start, end) };
        let consumer = self.runner.consumer;
        consumer.consume(self.runner.state(), start..end, items);
    }
}

/// A runner's state, finished also when a body panics.
pub(crate) struct Runner<'a, T, C: Consumer<T>> {
    pub(crate) consumer: &'a C,
    state: Option<C::Runner>,
}

impl<'a, T, C: Consumer<T>> Runner<'a, T, C> {
    pub(crate) fn new(consumer: &'a C) -> Self {
        Self {
            consumer,
            state: None,
        }
    }

    /// The state, begun on first use.
    #[inline]
    pub(crate) fn state(&mut self) -> &mut C::Runner {
        self.state.get_or_insert_with(|| self.consumer.start())
    }

    /// Finishes the state.
    #[inline]
    pub(crate) fn finish(mut self) {
        if let Some(state) = self.state.take() {
            self.consumer.finish(state);
        }
    }
}

/// A body has panicked, unless the state was finished before.
impl<T, C: Consumer<T>> Drop for Runner<'_, T, C> {
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            // A second panic would abort; the caller must see the first one.
            contain(|| self.consumer.finish(state));
        }
    }
}
