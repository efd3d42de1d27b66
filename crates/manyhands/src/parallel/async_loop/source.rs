//! The sources of async loops: iterators, and streams by [`from_stream`].

use futures_core::Stream;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A source of an async loop: anything iterable, or a stream by [`from_stream`]. It is sent to other threads, and so are its
/// items, which may borrow nothing. Sealed.
///
/// The loop takes an item only when it can begin at once. It advances an iterator inside its own poll: while the
/// iterator blocks, the loop gives no result. Use a stream for a source that waits.
///
/// Example: see [`from_stream`].
pub trait AsyncSource: sealed::Pull {}

impl<S: sealed::Pull> AsyncSource for S {}

/// A stream as a source; made by [`from_stream`].
pub struct FromStream<S>(S);

/// Loops over a stream's items as they arrive.
///
/// # Cost
/// An allocation.
///
/// # Examples
/// ```
/// use manyhands::{channel, parallel, task};
/// let (sender, receiver) = channel::unbounded();
/// for word in ["many", "hands"] {
///     sender.try_send(word).unwrap();
/// }
/// drop(sender);
/// let lengths = parallel::map_async(parallel::from_stream(receiver.into_stream()), |word| async { word.len() });
/// assert_eq!(task::block_on(lengths), [4, 5]);
/// ```
#[doc(alias = "IAsyncEnumerable")]
pub fn from_stream<S: Stream>(stream: S) -> FromStream<S> {
    FromStream(stream)
}

impl<S> fmt::Debug for FromStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromStream").finish_non_exhaustive()
    }
}

pub(super) mod sealed {
    use super::Stream;

    /// A source.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` is not a source of an async loop",
        note = "pass something iterable, or a stream as `parallel::from_stream(stream)`; it and its items must be `Send`"
    )]
    pub trait Pull: Sized + Send {
        /// What the body receives.
        type Item: Send + 'static;
        /// What gives the items.
        type Items: Stream<Item = Self::Item> + Unpin + Send;

        /// Prepares the source.
        fn into_items(self) -> Self::Items;
    }
}

/// An iterator's items.
#[derive(Debug)]
pub struct Iterated<I>(I);

#[diagnostic::do_not_recommend]
impl<I> sealed::Pull for I
where
    I: IntoIterator<Item: Send + 'static, IntoIter: Send> + Send,
{
    type Item = I::Item;
    type Items = Iterated<I::IntoIter>;

    fn into_items(self) -> Self::Items {
        Iterated(self.into_iter())
    }
}

impl<I> Unpin for Iterated<I> {}

impl<I: Iterator> Stream for Iterated<I> {
    type Item = I::Item;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<I::Item>> {
        Poll::Ready(self.0.next())
    }
}

impl<S: Stream<Item: Send + 'static> + Send> sealed::Pull for FromStream<S> {
    type Item = S::Item;
    type Items = Pin<Box<S>>;

    fn into_items(self) -> Self::Items {
        Box::pin(self.0)
    }
}
