//! Parallel queries: chains of operators over anything that has items. Results are in order unless you give
//! that up.
//!
//! A query is lazy: nothing happens until a last operator asks for a result. Then each thread that claims a block
//! of the source takes the block's items through all operators in one loop. Short queries run on the calling
//! thread, for little more than an iterator costs; see [`parallel`](crate::parallel) for when other threads help.
//!
//! # Examples
//! ```
//! use manyhands::query::prelude::*;
//!
//! let lines = ["many hands", "make light work"];
//! let lengths: usize = lines.par_query().flat_map(|line| line.split(' ')).map(str::len).sum();
//! assert_eq!(lengths, 22);
//!
//! let firsts = (0..1_000_000_u32).into_par_query().filter(|n| n % 7 == 3).take(3).to_vec();
//! assert_eq!(firsts, [3, 10, 17]);
//! ```
//!
//! Joins, stable sorts and groups; results one by one, in bounded memory:
//! ```
//! use manyhands::query::prelude::*;
//!
//! let answers = [("/a", 200), ("/b", 404), ("/c", 200)];
//! let names = [(200, "ok"), (404, "not found")];
//! let rows = answers
//!     .par_query()
//!     .copied()
//!     .join(names.par_query().copied(), |answer| answer.1, |name| name.0, |answer, name| (name.1, answer.0))
//!     .order_by(|row| row.0)
//!     .then_by_descending(|row| row.1)
//!     .to_vec();
//! assert_eq!(rows, [("not found", "/b"), ("ok", "/c"), ("ok", "/a")]);
//! let counts = answers.par_query().count_by(|answer| answer.1).to_vec();
//! assert_eq!(counts, [(200, 2), (404, 1)]);
//!
//! for square in (0..1_000_000_u64).into_par_query().map(|n| n * n) {
//!     if square > 1000 {
//!         break;
//!     }
//! }
//! ```
//!
//! # Order
//! A query keeps its source's order, which costs next to nothing here. [`unordered`](Query::unordered) gives
//! it up from there on, and changes the type: operators that need an order (`take`, `skip`, `zip`, `rev`, `first` …)
//! exist on [`Ordered`] queries only; unordered ones have `take_any` and its like. Where a query does
//! not have a method, the compiler says that `Query<…, Unordered>` is not an iterator, and proposes `into_iter()`: what comes
//! behind that runs on the caller alone.
//!
//! # Operators
//! All are lazy. *Fused* ones run in one loop with their neighbours and add no cost. *Positional* ones are fused too
//! where positions are known: over slices, vectors, arrays and ranges, as long as no operator before them adds or
//! removes items. Elsewhere the items before them are gathered in memory first, in parallel.
//! [`explain`](Query::explain) says where that happens.
//!
//! | operator | LINQ | order | how |
//! |---|---|---|---|
//! | `map`, `inspect`, `copied`, `cloned` | Select, Cast | kept; positions too | fused |
//! | `filter`, `filter_map`, `flat_map`, `flatten` | Where, OfType, SelectMany | kept | fused |
//! | `chain` | Concat, Append | left, then right; positions too | fused |
//! | `default_if_empty` | DefaultIfEmpty | kept; positions too | fused |
//! | `enumerate`, `zip`, `rev`, `step_by`, `chunks` | Index, Zip, Reverse, –, Chunk | ordered only | positional |
//! | `take`, `skip`, `take_last`, `skip_last` | Take, Skip, TakeLast, SkipLast | ordered only | positional; elsewhere `take` gathers no block above the last it needs |
//! | `take_while`, `map_while` | TakeWhile | ordered only | gathers up to the first failure; starts no block above it |
//! | `skip_while` | SkipWhile | ordered only | gathers; as much as is needed if only some are wanted |
//! | `inclusive_scan`, `exclusive_scan` | – | ordered only | gathers |
//! | `take_any`, `skip_any` | Take, Skip | unordered only | fused; a shared count |
//! | `order_by`, `order_with`, `order`, `then_by` …, `…_descending` | OrderBy, ThenBy, Order | begins an order; stable | gathers, with keys that take long; sorts once; with `take` behind it, only what is taken |
//! | `distinct`, `union`, `intersect`, `except`, `…_by` | Distinct, Union, Intersect, Except | kept; the first of equal items | gathers the different ones |
//! | `group_by`, `aggregate_by` | GroupBy, AggregateBy | by first items; items in order | gathers |
//! | `count_by`, `fold_by` | CountBy, AggregateBy | by first items; folded in any order | gathers the groups |
//! | `join`, `left_join`, `group_join` | Join, LeftJoin, GroupJoin | kept; then the other's | gathers the other side; fused |
//! | `sequential`, `parallel::from_iter` behind it | AsSequential, AsParallel | kept | in steps of bounded memory |
//!
//! | ends with | LINQ | which item, which order | stops early |
//! |---|---|---|---|
//! | `collect`, `to_vec`, `collect_into` | ToArray, ToList, ToDictionary, ToHashSet | in order; the last of equal keys | at the first error, into a `Result` or `Option` |
//! | `partition`, `unzip` | – | in order | |
//! | `to_lookup` | ToLookup | keys by first items; items in order | |
//! | `for_each`, `try_for_each`, `try_map` | ForAll | bodies in any order, results of `try_map` in order | after a failure |
//! | `count`, `sum`, `checked_sum`, `average` | Count, Sum, Average | values of blocks in order | |
//! | `reduce`, `fold` | Aggregate | in order, grouped as it happens or, `deterministic`, by the source | |
//! | `min`, `max`, `…_by`, `…_by_key` | Min, Max, MinBy, MaxBy | the first of equal smallest, the last of equal largest | |
//! | `any`, `all`, `contains`, `find_any` | Any, All, Contains, First | any | at the first match |
//! | `first`, `find`, `find_map`, `position`, `element_at` | First, ElementAt | ordered only: the first | starts no block above the lowest match |
//! | `last` | Last | ordered only | positional: makes one item; elsewhere all |
//! | `single` | Single | | at the second item |
//! | `sequence_equal` | SequenceEqual | ordered only | at the first difference; gathers what has no positions |
//! | `into_iter`, `with_iter`, `stream` | GetEnumerator | in order | when dropped |
//! | `map_async` | – | in order, or as they end if unordered | when dropped |
//!
//! # Sources
//! Every [source of a loop](crate::parallel::Source) becomes a query by [`into_par_query`](IntoParQuery::into_par_query).
//! So does any iterator, through [`parallel::from_iter`](crate::parallel::from_iter). A query is also a source of loops.
//! Slices have [`par_chunks`](ParSlice::par_chunks) and its like, texts [`par_lines`](ParText::par_lines) and its like. For
//! a source of one's own whose positions are not items, see [`Partitioned`].
//!
//! # Streams as sources
//! [`from_stream`] makes an [`AsyncQuery`] of items that arrive, with the fused operators of one input. Its result is a
//! stream again.
//!
//! # Failures
//! A panic in an operator's closure does not end a worker: no further blocks start, the running ones end (a `flat_map`
//! makes no more items), and then the panic resumes in the caller, with all others as an
//! [`AggregatePanic`](crate::AggregatePanic) if there were several. Every item is dropped exactly once; only where it
//! is collected into a collection of others does that one's promise hold: a `BTreeSet` leaks items when `Ord` panics, a `HashMap`
//! the rest when one panics in `Drop`. A query with a [`cancellation`](Query::cancellation) token gives a `Result`.

