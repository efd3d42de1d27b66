//! Items by position as a pipeline: how every query that knows its positions is driven.
//!
//! Unsafe: positions are passed on to their source, each once.

use crate::engine::{Consumer, Ending, Grouping, Indexed, drive};
use crate::parallel::source::OwnedItems;
use crate::parallel::source::leaves::drive_leaves;
use crate::query::run::CancelCheck;
use crate::query::{ConsumerAdapter, Pipeline, Positional, QueryRun};

/// The positions of a source from some position on. Those that were not driven when this is dropped are
/// discarded.
#[derive(Debug)]
pub struct Items<S: Indexed> {
    /// `None` when it was given away.
    source: Option<S>,
    next: u64,
    /// What the source is called.
    pub(super) name: &'static str,
}

impl<S: Indexed> Items<S> {
    pub(crate) fn new(source: S, name: &'static str) -> Self {
        Self {
            source: Some(source),
            next: 0,
            name,
        }
    }

    /// The source, unless it was given away.
    pub(crate) fn source(&self) -> Option<&S> {
        self.source.as_ref()
    }

    /// The number of positions left.
    pub(crate) fn len(&self) -> u64 {
        self.source().map_or(0, |source| source.len() - self.next)
    }

    /// Checks that there is an end to count from.
    ///
    /// # Panics
    /// If there are `u64::MAX` positions, where longer sources are cut.
    pub(crate) fn assert_has_end(&self) {
        assert!(
            self.len() < u64::MAX,
            "a query counts from its end only with fewer than 2^64 - 1 items"
        );
    }

    /// The source, none of whose positions was asked for. The caller must ask for all of them.
    pub(crate) fn release(mut self) -> S {
        assert!(
            self.next == 0,
            "positions are released before any is driven"
        );
        self.source.take().expect("given away once")
    }

    /// As [`Pipeline::drive`].
    #[inline]
    pub(crate) fn drive<C: Consumer<S::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let len = self.len().min(most);
        let start = self.next;
        let Some(base) = &self.source else { return 0 };
        self.next = start + len;
        let span = PartOf { base, start, len };
        let check = CancelCheck(run.ending);
        let mut bottom = ConsumerAdapter(consumer, &check);
        match C::GROUPING {
            Grouping::Any => drive(&span, &mut bottom, &run.plan()),
            Grouping::Fixed => drive_leaves(&span, &bottom, &run.plan()),
        }
        len
    }
}

impl<T: Send> Items<OwnedItems<T>> {
    /// Items in memory.
    pub(crate) fn of_vec(items: Vec<T>) -> Self {
        Self::new(OwnedItems::new(items), "vector")
    }
}

impl<S: Indexed> Drop for Items<S> {
    fn drop(&mut self) {
        if let Some(source) = &self.source
            && self.next < source.len()
        {
            // SAFETY: positions from `next` on were not asked for, and are not after this.
            unsafe { source.discard(self.next, source.len()) };
        }
    }
}

impl<P: Positional> Pipeline for Items<P> {
    type Item = P::Item;
    type Positions = P;
    const IS_POSITIONAL: bool = true;

    #[inline]
    fn drive<C: Consumer<P::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        self.drive(most, consumer, run)
    }

    fn positions_left(&self) -> Option<u64> {
        Some(self.len())
    }

    fn into_positions<E: Ending>(self, _most: u64, _run: &QueryRun<'_, E>) -> Self {
        self
    }

    fn explain(&self) -> String {
        self.name.into()
    }
}

/// Part of the positions of a source.
#[derive(Debug)]
pub struct PartOf<S> {
    pub(crate) base: S,
    pub(crate) start: u64,
    pub(crate) len: u64,
}

// SAFETY: positions are passed on one to one.
unsafe impl<S: Indexed> Indexed for PartOf<S> {
    type Item = S::Item;

    fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        // SAFETY: as promised by the caller.
        unsafe { self.base.block(self.start + start, self.start + end) }
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        let (start, end) = (self.start + start, self.start + end);
        // SAFETY: as promised by the caller.
        unsafe { self.base.block_backwards(start, end) }
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.base.discard(self.start + start, self.start + end) };
    }
}

// SAFETY: an item of the base for each position.
unsafe impl<S: Positional> Positional for PartOf<S> {
    fn into_vec(self) -> Result<Vec<S::Item>, Self> {
        let Self { base, start, len } = self;
        let part = |base| Self { base, start, len };
        if len < base.len() {
            // The others were discarded.
            return Err(part(base));
        }
        base.into_vec().map_err(part)
    }
}

// SAFETY: positions are passed on one to one.
unsafe impl<S: Indexed> Indexed for &S {
    type Item = S::Item;

    fn len(&self) -> u64 {
        (**self).len()
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        // SAFETY: as promised by the caller.
        unsafe { (**self).block(start, end) }
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { (**self).discard(start, end) };
    }
}
