//! With the feature: what is recorded of a parallel loop, the list of all that run, and the report of the last one.
//! Same functions as in `recording/disabled.rs`.
//!
//! A loop is recorded while it runs; each runner counts for itself and adds its part when it ends. When the loop is over
//! its report is kept for the thread that called it, and for the place.
//!
//! # Threads
//! Runners add to counts that the list of running loops reads, and put their parts into one list behind a lock.
//!
//! Not here: what a report says (the crate `manyhands-analysis`), and those of all places
//! (`last_reports.rs`).

use crate::recording::enabled::loops::last_reports as loop_reports;
use crate::recording::enabled::{Site, current, moment};
use crate::recording::loop_observer::{LoopObserver, RunnerObserver};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, OnceLock, clock, lock, thread_state};
use manyhands_analysis::{AloneBecause, Call, LoopReport, Moment, Part, Parts, Phase};
use manyhands_wire::{Loop, place, printable};
use std::any::type_name;
use std::cell::RefCell;
use std::ptr;
use std::sync::Arc;

crate::sync::thread_local! {
    /// The last loop that this thread has called.
    static LAST: RefCell<Option<Arc<LoopReport>>> = const { RefCell::new(None) };
}

static RUNNING: Mutex<Vec<Arc<Running>>> = Mutex::new(Vec::new());

/// A loop that runs, with its record. One that is too short to be looked at has none.
pub(crate) struct RecordedLoop {
    call: Call,
    running: OnceLock<Arc<Running>>,
    /// The consumer's end; `None` until the loop has returned.
    end: Option<u64>,
}

/// A loop in the list of those that run. An async one has no parts.
pub(super) struct Running {
    pub(super) call: Call,
    /// How many items have been run.
    pub(super) done: AtomicU64,
    /// How many runners it has now.
    pub(super) runners: AtomicUsize,
    /// How many it may have: 1 until it is opened to others.
    pub(super) threads: AtomicUsize,
    parts: Mutex<Parts>,
}

/// The part of one runner.
pub(crate) struct Recording<'a> {
    running: &'a Running,
    part: Part,
    phase: Phase,
    thread: thread_state::ThreadName,
    /// Its processor time when it began.
    processor_nanos: Option<u64>,
}

/// Runs a loop of `items` items, or of an unknown number, that was called at `site`, and whose items go to a consumer of
/// the type `C`, with its record; `run` returns the consumer's end. The record ends also when a body panics.
pub(crate) fn during_loop<C>(
    items: Option<u64>,
    site: Site,
    run: impl FnOnce(&RecordedLoop) -> u64,
) {
    let mut recorded = RecordedLoop {
        call: call_now(items, type_name::<C>(), site),
        running: OnceLock::new(),
        end: None,
    };
    recorded.end = Some(run(&recorded));
}

impl RecordedLoop {
    fn running(&self) -> &Running {
        self.running.get_or_init(|| Running::begin(self.call))
    }

    /// Of one that was too short to be looked at, and has run in one block.
    fn short_report(&self, ended: Moment) -> LoopReport {
        let items = self.end.and(self.call.items).unwrap_or(0);
        let mut parts = Parts::default();
        parts.add_block_alone(&self.call, items, ended.ticks);
        parts.alone_because = (items > 0).then_some(AloneBecause::AlwaysShort);
        parts.report(&self.call, self.end, 1, ended)
    }
}

impl Drop for RecordedLoop {
    fn drop(&mut self) {
        match self.running.get() {
            Some(running) => running.end(self.end),
            None => keep(self.short_report(moment())),
        }
    }
}

/// By the calling thread, and the task that it runs.
pub(super) fn call_now(items: Option<u64>, consumer: &'static str, site: Site) -> Call {
    Call {
        begun: clock::ticks(),
        items,
        consumer,
        called_at: site.0,
        task: current::get().number,
        thread: thread_key(),
    }
}

