//! What kept the last loop from being faster.

use crate::inspect::{self, LoopReport};

/// How the last loop of the calling thread ran, and what kept it from being faster: who joined when, what each did, a
/// verdict, and as text two sentences. `None` before the first loop, and for those that ended before
/// [`inspect::open`](crate::inspect::open).
///
/// Loops and queries are recorded, `invoke`, and async loops. A query may be several loops, of which this is the last. A
/// loop inside another one is the last until the outer one ends. An async loop is one of the thread that polls it last: ask in
/// the next line after its `await`. It has calls in place of runners. Those of all threads, by the places that call them, are
/// given by [`inspect::loop_reports`](crate::inspect::loop_reports).
///
/// # Cost
/// A copy of the report. A loop takes a short lock for each runner, and one for its report, while recording is open.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect")] {
/// use manyhands::inspect::{self, AloneBecause, Verdict};
/// use manyhands::parallel;
/// inspect::open();
/// parallel::options().degree_of_parallelism(1).unwrap().for_each(0..1_000_u64, |i| {
///     std::hint::black_box(i);
/// });
/// let report = parallel::explain_last().unwrap();
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
/// # #[cfg(feature = "inspect")] {
/// use manyhands::inspect::{self, CallLimit, Verdict};
/// use manyhands::simulation::Simulation;
/// use manyhands::{parallel, time};
/// use std::time::Duration;
/// inspect::open();
/// let report = Simulation::new(1).run(async {
///     let eight = parallel::async_options().degree_of_parallelism(8).unwrap();
///     eight.for_each_async(0..100, |_| time::sleep(Duration::from_millis(40))).await;
///     parallel::explain_last().unwrap()
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
#[doc(alias = "profile")]
#[must_use]
pub fn explain_last() -> Option<LoopReport> {
    inspect::last_loop()
}
