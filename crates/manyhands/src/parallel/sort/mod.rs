//! Sorting slices.
//!
//! The standard library sorts short slices and those that look sorted. What counts as short depends on the cost of a
//! comparison and of a wake. A comparison that panics leaves the slice in some order, with every item in it.

mod estimate;
mod merge;
mod part;
mod stable;
mod unstable;

pub(super) use estimate::workers;

use crate::engine::Ending;
use crate::parallel::source::to_usize;
use crate::parallel::{Options, map};
use std::cmp::Ordering;

/// A cancelled sort leaves the slice in some order, with every item in it.
impl<E: Ending> Options<'_, E> {
    /// Sorts a slice; equal items keep their order. Without options: [`par_sort`](crate::query::ParSlice::par_sort).
    ///
    /// # Cost
    /// O(n log n) comparisons. When it is shared, memory for a second slice of the same length.
    ///
    /// # Panics
    /// If a comparison does; the slice is then in some order, with every item in it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::Options::new().degree_of_parallelism(2)?;
    /// let mut words = ["many", "hands", "make", "light", "work"];
    /// options.sort(&mut words);
    /// assert_eq!(words, ["hands", "light", "make", "many", "work"]);
    /// options.sort_by(&mut words, |a, b| b.cmp(a));
    /// assert_eq!(words, ["work", "many", "make", "light", "hands"]);
    /// options.sort_by_key(&mut words, |word| word.len() != 5); // words of equal length stay in order
    /// assert_eq!(words, ["light", "hands", "work", "many", "make"]);
    /// options.sort_by_cached_key(&mut words, |word| word.chars().rev().collect::<String>());
    /// assert_eq!(words, ["make", "work", "hands", "light", "many"]);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) -> E::Output<()> {
        self.sort_by(items, T::cmp)
    }

    /// As [`sort`](Self::sort), by a comparison.
    ///
    /// # Panics
    /// If the comparison does, or, as the standard library may, if it is no total order.
    ///
    /// Example: see [`Options::sort`].
    #[track_caller]
    pub fn sort_by<T: Send>(
        &self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> E::Output<()> {
        let _entered = self.runtime.map(|runtime| runtime.enter());
        if self.ending.cancelled().is_none() {
            stable::sort(items, &compare, &self.called_here());
        }
        self.ending.conclude(Some(()))
    }

    /// As [`sort`](Self::sort), by a key, computed for each comparison.
    ///
    /// # Panics
    /// If `key` or a comparison does.
    ///
    /// Example: see [`Options::sort`].
    #[track_caller]
    pub fn sort_by_key<T: Send, K: Ord>(
        &self,
        items: &mut [T],
        key: impl Fn(&T) -> K + Sync,
    ) -> E::Output<()> {
        self.sort_by(items, |a, b| key(a).cmp(&key(b)))
    }

    /// As [`sort`](Self::sort), by a key, computed once for each item.
    ///
    /// # Cost
    /// As [`sort`](Self::sort), and memory for the keys.
    ///
    /// # Panics
    /// If `key` or a comparison does; the slice is then unchanged.
    ///
    /// Example: see [`Options::sort`].
    #[track_caller]
    pub fn sort_by_cached_key<T: Send, K: Ord + Send>(
        &self,
        items: &mut [T],
        key: impl Fn(&T) -> K + Sync,
    ) -> E::Output<()> {
        let stateless = self.local(|| (), |()| ());
        let keyed = |position, item: &mut T, (): &mut ()| Some((key(item), to_usize(position)));
        let keys = map::collect(&mut *items, &stateless, self.ending, keyed);
        let Some(mut keys) = keys else {
            return self.ending.conclude(None);
        };
        // The number breaks ties, so that an unstable sort suffices.
        self.sort_unstable(&mut keys);
        if self.ending.cancelled().is_none() {
            permute(items, keys.into_iter().map(|(_, from)| from).collect());
        }
        self.ending.conclude(Some(()))
    }

    /// Sorts a slice in place; equal items may change their order. Without options:
    /// [`par_sort_unstable`](crate::query::ParSlice::par_sort_unstable).
    ///
    /// # Cost
    /// O(n log n) comparisons, almost no memory.
    ///
    /// # Panics
    /// If a comparison does; the slice is then in some order, with every item in it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::Options::new().degree_of_parallelism(2)?;
    /// let mut numbers = [30, 12, 21];
    /// options.sort_unstable(&mut numbers);
    /// assert_eq!(numbers, [12, 21, 30]);
    /// options.sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
    /// assert_eq!(numbers, [30, 21, 12]);
    /// options.sort_unstable_by_key(&mut numbers, |n| n % 10);
    /// assert_eq!(numbers, [30, 21, 12]);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn sort_unstable<T: Ord + Send>(&self, items: &mut [T]) -> E::Output<()> {
        self.sort_unstable_by(items, T::cmp)
    }

    /// As [`sort_unstable`](Self::sort_unstable), by a comparison.
    ///
    /// # Panics
    /// If the comparison does, or, as the standard library may, if it is no total order.
    ///
    /// Example: see [`Options::sort_unstable`].
    #[track_caller]
    pub fn sort_unstable_by<T: Send>(
        &self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> E::Output<()> {
        let _entered = self.runtime.map(|runtime| runtime.enter());
        if self.ending.cancelled().is_none() {
            unstable::sort(items, &compare, &self.called_here());
        }
        self.ending.conclude(Some(()))
    }

    /// As [`sort_unstable`](Self::sort_unstable), by a key, computed for each comparison.
    ///
    /// # Panics
    /// If `key` or a comparison does.
    ///
    /// Example: see [`Options::sort_unstable`].
    #[track_caller]
    pub fn sort_unstable_by_key<T: Send, K: Ord>(
        &self,
        items: &mut [T],
        key: impl Fn(&T) -> K + Sync,
    ) -> E::Output<()> {
        self.sort_unstable_by(items, |a, b| key(a).cmp(&key(b)))
    }
}

/// Moves to each index the item that was at the index that `from` gives.
fn permute<T>(items: &mut [T], mut from: Vec<usize>) {
    for place in 0..items.len() {
        let mut source = from[place];
        // The item that was here before has been swapped further.
        while source < place {
            source = from[source];
        }
        from[place] = source;
        items.swap(place, source);
    }
}
