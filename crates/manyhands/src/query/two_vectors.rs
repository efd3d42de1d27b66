//! Items as two vectors, both in order: each item goes to one of them, or a part of it to each. Where positions are known, the parts
//! of pairs are written in place.
//!
//! Not here: how a vector is written in place (`parallel/map.rs`), and how it is put together without positions
//! (`parallel/ordered_collect.rs`).
//!
//! Unsafe: writes the second parts, and finishes vectors that were written in place.

use crate::engine::{Consumer, Ending};
use crate::parallel::map::Filling;
use crate::parallel::ordered_collect::{Buffer, OrderedCollect};
use crate::parallel::source::to_usize;
use crate::query::gather::len_in_memory;
use crate::query::{Items, Pipeline, Positional, QueryRun};
use std::mem;
use std::ops::Range;

/// The first parts of all pairs, and the second ones; `None` if the query was cancelled.
pub(crate) fn unzipped<A: Send, B: Send, P: Pipeline<Item = (A, B)>, E: Ending>(
    pipeline: P,
    run: &QueryRun<'_, E>,
) -> Option<(Vec<A>, Vec<B>)> {
    if P::IS_POSITIONAL {
        return unzipped_in_place(pipeline.into_positions(u64::MAX, run), run);
    }
    let divide = |(first, second), seconds: &mut Vec<_>| {
        seconds.push(second);
        Some(first)
    };
    divided(pipeline, divide, run)
}

/// What `divide` makes of all items: it returns what belongs to the first vector, and adds to the second. `None` if the query was
/// cancelled.
pub(crate) fn divided<P: Pipeline, A: Send, B: Send, E: Ending>(
    mut pipeline: P,
    divide: impl Fn(P::Item, &mut Vec<B>) -> Option<A> + Sync,
    run: &QueryRun<'_, E>,
) -> Option<(Vec<A>, Vec<B>)> {
    let positions = pipeline.positions_left();
    let mut dividing = Dividing {
        first: OrderedCollect::new(positions),
        second: OrderedCollect::new(positions),
        divide,
    };
    pipeline.drive(u64::MAX, &mut dividing, run);
    drop(pipeline);
    let Dividing {
        first,
        second,
        divide,
    } = dividing;
    drop(divide);
    (!run.is_cancelled()).then(|| (first.into_vec(), second.into_vec()))
}

/// Gathers items in two vectors.
struct Dividing<A, B, F> {
    first: OrderedCollect<A>,
    second: OrderedCollect<B>,
    divide: F,
}

impl<T, A: Send, B: Send, F: Fn(T, &mut Vec<B>) -> Option<A> + Sync> Consumer<T>
    for Dividing<A, B, F>
{
    type Runner = (Buffer<A>, Buffer<B>);

    #[inline]
    fn start(&self) -> Self::Runner {
        (self.first.start(), self.second.start())
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        (firsts, seconds): &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let seconds = seconds.block(&positions);
        let items = items.filter_map(|item| (self.divide)(item, seconds));
        self.first.consume(firsts, positions, items);
    }

    fn finish(&self, (firsts, seconds): Self::Runner) {
        self.first.finish(firsts);
        self.second.finish(seconds);
    }

    #[inline]
    fn finish_only(&mut self, (firsts, seconds): Self::Runner) {
        self.first.finish_only(firsts);
        self.second.finish_only(seconds);
    }
}

/// [`unzipped`], of pairs with positions.
fn unzipped_in_place<A: Send, B: Send, S: Positional<Item = (A, B)>, E: Ending>(
    mut pairs: Items<S>,
    run: &QueryRun<'_, E>,
) -> Option<(Vec<A>, Vec<B>)> {
    let len = len_in_memory(&pairs);
    let mut unzipping = Unzipping {
        first: Filling::new(len),
        second: Filling::new(len),
    };
    pairs.drive(u64::MAX, &mut unzipping, run);
    drop(pairs);
    if run.is_cancelled() {
        return None;
    }
    // SAFETY: it was driven over `len` positions, each once.
    let first = unsafe { unzipping.first.take_vec(len) };
    // SAFETY: as above.
    let second = unsafe { unzipping.second.take_vec(len) };
    Some((first, second))
}

/// Writes the parts of each pair. Both vectors have been written at the same entries.
struct Unzipping<A, B> {
    first: Filling<A>,
    second: Filling<B>,
}

impl<A: Send, B: Send> Consumer<(A, B)> for Unzipping<A, B> {
    type Runner = Range<usize>;

    #[inline]
    fn start(&self) -> Range<usize> {
        0..0
    }

    #[inline]
    fn consume<I: Iterator<Item = (A, B)>>(
        &self,
        run: &mut Range<usize>,
        positions: Range<u64>,
        pairs: I,
    ) {
        let start = to_usize(positions.start);
        if run.end != start {
            self.finish(mem::replace(run, start..start));
        }
        let mut place = self.second.place(start);
        let parts = pairs.map(|(part, second)| {
            // SAFETY: the engine gives each position once, and there is room for all positions. So no other thread
            // touches this entry now.
            unsafe { place.write(second) };
            place = place.wrapping_add(1);
            part
        });
        self.first.consume(run, positions, parts);
    }

    #[inline]
    fn finish(&self, run: Range<usize>) {
        self.second.finish(run.clone());
        self.first.finish(run);
    }

    #[inline]
    fn finish_only(&mut self, run: Range<usize>) {
        self.second.finish_only(run.clone());
        self.first.finish_only(run);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Unzipping;
    use crate::engine::Consumer;
    use crate::parallel::map::Filling;
    use std::ops::Range;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    fn pairs(positions: Range<u64>) -> impl Iterator<Item = (String, Box<u64>)> {
        positions.map(|position| (position.to_string(), Box::new(position)))
    }

    #[test]
    fn blocks_of_several_runners_in_any_order_are_two_vectors_in_order() {
        let mut unzipping = Unzipping {
            first: Filling::new(20),
            second: Filling::new(20),
        };
        let runners: [&[Range<u64>]; 2] = [&[10..12, 0..5, 5..8], &[12..20, 8..10]];
        for blocks in runners {
            let mut runner = unzipping.start();
            for block in blocks {
                unzipping.consume(&mut runner, block.clone(), pairs(block.clone()));
            }
            unzipping.finish(runner);
        }
        // SAFETY: all positions were driven, each once.
        let firsts = unsafe { unzipping.first.take_vec(20) };
        // SAFETY: as above.
        let seconds = unsafe { unzipping.second.take_vec(20) };
        let (expected, numbers): (Vec<_>, Vec<_>) = pairs(0..20).unzip();
        assert_eq!((firsts, seconds), (expected, numbers));
    }

    #[test]
    fn pairs_before_a_panic_are_dropped_with_the_unfinished_vectors() {
        let shared = Arc::new(());
        let unzipping = Unzipping {
            first: Filling::new(20),
            second: Filling::new(20),
        };
        let pairs = |positions: Range<u64>| {
            positions.map(|position| {
                assert_ne!(position, 12, "as planned");
                (Arc::clone(&shared), Arc::clone(&shared))
            })
        };
        let mut runner = unzipping.start();
        unzipping.consume(&mut runner, 3..5, pairs(3..5));
        let consume = || unzipping.consume(&mut runner, 9..20, pairs(9..20));
        assert!(catch_unwind(AssertUnwindSafe(consume)).is_err());
        assert_eq!(runner, 9..12);
        unzipping.finish(runner);
        assert_eq!(Arc::strong_count(&shared), 1 + 2 * (2 + 3));
        drop(unzipping);
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
