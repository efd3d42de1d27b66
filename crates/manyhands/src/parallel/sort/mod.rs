//! Sorting slices, and selecting an item by its rank.
//!
//! The standard library sorts short slices and those that look sorted. What counts as short depends on the cost of a
//! comparison and of a wake. A comparison that panics leaves the slice in some order, with every item in it.

mod estimate;
mod merge;
mod part;
mod select;
mod stable;
mod unstable;

pub(super) use estimate::workers;

use crate::engine::consumer::Ending;
use crate::parallel::map;
use crate::parallel::options::{Options, options};
use crate::parallel::source::to_usize;
use std::cmp::Ordering;

/// The result of [`select_nth_unstable`]: smaller items, the item of the given rank, larger ones.
///
/// Example: see [`select_nth_unstable`].
pub type Selected<'a, T> = (&'a mut [T], &'a mut T, &'a mut [T]);

/// Sorts a slice; equal items keep their order.
///
/// # Cost
/// O(n log n) comparisons. When it is shared, memory for a second slice of the same length.
///
/// # Panics
/// If a comparison does; the slice is then in some order, with every item in it.
///
/// # Examples
/// ```
/// let mut words = ["many", "hands", "light", "work"];
/// manyhands::parallel::sort(&mut words);
/// assert_eq!(words, ["hands", "light", "many", "work"]);
/// ```
#[doc(alias = "par_sort")]
#[track_caller]
pub fn sort<T: Ord + Send>(items: &mut [T]) {
    options().sort(items);
}

/// Sorts a slice by a comparison; equal items keep their order. See [`sort`].
///
/// # Panics
/// If the comparison does, or, as the standard library may, if it is no total order.
///
/// # Examples
/// ```
/// let mut halves = [0.5, 2.5, 1.5];
/// manyhands::parallel::sort_by(&mut halves, |a: &f64, b| b.total_cmp(a));
/// assert_eq!(halves, [2.5, 1.5, 0.5]);
/// ```
#[doc(alias = "par_sort_by")]
#[track_caller]
pub fn sort_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    options().sort_by(items, compare);
}

/// Sorts a slice by a key, computed for each comparison; equal items keep their order. See [`sort`].
///
/// # Panics
/// If `key` or a comparison does.
///
/// # Examples
/// ```
/// let mut words = ["light", "many", "hands", "work"];
/// manyhands::parallel::sort_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["many", "work", "light", "hands"]);
/// ```
#[doc(alias = "par_sort_by_key")]
#[track_caller]
pub fn sort_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    options().sort_by_key(items, key);
}

/// Sorts a slice by a key, computed once for each item; equal items keep their order.
///
/// # Cost
/// As [`sort`], and memory for the keys.
///
/// # Panics
/// If `key` or a comparison does; the slice is then unchanged.
///
/// # Examples
/// ```
/// let mut numbers = [10, 9, 100];
/// manyhands::parallel::sort_by_cached_key(&mut numbers, |number| number.to_string());
/// assert_eq!(numbers, [10, 100, 9]);
/// ```
#[doc(alias = "par_sort_by_cached_key")]
#[track_caller]
pub fn sort_by_cached_key<T: Send, K: Ord + Send>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    options().sort_by_cached_key(items, key);
}

/// Sorts a slice in place; equal items may change their order.
///
/// # Cost
/// O(n log n) comparisons, almost no memory.
///
/// # Panics
/// If a comparison does; the slice is then in some order, with every item in it.
///
/// # Examples
/// ```
/// let mut numbers: Vec<u64> = (0..100_000).map(|i| i * 7_919 % 100_003).collect();
/// manyhands::parallel::sort_unstable(&mut numbers);
/// assert!(numbers.is_sorted());
/// ```
#[doc(alias = "par_sort_unstable")]
#[track_caller]
pub fn sort_unstable<T: Ord + Send>(items: &mut [T]) {
    options().sort_unstable(items);
}

/// Sorts a slice in place by a comparison; equal items may change their order. See [`sort_unstable`].
///
/// # Panics
/// If the comparison does, or, as the standard library may, if it is no total order.
///
/// # Examples
/// ```
/// let mut numbers = [3, 1, 2];
/// manyhands::parallel::sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
/// assert_eq!(numbers, [3, 2, 1]);
/// ```
#[doc(alias = "par_sort_unstable_by")]
#[track_caller]
pub fn sort_unstable_by<T: Send>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
    options().sort_unstable_by(items, compare);
}

/// Sorts a slice in place by a key, computed for each comparison; equal items may change their order. See
/// [`sort_unstable`].
///
/// # Panics
/// If `key` or a comparison does.
///
/// # Examples
/// ```
/// use std::cmp::Reverse;
/// let mut numbers = [3, 1, 2];
/// manyhands::parallel::sort_unstable_by_key(&mut numbers, |&n| Reverse(n));
/// assert_eq!(numbers, [3, 2, 1]);
/// ```
#[doc(alias = "par_sort_unstable_by_key")]
#[track_caller]
pub fn sort_unstable_by_key<T: Send, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K + Sync) {
    options().sort_unstable_by_key(items, key);
}

