//! Runs the items of an async loop as tasks, as many at once as the tuner says.
//!
//! The loop's future or stream polls it. It begins items while there is room, and passes on the outcome of each. It
//! does not know what happens with the results.
//!
//! # Ends
//! After a stop (a failure, a cancellation) no item begins, the source is dropped, and the running items, or those from
//! some position on, are cancelled; each is dropped where tasks run. The driver reports its end only when all have ended.

use super::handle::{LoopHandle, Progress};
use super::options::AsyncOptions;
use super::source::sealed::Pull;
use super::tuner::{ItemStart, Tuner};
use crate::cancel::{Token, UntilCancelled};
use crate::engine::Ending;
use crate::job::{AggregatePanic, InPlace, Payload, catch, contain, wake_by_ref};
use crate::recording::{AsyncLoopEvent, AsyncLoopRecord, BeginsNoMore, Site};
use crate::runtime::Runtime;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::task::{JoinError, TaskGroup};
use crate::time;
use futures_core::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The driver.
pub(super) struct Driver<'a, S: Pull, F, R> {
    /// `None` once the loop was polled, or stopped.
    source: Option<S>,
    /// What was made of the source then, until its end.
    items: Option<S::Items>,
    /// `None` once the loop is over.
    body: Option<Arc<Body<F>>>,
    runtime: Option<&'a Runtime>,
    until_cancelled: Option<UntilCancelled>,
    tasks: TaskGroup<Ended<R>>,
    tuner: Tuner,
    handle: LoopHandle,
    begun: u64,
    /// Items from this position on are cancelled, and none begins; `None` while the loop is not stopped.
    stopped_from: Option<u64>,
    /// Why the last poll began no more items.
    because: BeginsNoMore,
    /// The panic of the source's drop, when the loop was stopped before its end.
    source_panic: Option<Payload>,
    record: AsyncLoopRecord,
    /// The line with which its own waits are shown.
    site: Site,
}

/// What all items share.
struct Body<F> {
    make: F,
    /// Items that have been polled.
    polled: AtomicUsize,
}

/// What an item's task reports.
struct Ended<R> {
    value: R,
    item_start: ItemStart,
    /// How many items were polled before this one.
    place: usize,
    at: Instant,
}

/// The outcome of an item: its position, and its value or its panic.
type Outcome<R> = (u64, Result<R, Payload>);

