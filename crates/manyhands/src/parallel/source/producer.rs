//! Collections of other crates, divided by position.
//!
//! The engine asks for any block of positions that nobody has had yet. So the parts that are left are kept, and each block is
//! cut out of the one in which it lies. Only cutting is done under a lock; items are made and run outside of it.
//!
//! Nothing here relies on what an implementation does: the number of each block's items is checked as they are given.
//!
//! Unsafe: implements the engine's trait for positions.

use crate::engine::Indexed;
use crate::parallel::source::{ByPosition, Source, to_usize};
use crate::sync::{Mutex, lock};
use std::ops::Range;

/// A collection that can be cut in two anywhere: all that a loop or a query needs to run over it by position. What implements
/// this is a [`Source`].
///
/// For views of collections that other crates define: their slices, the rows of their arrays. A collection that cannot be
/// cut, such as a hash table, is a source through [`from_iter`](crate::parallel::from_iter), or as a vector of references.
///
/// # Cost
/// For each block of items, a few microseconds' worth, one short lock and up to two cuts; for each item, a count.
///
/// # Panics
/// A loop panics if a part gives fewer items than its length says, or if it is asked for more and gives them.
///
/// # Examples
/// The two halves of a ring buffer, such as a `VecDeque`, which is itself a source, too. A loop and a query run over all
/// items:
/// ```
/// use manyhands::{parallel, query::prelude::*};
///
/// struct Halves<'a, T>(&'a mut [T], &'a mut [T]);
///
/// impl<'a, T: Send> parallel::Producer for Halves<'a, T> {
///     type Item = &'a mut T;
///
///     fn len(&self) -> usize {
///         self.0.len() + self.1.len()
///     }
///
///     fn split_at(self, index: usize) -> (Self, Self) {
///         let (a, b) = self.0.split_at_mut(index.min(self.0.len()));
///         let (c, d) = self.1.split_at_mut(index - a.len());
///         (Halves(a, c), Halves(b, d))
///     }
///
///     fn into_iter(self) -> impl Iterator<Item = &'a mut T> {
///         self.0.iter_mut().chain(self.1)
///     }
/// }
///
/// let mut ring = std::collections::VecDeque::from([1, 2, 3]);
/// ring.push_front(0);
/// let (front, back) = ring.as_mut_slices();
/// parallel::for_each(Halves(front, back), |n| *n *= 10);
/// let (front, back) = ring.as_mut_slices();
/// let last_first = Halves(front, back).into_par_query().map(|n| *n).rev().to_vec();
/// assert_eq!(last_first, [30, 20, 10, 0]);
/// ```
#[expect(clippy::len_without_is_empty, reason = "an empty part is as any other")]
pub trait Producer: Sized + Send {
    /// What it gives.
    type Item;

    /// The number of items.
    ///
    /// Example: see [`Producer`].
    fn len(&self) -> usize;

    /// The first `index` items, and the others. `index` is at most the length. Other threads of the loop wait meanwhile, so it
    /// should be quick, and must not wait for them.
    ///
    /// Example: see [`Producer`].
    fn split_at(self, index: usize) -> (Self, Self);

    /// As many items as the length says, in order.
    ///
    /// Example: see [`Producer`].
    fn into_iter(self) -> impl Iterator<Item = Self::Item>;
}

#[diagnostic::do_not_recommend]
impl<P: Producer> Source for P {
    type Item = P::Item;
    type Feed = ByPosition<Parts<P>>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(Parts::of(self))
    }
}

/// What is left of a collection.
#[derive(Debug)]
pub struct Parts<P> {
    len: u64,
    /// Adjacent positions that nobody has had, with their items.
    left: Mutex<Vec<(Range<u64>, P)>>,
}

impl<P: Producer> Parts<P> {
    fn of(items: P) -> Self {
        let len = items.len() as u64;
        let left = Mutex::new(vec![(0..len, items)]);
        Self { len, left }
    }

    /// Cuts the items at `start..end` out of the part in which they lie. `None` if that is lost, because cutting it has panicked:
    /// the loop resumes that panic, and needs no other.
    fn cut(&self, start: u64, end: u64) -> Option<P> {
        let mut left = lock(&self.left);
        let place = left
            .iter()
            .position(|(part, _)| part.start <= start && end <= part.end)?;
        let (part, mut items) = left.swap_remove(place);
        if start > part.start {
            let (before, rest) = items.split_at(to_usize(start - part.start));
            left.push((part.start..start, before));
            items = rest;
        }
        if end < part.end {
            let (wanted, after) = items.split_at(to_usize(end - start));
            left.push((end..part.end, after));
            items = wanted;
        }
        Some(items)
    }
}

