//! The first few items of a sort, without sorting the others: for `take` behind an `order_by`.
//!
//! Each runner keeps as many candidates as are wanted, and some more, in the query's order. When it has twice as many,
//! it drops the later half, and from then on it drops at once each item that does not come before the last candidate.

use crate::engine::Ending;
use crate::parallel::reduce::Fold;
use crate::query::gather::fold;
use crate::query::op::order_by::Sorting;
use crate::query::{Pipeline, QueryRun};
use std::cmp::Ordering;

/// The first `most` items of a pipeline in the order of `sorting`, with their keys. Of equal items the first ones come
/// first.
pub(super) fn least<P: Pipeline, S: Sorting<P::Item>, E: Ending>(
    mut pipeline: P,
    sorting: &S,
    most: usize,
    run: &QueryRun<'_, E>,
) -> Vec<(S::Key, P::Item)> {
    if most == 0 {
        return Vec::new();
    }
    let found = fold(&mut pipeline, &Least { sorting, most }, run);
    drop(pipeline);
    let found = found.flatten();
    let mut candidates = found.map_or_else(Vec::new, |found| found.candidates);
    run.options()
        .sort_by(&mut candidates, |left, right| compare(sorting, left, right));
    candidates.truncate(most);
    candidates
}

fn compare<T, S: Sorting<T>>(sorting: &S, left: &(S::Key, T), right: &(S::Key, T)) -> Ordering {
    sorting.compare((&left.0, &left.1), (&right.0, &right.1))
}

struct Least<'a, S> {
    sorting: &'a S,
    most: usize,
}

/// The remaining items of a run.
struct Found<K, T> {
    /// In the query's order.
    candidates: Vec<(K, T)>,
    /// The last candidate, once there are as many as are wanted: an item that does not come before it is not wanted.
    last: Option<usize>,
}

impl<T: Send, S: Sorting<T>> Fold<T> for Least<'_, S> {
    type Value = Found<S::Key, T>;

    #[inline]
    fn fold<I: Iterator<Item = T>>(
        &self,
        value: Option<Self::Value>,
        items: I,
    ) -> Option<Self::Value> {
        let mut found = value.unwrap_or_else(|| Found {
            candidates: Vec::new(),
            last: None,
        });
        if found.last.is_none() {
            let room = self.most_kept().saturating_sub(found.candidates.len());
            found.candidates.reserve(items.size_hint().0.min(room));
        }
        let candidates = items.map(|item| (self.sorting.key(&item), item));
        self.offer_all(&mut found, candidates);
        Some(found)
    }

    fn combine(&self, mut left: Self::Value, right: Self::Value) -> Self::Value {
        self.offer_all(&mut left, right.candidates.into_iter());
        left
    }
}

impl<S> Least<'_, S> {
    /// This number of candidates is trimmed.
    fn most_kept(&self) -> usize {
        self.most.saturating_mul(2).max(CANDIDATES_MIN)
    }

    /// Keeps those items that may be wanted. They come after all other candidates in the query's order.
    #[inline]
    fn offer_all<T>(
        &self,
        found: &mut Found<S::Key, T>,
        mut candidates: impl Iterator<Item = (S::Key, T)>,
    ) where
        S: Sorting<T>,
    {
        loop {
            let next = match found.last {
                // A search for each, so that the last candidate stays where it is meanwhile.
                Some(last) => {
                    let last = &found.candidates[last];
                    candidates.find(|candidate| compare(self.sorting, candidate, last).is_lt())
                }
                None => candidates.next(),
            };
            let Some(candidate) = next else {
                return;
            };
            found.candidates.push(candidate);
            if found.candidates.len() >= self.most_kept() {
                self.trim(found);
            }
        }
    }

    /// Drops all but the first `most`.
    #[cold]
    fn trim<T>(&self, found: &mut Found<S::Key, T>)
    where
        S: Sorting<T>,
    {
        let candidates = &mut found.candidates;
        let mut places: Vec<usize> = (0..candidates.len()).collect();
        let (first, &mut last, _) =
            places.select_nth_unstable_by(self.most - 1, |&left, &right| {
                let by_key = compare(self.sorting, &candidates[left], &candidates[right]);
                by_key.then(left.cmp(&right))
            });
        let mut is_kept = vec![false; candidates.len()];
        is_kept[last] = true;
        for place in first {
            is_kept[*place] = true;
        }
        found.last = Some(is_kept[..last].iter().filter(|is_kept| **is_kept).count());
        let mut is_kept = is_kept.into_iter();
        candidates.retain(|_| is_kept.next().unwrap_or_default());
    }
}

/// So that the cost of determining the last candidate is spread over some items, however few are wanted.
const CANDIDATES_MIN: usize = 64;
