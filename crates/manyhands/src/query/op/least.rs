//! The first few items of a sort, without sorting the others: what `take` asks of an `order_by`.
//!
//! Each runner keeps as many candidates as are wanted, and some more; when these have become twice as many,
//! the later half is dropped, and from then on whatever comes after the last candidate is dropped at once.

use crate::parallel::consumer::Consumer;
use crate::query::op::order_by::Sorting;
use crate::query::pipeline::Pipeline;
use crate::query::run::{Control, Run};
use crate::sync::{Mutex, into_inner, lock};
use std::cmp::Ordering;
use std::ops::Range;

/// The first `most` items of a pipeline as `sorting` has them, in that order, with their keys. Of equal items
/// the first ones come first.
pub(super) fn least<P: Pipeline, S: Sorting<P::Item>, E: Control>(
    mut pipeline: P,
    sorting: &S,
    most: usize,
    run: &Run<'_, E>,
) -> Vec<(S::Key, P::Item)> {
    let least = Least {
        sorting,
        most,
        candidates: Mutex::new(Vec::new()),
    };
    pipeline.drive(u64::MAX, &least, run);
    let mut candidates = into_inner(least.candidates);
    trim(&mut candidates, most, sorting);
    // Places settle ties, so that an unstable sort will do.
    run.options()
        .sort_unstable_by(&mut candidates, |left, right| left.compare(right, sorting));
    let found = candidates.into_iter();
    found.map(|found| (found.key, found.item)).collect()
}

struct Least<'a, T, S: Sorting<T>> {
    sorting: &'a S,
    most: usize,
    /// Of runners that have finished.
    candidates: Mutex<Vec<Candidate<S::Key, T>>>,
}

struct Candidate<K, T> {
    key: K,
    /// In the query's order: where the block begins, and which of its items this is.
    place: (u64, usize),
    item: T,
}

impl<K, T> Candidate<K, T> {
    /// Which comes first; never equal.
    #[inline]
    fn compare<S: Sorting<T, Key = K>>(&self, other: &Self, sorting: &S) -> Ordering {
        let by_key = sorting.compare((&self.key, &self.item), (&other.key, &other.item));
        by_key.then(self.place.cmp(&other.place))
    }
}

/// Drops all but the first `most`; the last of these is then in its place.
fn trim<T, S: Sorting<T>>(candidates: &mut Vec<Candidate<S::Key, T>>, most: usize, sorting: &S) {
    if candidates.len() > most && most > 0 {
        candidates.select_nth_unstable_by(most - 1, |left, right| left.compare(right, sorting));
    }
    candidates.truncate(most);
}

/// What a runner has found.
struct Found<K, T> {
    candidates: Vec<Candidate<K, T>>,
    /// Whether all were trimmed once: then what comes after the one in the last place is not wanted.
    is_bounded: bool,
}

impl<T: Send, S: Sorting<T>> Consumer<T> for Least<'_, T, S> {
    type Runner = Found<S::Key, T>;

    fn start(&self) -> Self::Runner {
        Found {
            candidates: Vec::new(),
            is_bounded: false,
        }
    }

    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let most_kept = self.most.saturating_mul(2).max(CANDIDATES_MIN);
        for (number, item) in items.enumerate() {
            let candidate = Candidate {
                key: self.sorting.key(&item),
                place: (positions.start, number),
                item,
            };
            let last = runner.candidates.get(self.most - 1);
            let is_late = |last| candidate.compare(last, self.sorting).is_gt();
            if runner.is_bounded && last.is_some_and(is_late) {
                continue;
            }
            runner.candidates.push(candidate);
            if runner.candidates.len() == most_kept {
                trim(&mut runner.candidates, self.most, self.sorting);
                runner.is_bounded = true;
            }
        }
    }

    fn finish(&self, mut runner: Self::Runner) {
        trim(&mut runner.candidates, self.most, self.sorting);
        lock(&self.candidates).append(&mut runner.candidates);
    }

    fn end(&self) -> u64 {
        if self.most == 0 { 0 } else { u64::MAX }
    }
}

/// So that looking for the last candidate is spread over some items, however few are wanted.
const CANDIDATES_MIN: usize = 64;