impl<'a, S, F, Fut> Driver<'a, S, F, Fut::Output>
where
    S: Pull,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send + 'static> + Send + 'static,
{
    /// What runs the items, and a handle to it.
    #[track_caller]
    pub(super) fn new<E: Ending>(
        source: S,
        body: F,
        options: &AsyncOptions<'a, E>,
    ) -> (Self, LoopHandle) {
        let (tasks, site) = (TaskGroup::new(), Site::here());
        let handle = LoopHandle::new(tasks.waker());
        let token = options.ending.token();
        let driver = Self {
            source: Some(source),
            items: None,
            body: Some(Arc::new(Body {
                make: body,
                polled: AtomicUsize::new(0),
            })),
            runtime: options.runtime,
            until_cancelled: token.map(Token::until_cancelled),
            tasks,
            tuner: Tuner::new(options.concurrency),
            handle: handle.clone(),
            begun: 0,
            stopped_from: None,
            because: BeginsNoMore::SourcePending,
            source_panic: None,
            record: AsyncLoopRecord::begin::<F>(site),
            site,
        };
        (driver, handle)
    }

    /// The outcome of the next item that ended; `None` when there are no more.
    pub(super) async fn next(&mut self) -> Option<Outcome<Fut::Output>> {
        poll_fn(|context| self.poll_next(context, usize::MAX)).await
    }

    /// As [`next`](Self::next), with at most `room_max` items running.
    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
        room_max: usize,
    ) -> Poll<Option<Outcome<Fut::Output>>> {
        self.record.note(|| AsyncLoopEvent::PollBegins(time::now()));
        if let Some(limits) = self.handle.take_limits() {
            self.tuner.set_limits(limits);
        }
        self.check_cancellation(context);
        let polled = loop {
            match catch(|| self.begin_items(context, room_max)) {
                Ok(because) => self.because = because,
                Err(payload) => {
                    self.stop();
                    break Poll::Ready(Some((self.begun, Err(payload))));
                }
            }
            let site = self.site;
            match site.poll(|| self.tasks.poll_next(context)) {
                Poll::Pending => break Poll::Pending,
                Poll::Ready(None) if self.items.is_some() => break Poll::Pending,
                Poll::Ready(None) => {
                    let panic = self.source_panic.take();
                    break Poll::Ready(panic.map(|payload| (self.begun, Err(payload))));
                }
                Poll::Ready(Some((index, result))) => {
                    let position = index as u64;
                    if let Some(outcome) = self.sort_out(position, result) {
                        break Poll::Ready(Some((position, outcome)));
                    }
                }
            }
        };
        let is_over = matches!(polled, Poll::Ready(None));
        let (running, concurrency) = (self.tasks.len(), self.tuner.level());
        self.record.note(|| AsyncLoopEvent::PollEnds {
            because: self.because,
            running,
            allowed: concurrency,
            found: is_over.then(|| self.tuner.concurrency()),
            now: time::now(),
        });
        let has_new_limits = self.handle.show(Progress {
            concurrency,
            running,
            begun: self.begun,
        });
        if has_new_limits && polled.is_pending() {
            // They may have come before the items knew this waker.
            wake_by_ref(context.waker());
        }
        polled
    }

    /// The loop's results are given to their consumer, which polls again when there is time for the next.
    pub(super) fn give_result(&mut self) {
        self.record.note(|| AsyncLoopEvent::GivesResult);
    }

    /// Begins no more items, and cancels the running ones.
    pub(super) fn stop(&mut self) {
        self.stop_from(0);
    }

    /// Begins no more items, and cancels those that run at this position or behind it.
    pub(super) fn stop_from(&mut self, first: u64) {
        let before = self.stopped_from;
        if before.is_some_and(|before| before <= first) {
            return;
        }
        self.stopped_from = Some(first);
        // Of positions that do not fit no item is there.
        self.tasks
            .abort_from(usize::try_from(first).unwrap_or(usize::MAX));
        if before.is_none() {
            self.record.note(|| AsyncLoopEvent::Stops);
            let source = (self.source.take(), self.items.take());
            self.source_panic = catch(|| drop(source)).err();
        }
    }

    /// All items have ended. Drops the body, and with it what it has lent; gives the panics of that.
    pub(super) fn end(&mut self) -> Vec<Payload> {
        let dropped = catch(|| drop(self.body.take()));
        dropped.map_or_else(AggregatePanic::parts, |()| Vec::new())
    }

    /// How many items may run at once.
    pub(super) fn concurrency(&self) -> usize {
        self.tuner.level()
    }

    /// Whether the loop itself has cancelled this item.
    fn is_cancelled(&self, position: u64) -> bool {
        self.stopped_from.is_some_and(|first| first <= position)
    }

    fn check_cancellation(&mut self, context: &mut Context<'_>) {
        let (cancelled, site) = (self.until_cancelled.as_mut(), self.site);
        let poll = |cancelled: &mut UntilCancelled| site.poll(|| cancelled.poll_cancelled(context));
        if cancelled.is_some_and(|cancelled| poll(cancelled).is_ready()) {
            self.until_cancelled = None;
            self.stop();
        }
    }

    /// Whether items could have begun at the last poll, but the source has used up its time. That poll woke its own
    /// task.
    pub(super) fn is_behind(&self) -> bool {
        self.because == BeginsNoMore::SourceBusy
    }

    /// Takes and begins items while there is room for them. A slow source is interrupted, because other items may have
    /// ended meanwhile.
    fn begin_items(&mut self, context: &mut Context<'_>, room_max: usize) -> BeginsNoMore {
        let begun = time::now();
        if let Some(source) = self.source.take() {
            self.items = Some(source.into_items());
        }
        while let Some(items) = &mut self.items {
            if self.tasks.len() >= self.tuner.level() {
                return BeginsNoMore::Full;
            }
            if self.tasks.len() >= room_max {
                return BeginsNoMore::Consumer;
            }
            match Pin::new(items).poll_next(context) {
                Poll::Ready(Some(item)) => self.begin(item),
                Poll::Ready(None) => self.items = None,
                Poll::Pending => return BeginsNoMore::SourcePending,
            }
            if time::now().saturating_duration_since(begun) > FILLING_MAX {
                wake_by_ref(context.waker());
                return BeginsNoMore::SourceBusy;
            }
        }
        BeginsNoMore::SourceEnded
    }

    fn begin(&mut self, item: S::Item) {
        let _entered = self.runtime.map(Runtime::enter);
        let body = self
            .body
            .clone()
            .expect("a loop that is over begins nothing");
        let item_start = self.tuner.begin(time::now(), self.tasks.len());
        self.tasks.spawn(async move {
            // Relaxed: the counter only gives out numbers.
            let place = body.polled.fetch_add(1, Ordering::Relaxed);
            let value = InPlace::of((body.make)(item)).await;
            let at = time::now();
            Ended {
                value,
                item_start,
                place,
                at,
            }
        });
        self.begun += 1;
    }

    /// The outcome of an item; `None` if it was cancelled because the loop was stopped.
    fn sort_out(
        &mut self,
        position: u64,
        result: Result<Ended<Fut::Output>, JoinError>,
    ) -> Option<Result<Fut::Output, Payload>> {
        match result {
            Ok(ended) => {
                self.tuner.end(ended.item_start, ended.place, ended.at);
                self.record.note(|| AsyncLoopEvent::CallEnds {
                    running: self.tasks.len() + 1,
                    taken: ended.item_start.taken_until(ended.at),
                });
                Some(Ok(ended.value))
            }
            Err(error) if self.is_cancelled(position) && error.is_cancelled() => None,
            Err(error) => {
                self.stop();
                let shut_down = |_| -> Payload { Box::new(SHUT_DOWN) };
                Some(Err(error.try_into_panic().unwrap_or_else(shut_down)))
            }
        }
    }
}

impl<S: Pull, F, R> Drop for Driver<'_, S, F, R> {
    fn drop(&mut self) {
        // Of a loop that was dropped before its end.
        contain(|| drop(self.body.take()));
    }
}

/// One poll takes items for at most this long.
const FILLING_MAX: Duration = Duration::from_millis(1);
/// An item that was dropped although its loop was not stopped.
const SHUT_DOWN: &str = "the runtime was shut down while an async loop ran on it";
