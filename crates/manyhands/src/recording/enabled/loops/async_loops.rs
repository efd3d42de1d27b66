//! With the feature: what is recorded of an async loop: it is listed while it runs, and reported on when it is over. Same
//! functions as in `recording/disabled.rs`.
//!
//! # Threads
//! A loop's driver counts for itself, and adds to counts that only the list of running loops reads. The report is that of
//! the thread that polls the loop last.
//!
//! Not here: loops of threads (`running.rs`), and what a report says (`calls_report.rs`, `inspect/loops/calls_verdict.rs`).

use crate::recording::enabled::loops::calls_report::{CallsAccount, Ended};
use crate::recording::enabled::loops::part::{body_name, elapsed};
use crate::recording::enabled::loops::report::LoopReport;
use crate::recording::enabled::loops::running::keep;
use crate::recording::enabled::loops::site::LoopSite;
use crate::recording::enabled::loops::snapshot::LoopSnapshot;
use crate::recording::enabled::opening::is_open;
use crate::recording::enabled::tasks::current;
use crate::recording::enabled::tasks::task_number::TaskNumber;
use crate::recording::{BeginsNoMore, FoundConcurrency};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, clock, global, lock};
use std::any::type_name;
use std::sync::Arc;
use std::time::{Duration, Instant};

global! {
    static LISTED: Mutex<Vec<Arc<Listed>>> = Mutex::new(Vec::new());
}

/// A loop that is in the list until it is over, or this is dropped.
#[derive(Debug)]
pub(crate) struct AsyncLoopRecord(Option<Box<Recorded>>);

#[derive(Debug)]
struct Recorded {
    listed: Arc<Listed>,
    /// `None` until it is polled.
    account: Option<CallsAccount>,
}

#[derive(Debug)]
struct Listed {
    begun: u64,
    body: &'static str,
    site: LoopSite,
    caller: Option<TaskNumber>,
    done: AtomicU64,
    runners: AtomicUsize,
    threads: AtomicUsize,
}

impl AsyncLoopRecord {
    /// A loop begins that was called at `site`, whose items go to a body of the type `C`.
    #[inline]
    pub(crate) fn begin<C>(site: LoopSite) -> Self {
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
    fn begin(consumer: &'static str, site: LoopSite) -> Box<Self> {
        let listed = Arc::new(Listed {
            begun: clock::ticks(),
            body: body_name(consumer),
            site,
            caller: current::get().number,
            done: AtomicU64::new(0),
            runners: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
        });
        lock(&LISTED).push(Arc::clone(&listed));
        Box::new(Self {
            listed,
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
        self.listed.done.fetch_add(1, Ordering::Relaxed);
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
        self.listed.threads.store(allowed, Ordering::Relaxed);
        self.listed.runners.store(running, Ordering::Relaxed);
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
        lock(&LISTED).retain(|other| !Arc::ptr_eq(other, &self.listed));
        let Some(account) = self.account else { return };
        let now = now.unwrap_or_else(|| account.counted());
        let Ended {
            items,
            elapsed,
            calls,
        } = account.end(now, known);
        keep(LoopReport {
            body: self.listed.body,
            called_at: self.listed.site.0,
            items,
            elapsed,
            runners: Vec::new(),
            // Relaxed: written by this thread, or the one that has polled it before.
            threads: self.listed.threads.load(Ordering::Relaxed),
            opened_after: None,
            before_opening: None,
            alone_because: None,
            trial: None,
            calls: Some(calls),
        });
    }
}

/// The async loops that run now, the oldest first.
pub(crate) fn read() -> Vec<LoopSnapshot> {
    let listed = lock(&LISTED).clone();
    let now = clock::ticks();
    let snapshot = |listed: &Arc<Listed>| LoopSnapshot {
        body: listed.body,
        called_at: listed.site.0,
        items: None,
        // Relaxed, all: counts.
        done: listed.done.load(Ordering::Relaxed),
        runners: listed.runners.load(Ordering::Relaxed),
        threads: listed.threads.load(Ordering::Relaxed),
        task: listed.caller,
        age: elapsed(now.saturating_sub(listed.begun)),
    };
    listed.iter().map(snapshot).collect()
}
