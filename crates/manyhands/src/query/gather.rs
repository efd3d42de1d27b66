//! Items of a pipeline in memory: as a vector in order, as its first few, or folded.
//!
//! Items whose positions are known are written in place to a vector of the right size. Others become a vector by
//! `parallel/ordered_collect.rs`. Ordered collections are made of a sorted vector; strings in one part for each run of
//! adjacent blocks on one runner, joined at the end.
//!
//! Not here: maps and sets (`tables.rs`), and the methods of a query (`terminal/collect.rs`).
//!
//! Unsafe: finishes a vector that was written in place.

use crate::engine::{Ending, Grouping};
use crate::parallel::map::Filling;
use crate::parallel::ordered_collect::OrderedCollect;
use crate::parallel::reduce::{Fold, Folding};
use crate::parallel::reduce_leaves::FoldingLeaves;
use crate::parallel::source::OwnedItems;
use crate::query::first_items::first_items;
use crate::query::run::CheckedBelow;
use crate::query::{Items, Pipeline, Positional, QueryRun};

/// All items in order; `None` if the query was cancelled.
pub(crate) fn into_vec<P: Pipeline, E: Ending>(
    mut pipeline: P,
    run: &QueryRun<'_, E>,
) -> Option<Vec<P::Item>> {
    if P::IS_GATHERED {
        return match pipeline.into_positions(u64::MAX, run).release().into_vec() {
            Ok(items) => (!run.is_cancelled()).then_some(items),
            Err(source) => in_place(Items::new(source, ""), run),
        };
    }
    if P::IS_POSITIONAL {
        return in_place(pipeline.into_positions(u64::MAX, run), run);
    }
    let mut collecting = OrderedCollect::new(pipeline.positions_left());
    pipeline.drive(u64::MAX, &mut collecting, run);
    drop(pipeline);
    (!run.is_cancelled()).then(|| collecting.into_vec())
}

/// As many of the first items, in memory, as are needed.
pub(crate) fn gather<P: Pipeline, E: Ending>(
    pipeline: P,
    most: u64,
    run: &QueryRun<'_, E>,
) -> Items<OwnedItems<P::Item>> {
    Items::of_vec(first_into_vec(pipeline, most, run))
}

/// As many of the first items as are needed.
pub(crate) fn first_into_vec<P: Pipeline, E: Ending>(
    pipeline: P,
    most: u64,
    run: &QueryRun<'_, E>,
) -> Vec<P::Item> {
    match usize::try_from(most) {
        Ok(most) if most < usize::MAX => first_items(pipeline, most, run),
        _ => into_vec(pipeline, run).unwrap_or_default(),
    }
}

/// All items, in order; `None` if the query was cancelled.
fn in_place<S: Positional, E: Ending>(
    mut items: Items<S>,
    run: &QueryRun<'_, E>,
) -> Option<Vec<S::Item>> {
    let len = len_in_memory(&items);
    let mut filling = Filling::new(len);
    items.drive(u64::MAX, &mut filling, run);
    drop(items);
    // SAFETY: it was driven over `len` positions, each once.
    (!run.is_cancelled()).then(|| unsafe { filling.take_vec(len) })
}

/// The length of a vector of all items.
pub(crate) fn len_in_memory<S: Positional>(items: &Items<S>) -> usize {
    usize::try_from(items.len()).expect("a vector of this length would not fit in memory")
}

/// Folds all items, in order; `None` if the query was cancelled, `Some(None)` if it is empty.
pub(crate) fn fold<P: Pipeline, F: Fold<P::Item>, E: Ending>(
    pipeline: &mut P,
    fold: &F,
    run: &QueryRun<'_, E>,
) -> Option<Option<F::Value>> {
    let watch = CheckedBelow(run.ending);
    match E::GROUPING {
        Grouping::Any => {
            let mut folding = Folding::new(fold, watch);
            pipeline.drive(u64::MAX, &mut folding, run);
            (!run.is_cancelled()).then(|| folding.into_value())
        }
        Grouping::Fixed => {
            let mut folding = FoldingLeaves::new(fold, watch);
            pipeline.drive(u64::MAX, &mut folding, run);
            (!run.is_cancelled()).then(|| folding.into_value())
        }
    }
}

/// Extends a collection by each block; the function adds a collection of later items.
pub(crate) struct IntoCollection<C>(pub(crate) fn(&mut C, C));

impl<T, C: Default + Extend<T> + Send> Fold<T> for IntoCollection<C> {
    type Value = C;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<C>, items: I) -> Option<C> {
        let mut value = value.unwrap_or_default();
        value.extend(items);
        Some(value)
    }

    fn combine(&self, mut left: C, right: C) -> C {
        (self.0)(&mut left, right);
        left
    }
}

/// A collection made in parts, to which `join` adds later ones; `None` if the query was cancelled.
pub(crate) fn joined<P: Pipeline, C: Default + Extend<P::Item> + Send, E: Ending>(
    mut pipeline: P,
    join: fn(&mut C, C),
    run: &QueryRun<'_, E>,
) -> Option<C> {
    let joined = fold(&mut pipeline, &IntoCollection(join), run);
    drop(pipeline);
    joined.map(Option::unwrap_or_default)
}

/// Adds later items.
pub(crate) fn append_vec<T>(to: &mut Vec<T>, mut later: Vec<T>) {
    if to.is_empty() {
        *to = later;
    } else {
        to.append(&mut later);
    }
}
