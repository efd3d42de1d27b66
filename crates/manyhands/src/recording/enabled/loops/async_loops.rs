//! With the feature: what is recorded of an async loop: it is listed while it runs, and reported on when it is over. Same
//! functions as in `recording/disabled.rs`.
//!
//! # Threads
//! A loop's driver counts for itself, and adds to counts that only the list of running loops reads. The report is that of
//! the thread that polls the loop last.
//!
//! Not here: loops of threads (`running.rs`), and what a report says (`calls_report.rs`, `inspect/loops/calls_verdict.rs`).

use crate::recording::enabled::loops::calls_report::CallsAccount;
use crate::recording::enabled::loops::report::LoopReport;
use crate::recording::enabled::loops::running::{Running, call_now, keep};
use crate::recording::enabled::opening::is_open;
use crate::recording::enabled::waits::site::Site;
use crate::recording::{BeginsNoMore, FoundConcurrency};
use crate::sync::atomic::Ordering;
use crate::sync::clock;
use std::any::type_name;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A loop that is in the list until it is over, or this is dropped.
#[derive(Debug)]
pub(crate) struct AsyncLoopRecord(Option<Box<Recorded>>);

#[derive(Debug)]
struct Recorded {
    running: Arc<Running>,
    /// `None` until it is polled.
    account: Option<CallsAccount>,
}

impl AsyncLoopRecord {
    /// A loop begins that was called at `site`, whose items go to a body of the type `C`.
    #[inline]
    pub(crate) fn begin<C>(site: Site) -> Self {
        Self(is_open().then(|| Recorded::begin(type_name::<C>(), site)))
    }

    /// It is polled.
    #[inline]
    pub(crate) fn poll_begins(&mut self, now: impl FnOnce() -> Instant) {
        if let Some(recorded) = &mut self.0 {
            recorded.poll_begins(now());
        }
    }

    /// One of `running` calls has ended.
    #[inline]
    pub(crate) fn done(&mut self, running: usize, taken: impl FnOnce() -> Duration) {
        if let Some(recorded) = &mut self.0 {
            recorded.done(running, taken());
        }
    }

    /// A poll ends: it begins no more calls for this reason, while `running` run of those that may.
    #[inline]
    pub(crate) fn poll_ends(
        &mut self,
        because: BeginsNoMore,
        (running, allowed): (usize, usize),
        now: impl FnOnce() -> Instant,
    ) {
        if let Some(recorded) = &mut self.0 {
            recorded.poll_ends(because, (running, allowed), now());
        }
    }

    /// A result is given away: until the next poll it is the taker's.
    #[inline]
    pub(crate) fn gives_result(&mut self) {
        if let Some(recorded) = &mut self.0 {
            recorded.gives_result();
        }
    }

    /// It ends its calls.
    #[inline]
    pub(crate) fn stops(&mut self) {
        if let Some(account) = self.0.as_mut().and_then(|known| known.account.as_mut()) {
            account.stop();
        }
    }

    /// It is over.
    #[inline]
    pub(crate) fn ends(
        &mut self,
        known: impl FnOnce() -> FoundConcurrency,
        now: impl FnOnce() -> Instant,
    ) {
        if let Some(recorded) = self.0.take() {
            recorded.end(Some(known()), Some(now()));
        }
    }
}

impl Drop for AsyncLoopRecord {
    #[inline]
    fn drop(&mut self) {
        if let Some(recorded) = self.0.take() {
            recorded.end(None, None);
        }
    }
}

impl Recorded {
    #[cold]
    fn begin(consumer: &'static str, site: Site) -> Box<Self> {
        Box::new(Self {
            running: Running::begin(call_now(None, consumer, site)),
            account: None,
        })
    }

    #[cold]
    fn poll_begins(&mut self, now: Instant) {
        let account = &mut self.account;
        account
            .get_or_insert_with(|| CallsAccount::begin(now))
            .pass(now);
    }

    #[cold]
    fn done(&mut self, running: usize, taken: Duration) {
        // Relaxed: a count.
        self.running.done.fetch_add(1, Ordering::Relaxed);
        if let Some(account) = &mut self.account {
            account.end_call(running, taken);
        }
    }

    #[cold]
    fn poll_ends(
        &mut self,
        because: BeginsNoMore,
        (running, allowed): (usize, usize),
        now: Instant,
    ) {
        // Relaxed, both: numbers to show.
        self.running.threads.store(allowed, Ordering::Relaxed);
        self.running.runners.store(running, Ordering::Relaxed);
        if let Some(account) = &mut self.account {
            account.begins_no_more(because);
            account.pass(now);
            account.runs(running, allowed);
        }
    }

    #[cold]
    fn gives_result(&mut self) {
        if let Some(account) = &mut self.account {
            account.begins_no_more(BeginsNoMore::Consumer);
        }
    }

    /// `known`: what the loop knows if all its items have ended. One that is dropped is over since its last poll.
    #[cold]
    fn end(self, known: Option<FoundConcurrency>, now: Option<Instant>) {
        self.running.unlist();
        let Some(account) = self.account else { return };
        let now = now.unwrap_or_else(|| account.counted());
        let (items, elapsed, calls) = account.end(now, known);
        keep(LoopReport {
            items,
            elapsed,
            alone_because: None,
            calls: Some(calls),
            ..self.running.report(clock::ticks())
        });
    }
}