/// Moves the item of rank `index` to that index, none larger before it and none smaller after it.
///
/// # Cost
/// O(n) comparisons, almost no memory.
///
/// # Panics
/// If `index` is not below the length, or if a comparison does.
///
/// # Examples
/// ```
/// let mut numbers = [5, 1, 4, 2, 3];
/// let (_, median, _) = manyhands::parallel::select_nth_unstable(&mut numbers, 2);
/// assert_eq!(*median, 3);
/// ```
#[doc(alias = "nth_element")]
#[doc(alias = "median")]
#[track_caller]
pub fn select_nth_unstable<T: Ord + Send + Sync>(items: &mut [T], index: usize) -> Selected<'_, T> {
    options().select_nth_unstable(items, index)
}

/// As [`select_nth_unstable`], by a comparison.
///
/// # Panics
/// If `index` is not below the length, or if the comparison does.
///
/// # Examples
/// ```
/// let mut numbers = [5, 3, 1, 4, 2];
/// let (_, second_largest, _) = manyhands::parallel::select_nth_unstable_by(&mut numbers, 1, |a, b| b.cmp(a));
/// assert_eq!(*second_largest, 4);
/// ```
#[track_caller]
pub fn select_nth_unstable_by<T: Send + Sync>(
    items: &mut [T],
    index: usize,
    compare: impl Fn(&T, &T) -> Ordering + Sync,
) -> Selected<'_, T> {
    options().select_nth_unstable_by(items, index, compare)
}

/// A cancelled sort leaves the slice in some order, with every item in it.
impl<E: Ending> Options<'_, E> {
    /// As [`sort`], with these options.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::options().degree_of_parallelism(2)?;
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

    /// As [`sort_by`], with these options.
    ///
    /// Example: see [`Options::sort`].
    #[track_caller]
    pub fn sort_by<T: Send>(
        &self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> E::Output<()> {
        let _entered = self.chosen_runtime().map(|runtime| runtime.enter());
        stable::sort(items, &compare, &self.called_here());
        self.ending().conclude(Some(()))
    }

    /// As [`sort_by_key`], with these options.
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

    /// As [`sort_by_cached_key`], with these options.
    ///
    /// Example: see [`Options::sort`].
    #[track_caller]
    pub fn sort_by_cached_key<T: Send, K: Ord + Send>(
        &self,
        items: &mut [T],
        key: impl Fn(&T) -> K + Sync,
    ) -> E::Output<()> {
        let keys = map::collect(&mut *items, self, self.ending(), |position, item| {
            Some((key(item), to_usize(position)))
        });
        let Some(mut keys) = keys else {
            return self.ending().conclude(None);
        };
        // The number breaks ties, so that an unstable sort suffices.
        self.sort_unstable(&mut keys);
        if self.ending().cancelled().is_none() {
            permute(items, keys.into_iter().map(|(_, from)| from).collect());
        }
        self.ending().conclude(Some(()))
    }

    /// As [`sort_unstable`], with these options.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::options().degree_of_parallelism(2)?;
    /// let mut numbers = [30, 12, 21];
    /// options.sort_unstable(&mut numbers);
    /// assert_eq!(numbers, [12, 21, 30]);
    /// options.sort_unstable_by(&mut numbers, |a, b| b.cmp(a));
    /// assert_eq!(numbers, [30, 21, 12]);
    /// options.sort_unstable_by_key(&mut numbers, |n| n % 10);
    /// assert_eq!(numbers, [30, 21, 12]);
    /// assert_eq!(*options.select_nth_unstable(&mut numbers, 1).1, 21);
    /// assert_eq!(*options.select_nth_unstable_by(&mut numbers, 0, |a, b| b.cmp(a)).1, 30);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn sort_unstable<T: Ord + Send>(&self, items: &mut [T]) -> E::Output<()> {
        self.sort_unstable_by(items, T::cmp)
    }

    /// As [`sort_unstable_by`], with these options.
    ///
    /// Example: see [`Options::sort_unstable`].
    #[track_caller]
    pub fn sort_unstable_by<T: Send>(
        &self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> E::Output<()> {
        let _entered = self.chosen_runtime().map(|runtime| runtime.enter());
        unstable::sort(items, &compare, &self.called_here());
        self.ending().conclude(Some(()))
    }

    /// As [`sort_unstable_by_key`], with these options.
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

    /// As [`select_nth_unstable`], with these options.
    ///
    /// Example: see [`Options::sort_unstable`].
    ///
    /// # Panics
    /// If `index` is not below the length, or if a comparison does.
    #[track_caller]
    pub fn select_nth_unstable<'s, T: Ord + Send + Sync>(
        &self,
        items: &'s mut [T],
        index: usize,
    ) -> E::Output<Selected<'s, T>> {
        self.select_nth_unstable_by(items, index, T::cmp)
    }

    /// As [`select_nth_unstable_by`], with these options.
    ///
    /// Example: see [`Options::sort_unstable`].
    ///
    /// # Panics
    /// If `index` is not below the length, or if the comparison does.
    #[track_caller]
    pub fn select_nth_unstable_by<'s, T: Send + Sync>(
        &self,
        items: &'s mut [T],
        index: usize,
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> E::Output<Selected<'s, T>> {
        let len = items.len();
        assert!(
            index < len,
            "index out of bounds: the len is {len} but the index is {index}"
        );
        let _entered = self.chosen_runtime().map(|runtime| runtime.enter());
        select::select(items, index, &compare, &self.called_here());
        let (smaller, rest) = items.split_at_mut(index);
        let selected = rest
            .split_first_mut()
            .map(|(nth, larger)| (smaller, nth, larger));
        self.ending().conclude(selected)
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
