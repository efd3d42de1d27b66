//! Leaves: blocks of a source whose borders depend on its length alone.
//!
//! Not here: how they are used; a deterministic reduction folds each and combines them in order.
//!
//! Unsafe: passes positions on to the source, each once, or discards them.

use crate::engine::{Consumer, Indexed, Plan, drive};
use std::ops::Range;

/// Runs the items of `source` through `consumer`, one leaf to each `consume`.
pub(crate) fn drive_leaves<S: Indexed, C: Consumer<S::Item>>(
    source: &S,
    consumer: &C,
    plan: &Plan<'_>,
) {
    let len = source.len();
    let leaves = &Leaves {
        source,
        len,
        leaf_len: len.div_ceil(LEAVES_MAX).max(1),
    };
    drive(leaves, &mut ByLeaf { leaves, consumer }, plan);
}

/// A source whose items are the leaves of another.
struct Leaves<'a, S> {
    source: &'a S,
    len: u64,
    leaf_len: u64,
}

impl<S> Leaves<'_, S> {
    fn first_of(&self, leaf: u64) -> u64 {
        leaf.saturating_mul(self.leaf_len).min(self.len)
    }
}

// SAFETY: leaves do not overlap, so positions are passed on as often as leaves are asked for.
unsafe impl<S: Indexed> Indexed for Leaves<'_, S> {
    type Item = u64;

    fn len(&self) -> u64 {
        self.len.div_ceil(self.leaf_len)
    }

    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = u64> {
        Given {
            leaves: self,
            numbers: start..end,
        }
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        let (start, end) = (self.first_of(start), self.first_of(end));
        // SAFETY: as promised by the caller.
        unsafe { self.source.discard(start, end) };
    }
}

/// The numbers of some leaves. Leaves that are never asked for, because one before them has panicked or nothing behind it is
/// wanted, are discarded.
struct Given<'a, S: Indexed> {
    leaves: &'a Leaves<'a, S>,
    numbers: Range<u64>,
}

impl<S: Indexed> Iterator for Given<'_, S> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.numbers.next()
    }
}

impl<S: Indexed> Drop for Given<'_, S> {
    fn drop(&mut self) {
        if !self.numbers.is_empty() {
            // SAFETY: these leaves were promised to the caller of `block`, which did not receive them.
            unsafe { self.leaves.discard(self.numbers.start, self.numbers.end) };
        }
    }
}

/// Passes leaves on as blocks of items.
struct ByLeaf<'a, S, C> {
    leaves: &'a Leaves<'a, S>,
    consumer: &'a C,
}

impl<S: Indexed, C: Consumer<S::Item>> Consumer<u64> for ByLeaf<'_, S, C> {
    type Runner = C::Runner;

    fn start(&self) -> C::Runner {
        self.consumer.start()
    }

    fn consume<I: Iterator<Item = u64>>(
        &self,
        runner: &mut C::Runner,
        numbers: Range<u64>,
        mut leaves: I,
    ) {
        for leaf in numbers {
            let (start, end) = (self.leaves.first_of(leaf), self.leaves.first_of(leaf + 1));
            // Looked at before each leaf, because a block may have very many.
            if start >= self.consumer.end() || leaves.next().is_none() {
                return;
            }
            // SAFETY: the engine gives each leaf once, and this one was taken.
            let items = unsafe { self.leaves.source.block(start, end) };
            self.consumer.consume(runner, start..end, items);
        }
    }

    fn finish(&self, runner: C::Runner) {
        self.consumer.finish(runner);
    }

    fn end(&self) -> u64 {
        match self.consumer.end() {
            u64::MAX => u64::MAX,
            end => end.div_ceil(self.leaves.leaf_len),
        }
    }

    fn note_panic(&self) {
        self.consumer.note_panic();
    }
}

/// Enough to balance 192 processors, few enough to combine in a moment.
const LEAVES_MAX: u64 = 1024;
