//! How a query is run: its user's settings, as values and as types.
//!
//! A token and fixed grouping are types, so that queries without them carry no data for either. The rest are values.

use crate::cancel::{Cancelled, Token};
use crate::engine::{Consumer, Ending, Grouping, HelperPolicy, Plan, SharingPlan, Until, Watch};
use crate::parallel::{Both, Options};
use crate::query::AdaptItem;
use crate::recording::Site;
use crate::runtime::Runtime;
use std::ops::Range;

/// When a query lets other workers join.
///
/// # Examples
/// ```
/// use manyhands::query::ExecutionMode;
/// use manyhands::query::prelude::*;
/// let query = |mode| (0..10_u32).into_par_query().execution_mode(mode);
/// assert!(query(ExecutionMode::Sequential).explain().starts_with("sequential"));
/// assert!(query(ExecutionMode::Parallel).explain().starts_with("parallel"));
/// let sums = [ExecutionMode::Auto, ExecutionMode::Parallel].map(|mode| query(mode).sum::<u32>());
/// assert_eq!(sums, [45, 45]);
/// ```
#[doc(alias = "ParallelExecutionMode")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ExecutionMode {
    /// When that makes it faster, as measured while it runs.
    #[default]
    Auto,
    /// Before its first item, one item at a time: bodies may wait for one another, within the limits of
    /// [`invoke`](crate::parallel::invoke()), if they run in one pass over the source. The two sides of a `chain` run one after
    /// the other if one of them has no positions, and so do the steps of a query that is iterated. Cheap
    /// items take tens of times as long as with [`Auto`](Self::Auto).
    #[doc(alias = "ForceParallelism")]
    Parallel,
    /// Never.
    Sequential,
}

/// How many items a query that is iterated keeps ready.
///
/// Example: see [`Query::merge`](crate::query::Query::merge).
#[doc(alias = "ParallelMergeOptions")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Merge {
    /// As few as possible: each is given as soon as it is made, and the source may wait for what was given. So one of
    /// the source's items runs at a time; only operators that gather items first run in parallel.
    NotBuffered,
    /// As many as take little memory and keep the workers busy.
    #[default]
    Auto,
    /// All: the first is given after the last was made. Of a source without end that is never, also in a
    /// [simulation](crate::simulation), where nothing else runs meanwhile.
    FullyBuffered,
}

/// The user's settings, except for those in the type.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Settings<'a> {
    pub(crate) degree: Option<usize>,
    pub(crate) runtime: Option<&'a Runtime>,
    pub(crate) mode: ExecutionMode,
    pub(crate) merge: Merge,
    /// Whether what the runners have made is merged item by item.
    pub(crate) merges_items: bool,
    /// Where a loop is expected to end.
    pub(crate) until: Until,
}

/// One run of a query.
#[derive(Debug, Clone, Copy)]
pub struct QueryRun<'a, E> {
    pub(crate) settings: Settings<'a>,
    pub(crate) ending: E,
    /// The line that asks for the result.
    pub(crate) site: Site,
}

impl<'a, E: Ending> QueryRun<'a, E> {
    pub(crate) fn plan(&self) -> Plan<'_> {
        let (degree, helpers) = match self.settings.mode {
            ExecutionMode::Auto => (self.settings.degree, HelperPolicy::WhenItPays),
            ExecutionMode::Parallel => (self.settings.degree, HelperPolicy::AtOnce),
            ExecutionMode::Sequential => (Some(1), HelperPolicy::WhenItPays),
        };
        Plan {
            sharing: SharingPlan {
                degree,
                runtime: self.settings.runtime,
                helpers,
                merges_items: self.settings.merges_items,
                until: self.settings.until,
            },
            site: self.site,
        }
    }

    /// The same run, for a loop whose runners' results are merged item by item, which may take as long as making them.
    pub(crate) fn for_merging(mut self) -> Self {
        self.settings.merges_items = true;
        self
    }

    /// The same run, for a loop that is expected to end there.
    pub(crate) fn until(mut self, until: Until) -> Self {
        self.settings.until = until;
        self
    }

    /// The same run, which ends also when `unwanted` is cancelled: the items are not wanted any more. That is checked
    /// before each item of the source, and by all operators that gather.
    pub(crate) fn while_wanted<'t>(self, unwanted: &'t Token) -> QueryRun<'a, Both<E, &'t Token>> {
        QueryRun {
            settings: self.settings,
            ending: Both(self.ending, unwanted),
            site: self.site,
        }
    }

    /// How the query's own loops and sorts are run.
    pub(crate) fn options(&self) -> Options<'_, E> {
        Options::planned(&self.plan(), self.ending)
    }

    /// Whether results are incomplete, because the query was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.ending.cancelled().is_some()
    }
}

/// The query's reductions group their values by the source alone; made by [`Query::deterministic`](crate::query::Query::deterministic).
///
/// Example: see [`Query`](crate::query::Query).
#[derive(Debug, Clone, Copy)]
pub struct Deterministic<E>(pub(crate) E);

impl<E: Watch> Watch for Deterministic<E> {
    fn end(&self) -> u64 {
        self.0.end()
    }

    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item> {
        self.0.limit(first, items)
    }
}

impl<E: Ending> Ending for Deterministic<E> {
    const GROUPING: Grouping = Grouping::Fixed;

    type Output<T> = E::Output<T>;

    fn conclude<T>(&self, value: Option<T>) -> E::Output<T> {
        self.0.conclude(value)
    }

    fn complete<T>(value: T) -> E::Output<T> {
        E::complete(value)
    }

    fn token(&self) -> Option<&Token> {
        self.0.token()
    }
}

/// Of a run [`while_wanted`](QueryRun::while_wanted).
impl<E: Ending> Ending for Both<E, &Token> {
    const GROUPING: Grouping = E::GROUPING;

    type Output<T> = Option<T>;

    fn conclude<T>(&self, value: Option<T>) -> Option<T> {
        value
    }

    #[inline]
    fn complete<T>(value: T) -> Option<T> {
        Some(value)
    }

    fn token(&self) -> Option<&Token> {
        self.0.token()
    }

    fn cancelled(&self) -> Option<Cancelled> {
        let unwanted = || Ending::cancelled(&self.1);
        self.0.cancelled().or_else(unwanted)
    }
}

/// Where a query ends, for a consumer whose items are checked at their source.
pub(crate) struct CheckedBelow<E>(pub(crate) E);

impl<E: Watch> Watch for CheckedBelow<E> {
    #[inline]
    fn end(&self) -> u64 {
        self.0.end()
    }

    #[inline]
    fn limit<I: Iterator>(&self, _first: u64, items: I) -> impl Iterator<Item = I::Item> {
        items
    }
}

/// The first adapter of a source's items: checks the token before each of them.
pub(crate) struct CancelCheck<E>(pub(crate) E);

impl<T, E: Ending> AdaptItem<T> for CancelCheck<E> {
    type Output = T;

    #[inline]
    fn alter<C: Consumer<T>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let items = self.0.limit(positions.start, items);
        consumer.consume(runner, positions, items);
    }

    #[inline]
    fn end(&self, end: u64) -> u64 {
        end.min(self.0.end())
    }
}