#![expect(
    unnameable_types,
    reason = "operators' types are what a chain is made of; users name `Query` and `Pipeline`"
)]

mod consumer_adapter;
mod controls;
mod earliest;
mod first_in_place;
mod first_items;
mod gather;
mod hash;
mod items;
mod op;
mod order;
mod pipeline;
pub mod prelude;
mod run;
mod source;
mod tables;
mod terminal;
mod two_vectors;

pub use hash::buckets::Matches;
pub use op::{Group, Lookup};
pub use order::{Order, Ordered, Unordered};
pub use pipeline::Pipeline;
pub use run::{Deterministic, ExecutionMode, Merge};
pub use source::{IntoParQuery, ParQuery, ParQueryMut, ParSlice, ParText, Partitioned};
pub use terminal::async_query::{AsyncQuery, from_stream};
pub use terminal::find::SingleError;
pub use terminal::from_query::FromQuery;
pub use terminal::iterate::Stream;
pub use terminal::numbers::Number;

// What the files of this folder name of each other.
use consumer_adapter::{AdaptItem, ConsumerAdapter};
use items::Items;
use pipeline::{Breaker, Materialized, Positional, drop_then};
use run::{QueryRun, Settings};

use crate::recording::Site;
use std::fmt;
use std::marker::PhantomData;

