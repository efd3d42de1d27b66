//! Prefix sums in the chain, with any associative operation: `inclusive_scan`, `exclusive_scan`.
//!
//! The items are gathered, and scanned in place (`parallel/scan.rs`).

use crate::engine::Ending;
use crate::parallel::source::OwnedItems;
use crate::query::gather::first_into_vec;
use crate::query::{Breaker, Items, Materialized, Ordered, Pipeline, Query, QueryRun};

/// See [`Query::inclusive_scan`] and [`Query::exclusive_scan`].
#[derive(Debug)]
pub struct Scan<P, T, F> {
    base: P,
    /// The initial sum, where an item is not part of its own.
    first: Option<T>,
    add: F,
}

impl<P, F> Breaker for Scan<P, P::Item, F>
where
    P: Pipeline<Item: Clone>,
    F: Fn(&P::Item, &P::Item) -> P::Item + Send + Sync,
{
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let mut items = first_into_vec(self.base, most, run);
        let options = run.options();
        match self.first {
            None => drop(options.inclusive_scan(&mut items, self.add)),
            Some(first) => drop(options.exclusive_scan(&mut items, first, self.add)),
        }
        Items::of_vec(items)
    }

    fn explain(&self) -> [String; 2] {
        let name = match self.first {
            None => "inclusive_scan",
            Some(_) => "exclusive_scan",
        };
        [self.base.explain(), name.into()]
    }
}

impl<'a, P: Pipeline<Item: Clone>, E: Ending> Query<'a, P, Ordered, E> {
    /// For each item the sum of all up to it, the item included, where `add` says what a sum is.
    ///
    /// `add` must be associative; see [`parallel::Options::inclusive_scan`](crate::parallel::Options::inclusive_scan).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let sums = [1, 2, 3, 4].into_par_query().inclusive_scan(|a, b| a + b);
    /// assert_eq!(sums.to_vec(), [1, 3, 6, 10]);
    /// ```
    #[doc(alias("prefix_sum", "cumsum"))]
    pub fn inclusive_scan<F: Fn(&P::Item, &P::Item) -> P::Item + Send + Sync>(
        self,
        add: F,
    ) -> Query<'a, Materialized<Scan<P, P::Item, F>>, Ordered, E> {
        let first = None;
        self.breaking(|base| Scan { base, first, add })
    }

    /// For each item the sum of `first` and all items before it. See
    /// [`inclusive_scan`](Self::inclusive_scan).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "light"];
    /// let starts = words.par_query().map(|word| word.len()).exclusive_scan(0, |a, b| a + b);
    /// assert_eq!(starts.to_vec(), [0, 4, 9]);
    /// ```
    #[doc(alias = "prefix_sum")]
    pub fn exclusive_scan<F: Fn(&P::Item, &P::Item) -> P::Item + Send + Sync>(
        self,
        first: P::Item,
        add: F,
    ) -> Query<'a, Materialized<Scan<P, P::Item, F>>, Ordered, E> {
        let first = Some(first);
        self.breaking(|base| Scan { base, first, add })
    }
}
