//! The parallel methods of slices: parts as queries; sorts and scans in place.
//!
//! Not here: how those are done (`parallel/sort/`, `parallel/scan.rs`).

use crate::parallel::Options;
use crate::query::source::chunks::{Chunks, ChunksMut, Windows};
use crate::query::{Items, Query};
use std::cmp::Ordering;

/// The methods of slices that have a parallel form, under the standard library's names with `par_` before them. They are
/// those of vectors and arrays, too. To limit or cancel a sort or a scan, call it on [`Options`].
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// let mut words = ["light", "many", "hands", "work"];
/// words.par_sort();
/// assert_eq!(words, ["hands", "light", "many", "work"]);
/// words.par_sort_by(|a, b| b.cmp(a));
/// assert_eq!(words, ["work", "many", "light", "hands"]);
/// words.par_sort_by_key(|word| word.len() != 5); // words of equal length stay in order
/// assert_eq!(words, ["light", "hands", "work", "many"]);
/// words.par_sort_by_cached_key(|word| word.chars().rev().collect::<String>());
/// assert_eq!(words, ["work", "hands", "light", "many"]);
///
/// let mut numbers = vec![5, 1, 4, 2, 3];
/// numbers.par_sort_unstable_by_key(|n| 10 - n);
/// assert_eq!(numbers, [5, 4, 3, 2, 1]);
/// numbers.par_sort_unstable();
/// assert_eq!(numbers, [1, 2, 3, 4, 5]);
/// numbers.par_sort_unstable_by(|a, b| b.cmp(a));
/// assert_eq!(numbers, [5, 4, 3, 2, 1]);
/// numbers.par_inclusive_scan(|a, b| a + b);
/// assert_eq!(numbers, [5, 9, 12, 14, 15]);
/// assert_eq!(numbers.par_exclusive_scan(0, |a, b| a + b), 55);
/// assert_eq!(numbers, [0, 5, 14, 26, 40]);
/// ```
#[doc(alias("ParallelSlice", "ParallelSliceMut", "par_chunks_exact"))]
pub trait ParSlice<T> {
    /// The slice.
    #[doc(hidden)]
    fn slice(&self) -> &[T];

    /// The slice.
    #[doc(hidden)]
    fn slice_mut(&mut self) -> &mut [T];

    /// The parts of `size` items, from the beginning on, by position; the last one may be shorter. As [`slice::chunks`].
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let sums = [1, 2, 3, 4, 5].par_chunks(2).map(|part| part.iter().sum::<i32>()).to_vec();
    /// assert_eq!(sums, [3, 7, 5]);
    /// ```
    fn par_chunks(&self, size: usize) -> Query<'static, Items<Chunks<'_, T>>>
    where
        T: Sync,
    {
        Query::new(Items::new(Chunks::new(self.slice(), size), "chunks"))
    }

    /// As [`par_chunks`](Self::par_chunks), mutable.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// # Examples
    /// Each row of a picture by its own body, beside the row that it is made of:
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (width, source) = (3, [1_u8, 2, 3, 4, 5, 6]);
    /// let mut picture = [0; 6];
    /// picture
    ///     .par_chunks_mut(width)
    ///     .zip(source.par_chunks(width))
    ///     .for_each(|(to, from)| to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from));
    /// assert_eq!(picture, [3, 2, 1, 6, 5, 4]);
    /// ```
    fn par_chunks_mut(&mut self, size: usize) -> Query<'static, Items<ChunksMut<'_, T>>>
    where
        T: Send,
    {
        Query::new(Items::new(ChunksMut::new(self.slice_mut(), size), "chunks"))
    }

    /// All parts of `size` items that lie one after another, each one item after the one before. None if the slice is
    /// shorter. As [`slice::windows`].
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let climbs = [1, 4, 2, 2, 5].par_windows(2).filter(|pair| pair[0] < pair[1]).count();
    /// assert_eq!(climbs, 2);
    /// ```
    fn par_windows(&self, size: usize) -> Query<'static, Items<Windows<'_, T>>>
    where
        T: Sync,
    {
        Query::new(Items::new(Windows::new(self.slice(), size), "windows"))
    }

    /// Sorts; equal items keep their order. See [`Options::sort`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort(&mut self)
    where
        T: Ord + Send,
    {
        Options::new().sort(self.slice_mut());
    }

    /// Sorts by a comparison; equal items keep their order. See [`Options::sort_by`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync)
    where
        T: Send,
    {
        Options::new().sort_by(self.slice_mut(), compare);
    }

    /// Sorts by a key, computed for each comparison; equal items keep their order. See [`Options::sort_by_key`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        Options::new().sort_by_key(self.slice_mut(), key);
    }

    /// Sorts by a key, computed once for each item; equal items keep their order. See [`Options::sort_by_cached_key`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_by_cached_key<K: Ord + Send>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        Options::new().sort_by_cached_key(self.slice_mut(), key);
    }

    /// Sorts in place; equal items may change their order. See [`Options::sort_unstable`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_unstable(&mut self)
    where
        T: Ord + Send,
    {
        Options::new().sort_unstable(self.slice_mut());
    }

    /// Sorts in place by a comparison; equal items may change their order. See [`Options::sort_unstable_by`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_unstable_by(&mut self, compare: impl Fn(&T, &T) -> Ordering + Sync)
    where
        T: Send,
    {
        Options::new().sort_unstable_by(self.slice_mut(), compare);
    }

    /// Sorts in place by a key; equal items may change their order. See [`Options::sort_unstable_by_key`].
    ///
    /// Example: see [`ParSlice`].
    #[track_caller]
    fn par_sort_unstable_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K + Sync)
    where
        T: Send,
    {
        Options::new().sort_unstable_by_key(self.slice_mut(), key);
    }

    /// Replaces each item by the sum of all up to it, the item included, where `add` says what a sum is. See
    /// [`Options::inclusive_scan`].
    ///
    /// Example: see [`ParSlice`].
    #[doc(alias("prefix_sum", "cumsum"))]
    #[track_caller]
    fn par_inclusive_scan(&mut self, add: impl Fn(&T, &T) -> T + Sync)
    where
        T: Clone + Send,
    {
        Options::new().inclusive_scan(self.slice_mut(), add);
    }

    /// Replaces each item by the sum of `first` and all items before it; returns the sum of all. See
    /// [`Options::exclusive_scan`].
    ///
    /// Example: see [`ParSlice`].
    #[doc(alias = "prefix_sum")]
    #[track_caller]
    fn par_exclusive_scan(&mut self, first: T, add: impl Fn(&T, &T) -> T + Sync) -> T
    where
        T: Clone + Send,
    {
        Options::new().exclusive_scan(self.slice_mut(), first, add)
    }
}

impl<T> ParSlice<T> for [T] {
    fn slice(&self) -> &[T] {
        self
    }

    fn slice_mut(&mut self) -> &mut [T] {
        self
    }
}
