//! The settings of a whole query, and the explanation of their effect: whether it may run in parallel, and where it gathers
//! items.

use crate::cancel::Token;
use crate::engine::Ending;
use crate::parallel::{Concurrency, ConcurrencyError};
use crate::query::{
    Deterministic, ExecutionMode, Merge, Order, Ordered, Pipeline, Query, Settings, Unordered,
};
use crate::runtime::Runtime;
use std::marker::PhantomData;

/// Settings apply to the whole query, wherever in the chain they are made. Of two of the same kind the later one
/// applies; a second token is a type error.
impl<'a, P, O, E> Query<'a, P, O, E> {
    /// Keeps the source's order from here on, which is the default.
    ///
    /// # Examples
    /// The items of a query whose order was given up have an order again after a sort:
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = [30, 12, 21].into_par_query().unordered().order_by(|n| *n).ordered();
    /// assert_eq!(numbers.first(), Some(12));
    /// ```
    #[doc(alias = "AsOrdered")]
    pub fn ordered(self) -> Query<'a, P, Ordered, E> {
        self.with_ending(|ending| ending)
    }

    /// Gives up the source's order from here on: items are given as they are made, and operators that need an order
    /// are not available.
    ///
    /// Items that were gathered before keep the order they had.
    ///
    /// # Examples
    /// An unordered query has no first items:
    /// ```compile_fail,E0599
    /// use manyhands::query::prelude::*;
    /// let firsts = (0..10).into_par_query().unordered().take(3);
    /// ```
    /// It has some items:
    /// ```
    /// use manyhands::query::prelude::*;
    /// let some = (0..10).into_par_query().unordered().take_any(3).to_vec();
    /// assert_eq!(some.len(), 3);
    /// ```
    #[doc(alias = "AsUnordered")]
    pub fn unordered(self) -> Query<'a, P, Unordered, E> {
        self.with_ending(|ending| ending)
    }

    /// At most `count` runners at once. With 1 the query runs on the calling thread, in order; a
    /// [`stream`](Self::stream)'s, in its task.
    ///
    /// # Errors
    /// [`ConcurrencyError`] if `count` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let sum: u32 = (0..100_u32).into_par_query().degree_of_parallelism(2)?.sum();
    /// assert_eq!(sum, 4950);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias("WithDegreeOfParallelism", "num_threads"))]
    pub fn degree_of_parallelism(mut self, count: usize) -> Result<Self, ConcurrencyError> {
        self.settings.degree = Some(Concurrency::try_from(count)?.max());
        Ok(self)
    }

    /// When other workers may join.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::{ExecutionMode, prelude::*};
    /// use std::sync::Barrier;
    /// let both = Barrier::new(2);
    /// // Bodies that wait for each other must not run one after the other.
    /// (0..2).into_par_query().execution_mode(ExecutionMode::Parallel).for_each(|_| { both.wait(); });
    /// ```
    #[doc(alias = "WithExecutionMode")]
    pub fn execution_mode(mut self, mode: ExecutionMode) -> Self {
        self.settings.mode = mode;
        self
    }

    /// How many items are kept ready when the query is iterated. Other results do not depend on it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::{Merge, prelude::*};
    /// for square in (0..1000_u32).into_par_query().map(|n| n * n).merge(Merge::NotBuffered) {
    ///     if square > 100 { break }
    /// }
    /// ```
    #[doc(alias = "WithMergeOptions")]
    pub fn merge(mut self, merge: Merge) -> Self {
        self.settings.merge = merge;
        self
    }

    /// Runs on this runtime instead of the current one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, query::prelude::*};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// assert_eq!((0..100_u32).into_par_query().runtime(&runtime).sum::<u32>(), 4950);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias("TaskScheduler", "install"))]
    pub fn runtime<'b>(self, runtime: &'b Runtime) -> Query<'b, P, O, E>
    where
        'a: 'b,
    {
        let settings = Settings {
            runtime: Some(runtime),
            ..self.settings
        };
        Query { settings, ..self }
    }

    /// Also gives the query the order that the caller names.
    fn with_ending<F, Q>(self, ending: impl FnOnce(E) -> F) -> Query<'a, P, Q, F> {
        Query {
            pipeline: self.pipeline,
            settings: self.settings,
            ending: ending(self.ending),
            order: PhantomData,
        }
    }
}

