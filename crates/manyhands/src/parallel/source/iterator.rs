//! Any iterator that can be sent, as a source.
//!
//! Not here: the loop over it (`pull.rs`), and sources that know their length (`slice.rs`, `owned.rs`, `range.rs`).

use crate::cancel::Token;
use crate::engine::{Consumer, HelperPolicy, Plan};
use crate::parallel::source::beginning::{First, run_all};
use crate::parallel::source::pull::{CHUNK_MAX, Chunk};
use crate::parallel::source::{Feed, Source};

/// An iterator as a source of loops; made by [`from_iter`].
///
/// Example: see [`from_iter`].
#[derive(Debug)]
#[must_use = "a source does nothing until a loop runs over it"]
pub struct FromIter<I> {
    pub(crate) iterator: I,
    pub(crate) chunk_max: usize,
}

/// Lets a loop run over any iterator that can be sent.
///
/// Items are pulled in order, by one runner at a time, in chunks of a few microseconds; results of
/// [`map`](crate::parallel::map()) are in the iterator's order. The iterator is dropped before the loop
/// returns, also when a body or the iterator itself panics.
///
/// # Iterators that wait
/// A chunk is pulled to its end before any of its items is run, and up to 1,024 items may be pulled. So an iterator
/// that waits for the effect of an item it has given, or a channel whose sender waits for it, may wait for ever; and
/// an item runs only when the ones behind it have arrived. With [`unbuffered`](FromIter::unbuffered) each item runs as
/// soon as it is pulled.
///
/// An iterator may also wait for a task of the same pool, if there is a thread for that: it keeps the thread that pulls,
/// and the caller when that has nothing else to run. The others do other work meanwhile. A loop ends only when `next`
/// has returned. So of two threads at the limit of [`max_threads`](crate::RuntimeBuilder::max_threads) none may be left:
/// the caller cannot leave its loop, and no thread runs tasks while it waits.
///
/// # Cost
/// The iterator's own, one lock for each chunk, and one move of each item.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let text = "to be or not to be";
/// let lengths = parallel::from_iter(text.split(' ').map(str::len));
/// let longest = parallel::map_reduce(lengths, |length| length, usize::max);
/// assert_eq!(longest, Some(3));
/// ```
#[doc(alias("par_drain", "par_rchunks", "par_chunk_by", "par_char_indices"))]
#[doc(alias("par_bridge", "Partitioner.Create"))]
pub fn from_iter<I>(iterator: I) -> FromIter<I::IntoIter>
where
    I: IntoIterator<Item: Send, IntoIter: Send>,
{
    FromIter {
        iterator: iterator.into_iter(),
        chunk_max: CHUNK_MAX,
    }
}

impl<I> FromIter<I> {
    /// Pulls exactly one item at a time, and lets helpers join before the first one runs: an item's body may then wait
    /// for what the next item's body does, within the limits of [`invoke`](crate::parallel::invoke()).
    ///
    /// # Examples
    /// Two bodies that meet, whatever the first one waits for:
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::Barrier;
    /// let both = Barrier::new(2);
    /// parallel::for_each(parallel::from_iter(0..2).unbuffered(), |_| { both.wait(); });
    /// ```
    #[doc(alias("EnumerablePartitionerOptions.NoBuffering", "NoBuffering"))]
    pub fn unbuffered(self) -> Self {
        Self {
            chunk_max: 1,
            ..self
        }
    }
}

impl<I: Iterator<Item: Send> + Send> Source for FromIter<I> {
    type Item = I::Item;
    type Feed = Self;

    fn into_feed(self) -> Self {
        self
    }
}

impl<I: Iterator<Item: Send> + Send> FromIter<I> {
    /// Like [`drive`](Feed::drive), in blocks that depend on the source alone, one to each `consume`. For reductions
    /// that must not depend on which runner ran which items.
    pub(crate) fn drive_leaves<C: Consumer<I::Item>>(self, consumer: &C, plan: &Plan<'_>) {
        let _entered = plan.sharing.runtime.map(|runtime| runtime.enter());
        let leaf = Chunk::Leaf(self.chunk_max);
        run_all(self.iterator, consumer, plan, (First::Share, leaf));
    }
}

impl<I: Iterator<Item: Send> + Send> Feed for FromIter<I> {
    type Item = I::Item;

    fn drive<C: Consumer<I::Item>>(
        self,
        consumer: &mut C,
        plan: &Plan<'_>,
        _token: Option<&Token>,
    ) {
        let _entered = plan.sharing.runtime.map(|runtime| runtime.enter());
        let at_once = self.chunk_max == 1 || plan.sharing.helpers == HelperPolicy::AtOnce;
        let first = match (at_once, plan.sharing.degree) {
            (true, None | Some(2..)) => First::Share,
            _ => First::Probe,
        };
        let chunk = Chunk::UpTo(if at_once { 1 } else { self.chunk_max });
        run_all(self.iterator, consumer, plan, (first, chunk));
    }

    fn len_hint(&self) -> Option<usize> {
        None
    }
}
