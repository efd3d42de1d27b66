//! Part of the items, by position: `take`, `skip`, `take_last`, `skip_last`.
//!
//! Unsafe: those left out are discarded when the query begins.

use crate::engine::{Ending, Indexed};
use crate::query::items::PartOf;
use crate::query::{Breaker, Items, Materialized, Ordered, Pipeline, Query, QueryRun};

/// See [`Query::take`] and its siblings.
#[derive(Debug)]
pub struct Part<P> {
    base: P,
    which: PartKind,
    count: u64,
}

#[derive(Debug, Clone, Copy)]
enum PartKind {
    Take,
    Skip,
    TakeLast,
    SkipLast,
}

impl PartKind {
    fn name(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::Skip => "skip",
            Self::TakeLast => "take_last",
            Self::SkipLast => "skip_last",
        }
    }

    /// Start and length of the part of `len` items.
    fn of(self, count: u64, len: u64) -> (u64, u64) {
        let count = count.min(len);
        match self {
            Self::Take => (0, count),
            Self::Skip => (count, len - count),
            Self::TakeLast => (len - count, count),
            Self::SkipLast => (0, len - count),
        }
    }

    /// How many of the first items are needed for the first `most` of the part.
    fn needs(self, count: u64, most: u64) -> u64 {
        match self {
            Self::Take => count.min(most),
            Self::Skip => most.saturating_add(count),
            Self::TakeLast | Self::SkipLast => u64::MAX,
        }
    }
}

impl<P: Pipeline> Breaker for Part<P> {
    type Item = P::Item;
    type Positions = PartOf<P::Positions>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let needed = self.which.needs(self.count, most);
        let base = self.base.into_positions(needed, run);
        if matches!(self.which, PartKind::TakeLast | PartKind::SkipLast) {
            base.assert_has_end();
        }
        let base = base.release();
        let (start, len) = self.which.of(self.count, base.len());
        // From here on the part's drop and the engine handle its positions; the others are discarded now.
        let items = Items::new(PartOf { base, start, len }, self.which.name());
        if let Some(part) = items.source() {
            // SAFETY: the part does not pass on these positions.
            unsafe { part.base.discard(0, start) };
            // SAFETY: as above.
            unsafe { part.base.discard(start + len, part.base.len()) };
        }
        items
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), self.which.name().into()]
    }
}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Ordered, E> {
    /// The first `count` items.
    ///
    /// Where positions are not known, blocks above the last item needed are not started.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let even = (0..).step_by(2);
    /// let firsts = manyhands::parallel::from_iter(even).into_par_query().take(3).to_vec();
    /// assert_eq!(firsts, [0, 2, 4]);
    /// ```
    pub fn take(self, count: usize) -> Query<'a, Materialized<Part<P>>, Ordered, E> {
        self.part(PartKind::Take, count)
    }

    /// All but the first `count` items.
    ///
    /// Where positions are known, such as after `map` of a vector, what comes before runs nothing for the items that are left
    /// out. The standard library's `skip` makes them, and drops them.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().filter(|n| n % 2 == 0).skip(3).to_vec(), [6, 8]);
    /// ```
    pub fn skip(self, count: usize) -> Query<'a, Materialized<Part<P>>, Ordered, E> {
        self.part(PartKind::Skip, count)
    }

    /// The last `count` items.
    ///
    /// # Panics
    /// When the query is run, if there are 2^64 - 1 items or more.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().take_last(2).to_vec(), [8, 9]);
    /// ```
    pub fn take_last(self, count: usize) -> Query<'a, Materialized<Part<P>>, Ordered, E> {
        self.part(PartKind::TakeLast, count)
    }

    /// All but the last `count` items.
    ///
    /// # Panics
    /// As [`take_last`](Self::take_last).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..5).into_par_query().skip_last(2).to_vec(), [0, 1, 2]);
    /// ```
    pub fn skip_last(self, count: usize) -> Query<'a, Materialized<Part<P>>, Ordered, E> {
        self.part(PartKind::SkipLast, count)
    }

    fn part(self, which: PartKind, count: usize) -> Query<'a, Materialized<Part<P>>, Ordered, E> {
        self.breaking(|base| Part {
            base,
            which,
            count: count as u64,
        })
    }
}
