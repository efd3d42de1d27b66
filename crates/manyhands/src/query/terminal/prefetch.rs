//! Queries as iterators that run ahead: while the caller processes the items of a step, workers make those of the next
//! one.
//!
//! Borrowed data must outlive the workers' part. So the iterator lives within a call, [`Query::with_iter`], which
//! returns when no worker uses it any more; an iterator that could be leaked would be unsound.
//!
//! # Threads
//! The thread that holds the [`Steps`] makes the next one. The caller offers them to workers; if none has begun when
//! the caller needs items, it takes them back, so one worker is enough. Otherwise it waits for them, with the items,
//! in a channel.

use crate::cancel::{Token, TokenSource};
use crate::channel::{self, Receiver, Sender};
use crate::engine::Ending;
use crate::job::{Payload, catch, contain};
use crate::query::terminal::iterate::Unwanted;
use crate::query::terminal::steps::{Iter, Steps};
use crate::query::{Order, Pipeline, Query, drop_then};
use crate::runtime::fork_join::scope;
use crate::runtime::{Runtime, Scope};
use crate::sync::{Mutex, lock};
use std::panic::resume_unwind;

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// Passes `body` an iterator over the items, in order. While it processes some, workers make the next ones, in
    /// steps of up to some thousand; see [`Merge`](crate::query::Merge).
    ///
    /// At most two steps' items are in memory at once. Of a query that can be cancelled the iterator gives
    /// results, the last of which is the error.
    ///
    /// # Cost
    /// As [`into_iter`](IntoIterator::into_iter), and, where there may be more than one step, a scope and a
    /// channel. Steps that take less than 50 µs, and all steps of a query with one runner, are made by the
    /// caller, when it needs them.
    ///
    /// # Blocking
    /// While other threads make the next item; the pool lets another worker compensate for one that waits. At its end
    /// the call waits for blocks that have begun; no others are started.
    ///
    /// # Panics
    /// The iterator does when operators do, unless the item at which they panic is never needed.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = vec!["many".to_owned(), "hands".to_owned()];
    /// let mut text = String::new();
    /// words.par_query().map(|word| word.to_uppercase()).with_iter(|words| {
    ///     for word in words {
    ///         text.push_str(&word);
    ///     }
    /// });
    /// assert_eq!(text, "MANYHANDS");
    /// ```
    #[track_caller]
    pub fn with_iter<R>(self, body: impl FnOnce(Prefetch<'_, P::Item, E>) -> R) -> R {
        let (pipeline, run) = self.into_run();
        let mut steps = Steps::new(pipeline, run);
        if steps.is_one_step() {
            // There is nothing to make ahead.
            let result = body(Iter::new(&mut || steps.next(&run), run.ending));
            return drop_then(steps, result);
        }
        let unwanted = TokenSource::new();
        let exchange = Exchange {
            offered: Mutex::new(None),
            unwanted: unwanted.token(),
        };
        // Entered only to begin and to offer: the body belongs to the caller's runtime.
        let entered = run.settings.runtime.map(Runtime::enter);
        let result = scope(|scope| {
            drop(entered);
            let mut taker = Taker {
                scope,
                exchange: &exchange,
                made: None,
                steps: Some(steps),
            };
            let unwanted = Unwanted(unwanted);
            let result = body(Iter::new(&mut || taker.next_step(), run.ending));
            drop(unwanted);
            drop_then(taker, result)
        });
        drop_then(exchange, result)
    }
}

/// A query's items, made ahead by workers; passed to the body by [`Query::with_iter`].
pub(crate) type Prefetch<'a, T, E> = Iter<T, E, &'a mut dyn FnMut() -> Option<Vec<T>>>;

/// The caller's side.
struct Taker<'s, 'scope, 'a, P: Pipeline, E> {
    scope: &'s Scope<'scope>,
    exchange: &'scope Exchange<'a, P, E>,
    /// Where workers send items; `None` before the first offer.
    made: Option<Channel<MadeOrPanicked<'a, P, E>>>,
    /// `None` while they are offered to workers, and after the last one.
    steps: Option<Steps<'a, P, E>>,
}

type Channel<T> = (Sender<T>, Receiver<T>);

impl<'scope, 'a: 'scope, P: Pipeline + 'scope, E: Ending + 'scope> Taker<'_, 'scope, 'a, P, E> {
    /// The items of the next step. Not called again after the last one, nor after a panic; see [`Iter`].
    fn next_step(&mut self) -> Option<Vec<P::Item>> {
        let (steps, items) = match self.steps.take() {
            Some(steps) => self.exchange.make(steps),
            None => self.take_back(),
        };
        if items.is_some() {
            self.steps = self.offer(steps);
        }
        items
    }

    /// Offers to make the next step, if that pays; else gives it back.
    fn offer(&mut self, steps: Steps<'a, P, E>) -> Option<Steps<'a, P, E>> {
        if !steps.is_worth_handing_over() {
            return Some(steps);
        }
        let exchange = self.exchange;
        let (sender, _) = self.made.get_or_insert_with(|| channel::bounded(1));
        let sender = sender.clone();
        let _entered = steps.run.settings.runtime.map(Runtime::enter);
        *lock(&exchange.offered) = Some(steps);
        self.scope.spawn(move |_| exchange.make_offered(&sender));
        None
    }

    /// Makes the step that is offered, or waits for the worker that makes it.
    fn take_back(&self) -> Made<'a, P, E> {
        let offered = lock(&self.exchange.offered).take();
        if let Some(steps) = offered {
            return self.exchange.make(steps);
        }
        let channel = self.made.as_ref();
        let made = channel.map(|(_, receiver)| receiver.recv_blocking());
        match made {
            Some(Ok(Ok(made))) => made,
            Some(Ok(Err(payload))) => resume_unwind(payload),
            Some(Err(_)) | None => unreachable!("the channel is there from the first offer on"),
        }
    }
}

/// What the caller and the workers share.
struct Exchange<'a, P: Pipeline, E> {
    offered: Mutex<Option<Steps<'a, P, E>>>,
    /// Cancelled when no more items are wanted.
    unwanted: Token,
}

/// The items of a step, and what makes the next one.
type Made<'a, P, E> = (Steps<'a, P, E>, Option<Vec<<P as Pipeline>::Item>>);
type MadeOrPanicked<'a, P, E> = Result<Made<'a, P, E>, Payload>;

impl<'a, P: Pipeline, E: Ending> Exchange<'a, P, E> {
    fn make(&self, mut steps: Steps<'a, P, E>) -> Made<'a, P, E> {
        let items = steps.next(&steps.run.while_wanted(&self.unwanted));
        (steps, items)
    }

    /// A worker: makes the step that is offered, if it still is.
    fn make_offered(&self, sender: &Sender<MadeOrPanicked<'a, P, E>>) {
        let Some(steps) = lock(&self.offered).take() else {
            return;
        };
        if self.unwanted.is_cancelled() {
            return;
        }
        let made = catch(|| self.make(steps));
        // An error means that the iterator was dropped, and the items are not wanted.
        contain(|| drop(sender.send_blocking(made)));
    }
}