/// Names the calling thread while it lives.
fn thread_key() -> usize {
    let key = LAST.try_with(|last| ptr::from_ref(last).addr());
    key.unwrap_or(0)
}

impl Running {
    pub(super) fn begin(call: Call) -> Arc<Self> {
        let running = Arc::new(Self {
            call,
            done: AtomicU64::new(0),
            runners: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
            parts: Mutex::new(Parts::default()),
        });
        lock(&RUNNING).push(Arc::clone(&running));
        running
    }

    /// It is over, so it leaves the list.
    pub(super) fn unlist(&self) {
        lock(&RUNNING).retain(|other| !ptr::eq(&raw const **other, self));
    }

    fn end(&self, end: Option<u64>) {
        let ended = moment();
        self.unlist();
        clock::calibrate();
        keep(self.report(end, ended));
    }

    pub(super) fn report(&self, end: Option<u64>, ended: Moment) -> LoopReport {
        let parts = lock(&self.parts);
        // Relaxed: written under this lock, or by the threads that have polled an async loop, one after the other.
        let threads = self.threads.load(Ordering::Relaxed);
        parts.report(&self.call, end, threads, ended)
    }
}

pub(crate) fn keep(report: LoopReport) {
    let report = Arc::new(report);
    loop_reports::keep(&report);
    // A thread that is ending has no place for it any more.
    let before = LAST.try_with(|last| last.replace(Some(report)));
    drop(before);
}

/// How the last loop of the calling thread ran, and what kept it from being faster: which threads joined when, what each did, a
/// verdict, and as text two sentences. `None` before the first loop, and for those that ended before
/// [`open`](crate::diagnostics::open).
///
/// Loops and queries are recorded, `invoke`, and async loops. A query may be several loops, of which this is the last. A
/// loop inside another one is the last until the outer one ends. An async loop is one of the thread that polls it last: ask in
/// the next line after its `await`. It has calls in place of runners. Those of all threads, by the places that call them, are
/// given by [`loop_reports`](crate::inspect::loop_reports).
///
/// # Cost
/// A copy of the report. A loop takes a short lock for each runner, and one for its report, while recording is open.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::inspect::{self, AloneBecause, Verdict};
/// use manyhands::{diagnostics, parallel};
/// diagnostics::open();
/// parallel::Options::new().degree_of_parallelism(1).unwrap().for_each(0..1_000_u64, |i| {
///     std::hint::black_box(i);
/// });
/// let report = inspect::last_loop().unwrap();
/// assert_eq!((report.items, report.rounds()), (1_000, 1_000));
/// assert!(report.runners.iter().all(|runner| runner.is_caller && runner.blocks > 0));
/// assert_eq!(report.alone_because, Some(AloneBecause::OneAllowed));
/// assert_eq!(report.verdict(), Verdict::OneRunner);
/// assert!(report.alone_share() == 1.0 && report.imbalance() == 1.0);
/// assert!(report.mean_runners() <= 1.0);
/// assert!(report.off_processor_share().is_none_or(|share| share <= 1.0));
/// assert!(report.runners[0].longest_block.times_heavier() > 0.0);
/// assert!(report.trial.is_none_or(|trial| trial.times_slower() > 1.0));
/// assert!(report.to_string().ends_with("alone. No more than one runner was allowed."));
/// # }
/// ```
///
/// An async loop, by a virtual clock:
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::inspect::{self, CallLimit, Verdict};
/// use manyhands::simulation::Simulation;
/// use manyhands::{diagnostics, parallel, time};
/// use std::time::Duration;
/// diagnostics::open();
/// let report = Simulation::new(1).run(async {
///     let eight = parallel::AsyncOptions::new().degree_of_parallelism(8).unwrap();
///     eight.for_each_async(0..100, |_| time::sleep(Duration::from_millis(40))).await;
///     inspect::last_loop().unwrap()
/// });
/// let report = report.unwrap();
/// assert_eq!(report.verdict(), Verdict::ConcurrencySet);
/// assert!(report.to_string().ends_with(
///     "with the setting of 8 at a time this list cannot take less than 500.0ms."
/// ));
/// let calls = report.calls.unwrap();
/// assert_eq!((calls.first_at_once, calls.limit), (8, CallLimit::Set));
/// assert!(calls.trial.is_none_or(|trial| trial.times_faster() < 2.0));
/// # }
/// ```
#[must_use]
pub fn last_loop() -> Option<LoopReport> {
    let last = LAST.try_with(|last| last.borrow().clone());
    last.ok().flatten().map(|last| LoopReport::clone(&last))
}

