//! The loops around one item: each function makes the body of an arm.
//!
//! All but the last three write to slots by index, as the posts' loops do.

use super::{cpus, slot::Slot};
use manyhands::{parallel, query::prelude::*};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::thread;

/// An item of work: given its index, it stores its result.
pub(crate) trait Item<const WORDS: usize>:
    Fn(usize, &Slot<WORDS>) + Copy + Send + Sync + 'static
{
}

impl<const WORDS: usize, F> Item<WORDS> for F where
    F: Fn(usize, &Slot<WORDS>) + Copy + Send + Sync + 'static
{
}

/// The body of an arm: given the size, it fills the slots.
pub(crate) trait Body<const WORDS: usize>:
    Fn(usize, &mut Vec<Slot<WORDS>>) + Send + Sync + 'static
{
}

impl<const WORDS: usize, F> Body<WORDS> for F where
    F: Fn(usize, &mut Vec<Slot<WORDS>>) + Send + Sync + 'static
{
}

/// `for`: a plain loop on the calling thread.
pub(crate) fn sequential<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |_, slots: &mut Vec<Slot<WORDS>>| {
        for (index, slot) in slots.iter().enumerate() {
            item(index, slot);
        }
    }
}

/// `foreach`: a plain loop over the items of a collection, a vector of indices that is made in the call.
pub(crate) fn sequential_by_item<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        for index in (0..n).collect::<Vec<_>>() {
            item(index, &slots[index]);
        }
    }
}

/// `Parallel.For`: a parallel loop over indices.
pub(crate) fn for_range<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let slots = slots.as_slice();
        parallel::for_each(0..n, |index| item(index, &slots[index]));
    }
}

/// `Parallel.ForEach`: a parallel loop over the items of a collection. As in the posts the collection
/// is one of indices; here it is a vector, made in the call.
pub(crate) fn for_each<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let (indices, slots) = ((0..n).collect::<Vec<_>>(), slots.as_slice());
        parallel::for_each(&indices, |index| item(*index, &slots[*index]));
    }
}

/// `Partitioner.Create(0, n)`, "optimised for small operations": a parallel loop over ranges, with a plain loop inside.
pub(crate) fn ranges<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let (size, slots) = (range_size(n, cpus()), slots.as_slice());
        parallel::for_each(0..n.div_ceil(size), |range| {
            let first = range * size;
            let part = &slots[first..n.min(first + size)];
            for (offset, slot) in part.iter().enumerate() {
                item(first + offset, slot);
            }
        });
    }
}

/// Length of the ranges that .NET cuts `n` items into for this number of CPUs.
pub(crate) fn range_size(n: usize, cpus: usize) -> usize {
    (n / (3 * cpus)).max(1)
}

/// Rayon's parallel iterator over indices.
pub(crate) fn rayon<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let slots = slots.as_slice();
        let indices = (0..n).into_par_iter();
        indices.for_each(|index| item(index, &slots[index]));
    }
}

/// A thread for each CPU, started in the call, with one contiguous chunk each.
pub(crate) fn threads<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let size = n.div_ceil(cpus()).max(1);
        thread::scope(|scope| {
            for (chunk, slots) in slots.chunks(size).enumerate() {
                scope.spawn(move || {
                    for (offset, slot) in slots.iter().enumerate() {
                        item(chunk * size + offset, slot);
                    }
                });
            }
        });
    }
}

/// LINQ: an iterator, its results collected into a new vector.
pub(crate) fn iter<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| *slots = (0..n).map(|index| made(item, index)).collect()
}

/// PLINQ, ordered: a parallel query, its results collected into a new vector.
pub(crate) fn query_ordered<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let indices = (0..n).into_par_query();
        *slots = indices.map(|index| made(item, index)).to_vec();
    }
}

/// PLINQ: the same, with the order given up.
pub(crate) fn query_unordered<const WORDS: usize>(item: impl Item<WORDS>) -> impl Body<WORDS> {
    move |n, slots: &mut Vec<Slot<WORDS>>| {
        let indices = (0..n).into_par_query().unordered();
        *slots = indices.map(|index| made(item, index)).to_vec();
    }
}

fn made<const WORDS: usize>(item: impl Item<WORDS>, index: usize) -> Slot<WORDS> {
    let slot = Slot::blank();
    item(index, &slot);
    slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_a_third_of_a_share_and_at_least_one() {
        assert_eq!(range_size(300, 2), 50);
        assert_eq!(range_size(300, 32), 3);
        assert_eq!(range_size(300, 64), 1);
        assert_eq!(range_size(300, 192), 1);
    }
}
