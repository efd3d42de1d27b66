//! With the feature: what is recorded of an async loop: it is listed while it runs, and reported on when it is over. Same
//! functions as in `recording/disabled.rs`.
//!
//! # Threads
//! A loop's driver counts for itself, and adds to counts that only the list of running loops reads. The report is that of
//! the thread that polls the loop last.
//!
//! Not here: loops of threads (`running.rs`), and what a report says (the crate `manyhands-analysis`).

use crate::recording::enabled::loops::calls_account::CallsAccount;
use crate::recording::enabled::loops::running::{Running, call_now, keep};
use crate::recording::enabled::{Site, is_open, moment};
use crate::recording::{AsyncLoopEvent, BeginsNoMore, FoundConcurrency};
use crate::sync::atomic::Ordering;
use std::any::type_name;
use std::sync::Arc;

/// A loop that is in the list until it is over, or this is dropped.
pub(crate) struct AsyncLoopRecord(Option<Box<Recorded>>);

struct Recorded {
    running: Arc<Running>,
    /// `None` until it is polled.
    account: Option<CallsAccount>,
    /// What the loop knows, when all its items have ended.
    found: Option<FoundConcurrency>,
}

impl AsyncLoopRecord {
    /// A loop begins that was called at `site`, whose items go to a body of the type `C`.
    #[inline]
    pub(crate) fn begin<C>(site: Site) -> Self {
        let recorded = || Recorded {
            running: Running::begin(call_now(None, type_name::<C>(), site)),
            account: None,
            found: None,
        };
        Self(is_open().then(|| Box::new(recorded())))
    }

    /// This happens.
    #[inline]
    pub(crate) fn note(&mut self, event: impl FnOnce() -> AsyncLoopEvent) {
        if let Some(recorded) = &mut self.0 {
            recorded.note(event());
            if recorded.found.is_some() {
                self.0 = None;
            }
        }
    }
}

impl Recorded {
    #[cold]
    fn note(&mut self, event: AsyncLoopEvent) {
        if let AsyncLoopEvent::PollBegins(now) = event {
            self.account.get_or_insert_with(|| CallsAccount::begin(now));
        }
        let Some(account) = &mut self.account else {
            return;
        };
        match event {
            AsyncLoopEvent::PollBegins(now) => account.pass(now),
            AsyncLoopEvent::CallEnds { running, taken } => {
                // Relaxed: a count.
                self.running.done.fetch_add(1, Ordering::Relaxed);
                account.end_call(running, taken);
            }
            AsyncLoopEvent::PollEnds {
                because,
                running,
                allowed,
                found,
                now,
            } => {
                // Relaxed, both: numbers to show.
                self.running.threads.store(allowed, Ordering::Relaxed);
                self.running.runners.store(running, Ordering::Relaxed);
                account.because = because;
                account.pass(now);
                account.runs(running, allowed);
                self.found = found;
            }
            AsyncLoopEvent::GivesResult => account.because = BeginsNoMore::Consumer,
            AsyncLoopEvent::Stops => account.is_stopped = true,
        }
    }
}

/// It is over; one that is dropped before its end, since its last poll.
impl Drop for Recorded {
    #[cold]
    fn drop(&mut self) {
        self.running.unlist();
        let Some(account) = self.account.take() else {
            return;
        };
        let is_stopped = account.is_stopped || self.found.is_none();
        let (items, elapsed, calls) = account.end(self.found);
        let mut report = self.running.report(Some(u64::MAX), moment());
        (report.items, report.elapsed, report.is_stopped) = (items, elapsed, is_stopped);
        (report.alone_because, report.calls) = (None, Some(calls));
        keep(report);
    }
}
