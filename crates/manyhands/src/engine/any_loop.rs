//! A loop as the engine shares it: what becomes of its positions, whatever its items are.
//!
//! Where a loop is shared, a block takes some microseconds, so a virtual call costs it nothing. The code there is compiled
//! once, with the library, and not for each loop of a program.
//!
//! Not here: the path of short loops, which knows the types of source and consumer (`mod.rs`).
//!
//! Unsafe: positions are handed to the source, each exactly once.

use crate::engine::consumer::Consumer;
use crate::engine::{Indexed, Runner};

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
        part(&mut LoopRunner::new(self.source, self.consumer));
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