// SAFETY: an item is given by the one part in which it lies, or dropped with it; no safety depends on its being asked once.
unsafe impl<P: Producer> Indexed for Parts<P> {
    type Item = P::Item;

    fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = P::Item> {
        let part = (start < end).then(|| self.cut(start, end)).flatten();
        Exactly {
            items: part.map(P::into_iter),
            left: to_usize(end - start),
        }
    }
}

/// As many items as there are to be; panics where an iterator gives fewer or more.
struct Exactly<I> {
    /// `None` when it has ended.
    items: Option<I>,
    left: usize,
}

impl<I: Iterator> Iterator for Exactly<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.as_mut()?.next();
        if item.is_some() {
            self.left = count_down(self.left);
        } else {
            self.items = None;
            assert_given(self.left);
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    #[inline]
    fn fold<A, F: FnMut(A, I::Item) -> A>(self, first: A, mut add: F) -> A {
        let (Some(items), mut left) = (self.items, self.left) else {
            return first;
        };
        let result = items.fold(first, |sum, item| {
            left = count_down(left);
            add(sum, item)
        });
        assert_given(left);
        result
    }
}

#[inline]
fn count_down(left: usize) -> usize {
    left.checked_sub(1)
        .expect("a source gave more items than its length said")
}

fn assert_given(left: usize) {
    assert!(
        left == 0,
        "a source gave fewer items than its length said: {left} are missing"
    );
}

#[cfg(test)]
mod tests {
    use super::{Parts, Producer};
    use crate::engine::Indexed;
    use crate::job::{Payload, catch};
    use std::panic::resume_unwind;
    use std::sync::Arc;

    /// The items of a vector, with a length that may be wrong.
    struct Claiming<T>(usize, Vec<T>);

    impl<T: Send> Producer for Claiming<T> {
        type Item = T;

        fn len(&self) -> usize {
            self.0
        }

        fn split_at(self, index: usize) -> (Self, Self) {
            let mut items = self.1;
            let others = items.split_off(index.min(items.len()));
            (Self(index, items), Self(self.0 - index, others))
        }

        fn into_iter(self) -> impl Iterator<Item = T> {
            self.1.into_iter()
        }
    }

    #[test]
    fn blocks_in_any_order_give_each_item_once() {
        let numbers: Vec<u64> = (0..6).collect();
        for start in 0..=6 {
            for end in start..=6 {
                let parts = Parts::of(Claiming(6, numbers.clone()));
                let block = |start, end| {
                    // SAFETY: each position is asked for once, below.
                    unsafe { parts.block(start, end) }.collect::<Vec<_>>()
                };
                let (middle, last, first) = (block(start, end), block(end, 6), block(0, start));
                assert_eq!([first, middle, last].concat(), numbers, "{start}..{end}");
            }
        }
    }

    /// How many items there were, one by one and all at once.
    fn counted<T: Send>(parts: &Parts<Claiming<T>>, border: u64) -> Result<usize, Payload> {
        catch(|| {
            let mut count = 0;
            // SAFETY: each position is asked for once, here and below.
            for _item in unsafe { parts.block(0, border) } {
                count += 1;
            }
            // SAFETY: as above.
            unsafe { parts.block(border, parts.len()) }.fold(count, |count, _item| count + 1)
        })
    }

    /// Panics when it is cut.
    struct Fragile;

    impl Producer for Fragile {
        type Item = ();

        fn len(&self) -> usize {
            4
        }

        fn split_at(self, _index: usize) -> (Self, Self) {
            resume_unwind(Box::new("cut"));
        }

        fn into_iter(self) -> impl Iterator<Item = ()> {
            [(); 4].into_iter()
        }
    }

    #[test]
    fn what_is_lost_where_a_cut_panics_is_no_second_panic() {
        let parts = Parts::of(Fragile);
        // SAFETY: each position is asked for once, here and below.
        assert!(catch(|| unsafe { parts.block(0, 2) }.count()).is_err());
        // SAFETY: as above.
        assert_eq!(unsafe { parts.block(2, 4) }.count(), 0);
    }

    #[test]
    fn a_wrong_length_panics_and_drops_each_item_once() {
        for (claimed, held) in [(4, 4), (0, 0), (4, 0), (4, 1), (4, 3), (4, 5), (0, 1)] {
            for border in 0..=claimed {
                let item = Arc::new(());
                let parts = Parts::of(Claiming(claimed, vec![Arc::clone(&item); held]));
                let result = counted(&parts, border as u64);
                let right = (claimed == held).then_some(held);
                // No part is asked for where there are no positions.
                let unseen = (claimed == 0).then_some(0);
                assert_eq!(result.ok(), right.or(unseen), "{claimed} {held} {border}");
                drop(parts);
                assert_eq!(Arc::strong_count(&item), 1, "{claimed} {held} {border}");
            }
        }
    }
}