/// A chain of operators over a source; see [the module](self). Made by [`par_query`](ParQuery::par_query),
/// [`into_par_query`](IntoParQuery::into_par_query).
///
/// `P` is the source with its operators, `O` says whether the order is kept, `E` what can cancel the query, and whether it is
/// [`Deterministic`].
///
/// # Examples
/// A function over any query of words:
/// ```
/// use manyhands::parallel::Ending;
/// use manyhands::query::{Order, Pipeline, Query, prelude::*};
///
/// fn longest<E: Ending>(
///     words: Query<'_, impl Pipeline<Item = &'static str>, impl Order, E>,
/// ) -> E::Output<Option<usize>> {
///     words.map(str::len).max()
/// }
/// let words = || ["many", "hands"].into_par_query();
/// assert_eq!(longest(words()), Some(5));
/// assert_eq!(longest(words().unordered().deterministic()), Some(5));
/// let token = manyhands::cancel::Token::never();
/// assert_eq!(longest(words().cancellation(&token)), Ok(Some(5)));
/// ```
///
/// A query that a structure keeps:
/// ```
/// use manyhands::query::{Deterministic, Ordered, Pipeline, Query, prelude::*};
///
/// struct Series<P>(Query<'static, P, Ordered, Deterministic<()>>);
///
/// impl<P: Pipeline<Item = f64>> Series<P> {
///     fn sum(self) -> f64 {
///         self.0.sum()
///     }
/// }
/// assert_eq!(Series([0.5, 1.0].into_par_query().deterministic()).sum(), 1.5);
/// ```
#[doc(alias("ParallelQuery", "ParallelIterator"))]
#[must_use = "a query does nothing until it is ended by asking for a result"]
pub struct Query<'a, P, O = Ordered, E = ()> {
    pipeline: P,
    settings: Settings<'a>,
    ending: E,
    order: PhantomData<O>,
}

impl<P: Pipeline> Query<'static, P> {
    pub(crate) fn new(pipeline: P) -> Self {
        Self {
            pipeline,
            settings: Settings::default(),
            ending: (),
            order: PhantomData,
        }
    }
}

impl<'a, P, O, E> Query<'a, P, O, E> {
    /// The same query with `f` applied to its pipeline.
    pub(crate) fn with<Q>(self, f: impl FnOnce(P) -> Q) -> Query<'a, Q, O, E> {
        Query {
            pipeline: f(self.pipeline),
            settings: self.settings,
            ending: self.ending,
            order: PhantomData,
        }
    }

    /// The same query with a breaker around its pipeline.
    pub(crate) fn breaking<B: Breaker>(
        self,
        f: impl FnOnce(P) -> B,
    ) -> Query<'a, Materialized<B>, O, E> {
        self.with(|base| Materialized::new(f(base)))
    }

    /// The pipeline, and how it is to be run.
    #[track_caller]
    pub(crate) fn into_run(self) -> (P, QueryRun<'a, E>) {
        let run = QueryRun {
            settings: self.settings,
            ending: self.ending,
            site: Site::here(),
        };
        (self.pipeline, run)
    }
}

impl<P, O, E> fmt::Debug for Query<'_, P, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Query")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
