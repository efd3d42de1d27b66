//! Queries as collections: in a vector, or two of them, a map, a set, a string, or written to a slice.
//!
//! Not here: how items come to be in memory (`gather.rs`), and which collections there are (`from_query.rs`).

use crate::engine::Ending;
use crate::parallel::for_each::ForEach;
use crate::query::op::zip::Zip;
use crate::query::two_vectors::{divided, unzipped};
use crate::query::{Breaker, FromQuery, Order, ParQueryMut, Pipeline, Query};

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// All items in a collection: a vector, a string, a map, a set; or in one of these within a `Result` or
    /// an `Option`, with the first failure instead if there is one.
    ///
    /// Of equal items and keys the same remain as with iterators: in a map the last value.
    ///
    /// # Cost
    /// Vectors are written in place where positions are known. Ordered collections are built of all items, once these
    /// are sorted. Maps and sets by hash are made by the caller once all items are there; where keys repeat often, in parts, as
    /// strings are: one for each run of adjacent blocks on one runner, merged by the caller.
    ///
    /// # Panics
    /// If operators do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// use std::collections::HashMap;
    ///
    /// let lengths: HashMap<_, _> = ["a", "bc"].into_par_query().map(|word| (word, word.len())).collect();
    /// assert_eq!(lengths["bc"], 2);
    /// let numbers: Result<Vec<i32>, _> = ["1", "x"].into_par_query().map(str::parse).collect();
    /// assert!(numbers.is_err());
    /// ```
    #[doc(alias("par_extend", "ParallelExtend", "ToDictionary", "ToHashSet"))]
    #[track_caller]
    pub fn collect<C: FromQuery<P::Item>>(self) -> E::Output<C> {
        let (pipeline, run) = self.into_run();
        let collection = C::from_pipeline(pipeline, &run);
        run.ending.conclude(collection)
    }

    /// All items in a vector.
    ///
    /// # Panics
    /// If operators do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..4).into_par_query().map(|n| n * n).to_vec(), [0, 1, 4, 9]);
    /// ```
    #[doc(alias("ToList", "ToArray"))]
    #[track_caller]
    pub fn to_vec(self) -> E::Output<Vec<P::Item>> {
        self.collect()
    }

    /// Writes the items to the entries of a slice, which drops the old ones.
    ///
    /// # Panics
    /// If the slice does not have exactly as many entries as there are items, before it is written to; if operators
    /// do.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let mut squares = [0; 4];
    /// (0..4).into_par_query().map(|n| n * n).collect_into(&mut squares);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    #[doc(alias = "collect_into_vec")]
    #[track_caller]
    pub fn collect_into(self, places: &mut [P::Item]) -> E::Output<()> {
        let (pipeline, run) = self.into_run();
        let items = pipeline.into_positions(u64::MAX, &run);
        if !run.is_cancelled() {
            assert_eq!(
                items.len(),
                places.len() as u64,
                "`collect_into` needs a slice as long as the query has items"
            );
        }
        let places = places.par_query_mut().pipeline;
        let write = |(item, place): (P::Item, &mut P::Item)| *place = item;
        let mut pairs = Zip(items, places).open(u64::MAX, &run);
        pairs.drive(u64::MAX, &mut ForEach::new(write), &run);
        run.ending.conclude(Some(()))
    }

    /// Items that satisfy the predicate, and those that do not, both in order.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (even, odd) = (0..5).into_par_query().partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    #[expect(clippy::type_complexity, reason = "a pair of vectors")]
    #[track_caller]
    pub fn partition(
        self,
        predicate: impl Fn(&P::Item) -> bool + Sync,
    ) -> E::Output<(Vec<P::Item>, Vec<P::Item>)> {
        let (pipeline, run) = self.into_run();
        let both = divided(
            pipeline,
            move |item, others: &mut Vec<_>| {
                if predicate(&item) {
                    return Some(item);
                }
                others.push(item);
                None
            },
            &run,
        );
        run.ending.conclude(both)
    }
}

impl<A: Send, B: Send, P: Pipeline<Item = (A, B)>, O: Order, E: Ending> Query<'_, P, O, E> {
    /// The first parts of all pairs, and the second ones.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (names, ages) = [("Ada", 36), ("Bob", 7)].into_par_query().unzip();
    /// assert_eq!((names, ages), (vec!["Ada", "Bob"], vec![36, 7]));
    /// ```
    #[track_caller]
    pub fn unzip(self) -> E::Output<(Vec<A>, Vec<B>)> {
        let (pipeline, run) = self.into_run();
        let both = unzipped(pipeline, &run);
        run.ending.conclude(both)
    }
}