impl<'a, P, O> Query<'a, P, O, ()> {
    /// Ends the query early when the token is cancelled. Every result then is a `Result`, and
    /// [`Cancelled`](crate::cancel::Cancelled) after a cancellation.
    ///
    /// Running closures are not interrupted; the token is checked before each item of the source, and of
    /// [`flat_map`](Self::flat_map).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, query::prelude::*};
    /// let source = cancel::TokenSource::new();
    /// source.cancel();
    /// let sum = (0..10_u32).into_par_query().cancellation(&source.token()).sum::<u32>();
    /// assert!(sum.is_err());
    /// ```
    #[doc(alias = "WithCancellation")]
    pub fn cancellation(self, token: &Token) -> Query<'a, P, O, &Token> {
        self.with_ending(|_| token)
    }
}

impl<'a, P, O> Query<'a, P, O, Deterministic<()>> {
    /// Ends the query early when the token is cancelled, as for one that is not deterministic.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel::Token, query::prelude::*};
    /// let token = Token::never();
    /// let sum = [0.5, 0.25].into_par_query().deterministic().cancellation(&token).sum::<f64>();
    /// assert_eq!(sum, Ok(0.75));
    /// ```
    pub fn cancellation(self, token: &Token) -> Query<'a, P, O, Deterministic<&Token>> {
        self.with_ending(|_| Deterministic(token))
    }
}

impl<'a, P, O, E: Ending> Query<'a, P, O, E> {
    /// Makes reductions group their values by the source alone, so that floating-point results repeat bit
    /// for bit, whatever the number of workers.
    ///
    /// This applies to the operators that end a query: `reduce`, `fold`, `sum`, `average`. Scans still group by the
    /// blocks that runners claim, and so does [`fold_by`](Self::fold_by), in whose place
    /// [`aggregate_by`](Self::aggregate_by) folds each group in order. Items that an unordered query has gathered come
    /// in any order.
    ///
    /// The items of a block run one after the other, also in [`ExecutionMode::Parallel`]. So those of a query of more than
    /// 1,024 items, or over an iterator of more than 256, must not wait for one another. Those of an
    /// [`unbuffered`](crate::parallel::FromIter::unbuffered) iterator are each a block by itself.
    ///
    /// # Cost
    /// Fixed blocks instead of the query's usual ones, each with a partial result, which takes some nanoseconds. There are at
    /// most 1,024 of them where the number of positions is known; each of at most 1,024 items is one by itself. Kept are the
    /// results of blocks that ended before an earlier one, and of each runner up to 32.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let roots = || (0..100_000_u32).into_par_query().map(|n| f64::from(n).sqrt());
    /// let once: f64 = roots().deterministic().sum();
    /// let again: f64 = roots().deterministic().degree_of_parallelism(1)?.sum();
    /// assert_eq!(once.to_bits(), again.to_bits());
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    pub fn deterministic(self) -> Query<'a, P, O, Deterministic<E>> {
        self.with_ending(Deterministic)
    }
}

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// What the query will do, and why: whether it is already certain that it runs on the calling thread alone, and where it
    /// gathers items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = [3, 1, 2];
    /// let query = numbers.par_query().filter(|n| **n > 1).enumerate().degree_of_parallelism(1)?;
    /// assert_eq!(
    ///     query.explain(),
    ///     "sequential, because the degree of parallelism is 1: items, filter; gathered; enumerate"
    /// );
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> String {
        let settings = &self.settings;
        // Whether it is shared with other workers, and why.
        let (how, reason) = match (settings.mode, settings.degree) {
            (ExecutionMode::Sequential, _) => ("sequential", "its execution mode is sequential"),
            (_, Some(1)) => ("sequential", "the degree of parallelism is 1"),
            (ExecutionMode::Parallel, _) => ("parallel", "its execution mode is parallel"),
            _ => (
                "decided while running",
                "what is left is weighed against what sharing costs",
            ),
        };
        format!("{how}, because {reason}: {}", self.pipeline.explain())
    }
}