/// The loops that run now, also the async ones, the oldest first.
pub(crate) fn read() -> Vec<Loop> {
    let running = lock(&RUNNING).clone();
    let now = moment();
    let line = |running: &Arc<Running>| Loop {
        body: printable(running.call.body()),
        called_at: Some(place(running.call.called_at)),
        items: running.call.items,
        // Relaxed, all: counts.
        done: running.done.load(Ordering::Relaxed),
        runners: running.runners.load(Ordering::Relaxed),
        threads: running.threads.load(Ordering::Relaxed),
        task: running.call.task.map(|task| task.to_string()),
        age_us: now.micros_since(running.call.begun),
    };
    running.iter().map(line).collect()
}

impl<'a> LoopObserver for &'a RecordedLoop {
    type Runner = Recording<'a>;

    const MEASURES_SHORT: bool = true;

    fn alone(self, because: AloneBecause) {
        lock(&self.running().parts).alone_because = Some(because);
    }

    fn opens(self, threads: usize) {
        let at = clock::ticks();
        let running = self.running();
        let mut parts = lock(&running.parts);
        parts.opened.get_or_insert_with(|| {
            // Relaxed: a number to show, and the report reads it under this lock.
            running.threads.store(threads, Ordering::Relaxed);
            at
        });
    }

    fn compared(self, alone: u64, shared: u64, runners: u64, is_contended: bool) {
        let times = (alone, shared);
        lock(&self.running().parts).compare(times, runners, is_contended, moment());
    }

    fn caller_alone(self) -> Recording<'a> {
        Recording::begin(self.running(), None, Phase::Alone)
    }

    fn ran_alone(self, items: u64) {
        let running = self.running();
        let now = clock::ticks();
        // Relaxed: a count.
        running.done.fetch_add(items, Ordering::Relaxed);
        lock(&running.parts).add_block_alone(&running.call, items, now);
    }

    fn runner(self, worker: Option<usize>) -> Recording<'a> {
        Recording::begin(self.running(), worker, Phase::Shared)
    }
}

impl<'a> Recording<'a> {
    fn begin(running: &'a Running, worker: Option<usize>, phase: Phase) -> Self {
        // Relaxed: a count.
        running.runners.fetch_add(1, Ordering::Relaxed);
        let thread = thread_state::current_thread();
        Self {
            running,
            part: Part::begin(thread_key(), worker, clock::ticks()),
            phase,
            thread,
            processor_nanos: thread_state::cpu_nanos(thread),
        }
    }
}

impl RunnerObserver for Recording<'_> {
    fn block(&mut self, items: u64) {
        let now = clock::ticks();
        self.part.block(items, now);
        // Relaxed: a count.
        self.running.done.fetch_add(items, Ordering::Relaxed);
    }

    fn took_items(&mut self) {
        self.part.took_items(clock::ticks());
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        let span = clock::ticks().saturating_sub(self.part.joined);
        let used = thread_state::cpu_nanos(self.thread).zip(self.processor_nanos);
        let off = used
            .map(|(now, before)| clock::nanos_in(span).saturating_sub(now.saturating_sub(before)));
        self.part.off_processor_nanos = off;
        // Relaxed: a count.
        self.running.runners.fetch_sub(1, Ordering::Relaxed);
        lock(&self.running.parts).add(self.part, self.phase);
    }
}
