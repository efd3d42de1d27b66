//! With the feature: the last report of each place that calls loops.
//!
//! Loops that have ended are kept until a later one is called from the same place. Beyond [`REPORTS_MAX`] places, that whose
//! last loop ended first gives way.
//!
//! # Threads
//! The caller of a loop changes the list when the loop ends, behind one lock that is held for a search among few places. It
//! shares the report with the list, so nothing is copied there.
//!
//! Not here: what a report says (the crate `manyhands-analysis`).

use crate::sync::{Mutex, clock, lock};
use manyhands_analysis::LoopReport;
use std::sync::Arc;

/// That of the loop that ended last is the last.
static KEPT: Mutex<Vec<KeptReport>> = Mutex::new(Vec::new());

/// The last report of each place in the program that has called a loop since recording was opened, that of the loop that ended
/// last first. Of at most 64 places, those that have called one last.
///
/// Where [`last_loop`](crate::inspect::last_loop) answers a thread about its own loop, these are of all threads.
/// Which loops are reported on is said there.
///
/// # Cost
/// A copy of the reports.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{inspect, parallel};
/// manyhands::diagnostics::open();
/// let other = std::thread::spawn(|| {
///     parallel::Options::new().degree_of_parallelism(1).unwrap().for_each(0..4_321_u64, |i| {
///         std::hint::black_box(i);
///     });
/// });
/// other.join().unwrap();
/// let reports = inspect::loop_reports();
/// let its = reports.iter().find(|report| report.items == 4_321).unwrap();
/// assert_eq!((its.called_at.file(), its.verdict()), (file!(), inspect::Verdict::OneRunner));
/// # }
/// ```
#[must_use]
pub fn loop_reports() -> Vec<LoopReport> {
    let reports = read().into_iter().map(|kept| kept.report);
    reports.map(Arc::unwrap_or_clone).collect()
}

/// A loop has ended.
pub(crate) fn keep(report: &Arc<LoopReport>) {
    let now = clock::ticks();
    let replaced = keep_in(&mut lock(&KEPT), REPORTS_MAX, Arc::clone(report), now);
    // Freed outside the lock.
    drop(replaced);
}

/// What is kept, that of the loop that ended last first.
pub(crate) fn read() -> Vec<KeptReport> {
    lock(&KEPT).iter().rev().cloned().collect()
}

/// The last report of a place.
#[derive(Debug, Clone)]
pub(crate) struct KeptReport {
    pub(crate) report: Arc<LoopReport>,
    /// When the loop ended, in ticks.
    pub(crate) ended: u64,
    /// How many loops of this place have ended, since the place is kept.
    pub(crate) calls: u64,
}

/// Keeps a report among this many; returns the one that gives way.
fn keep_in(
    kept: &mut Vec<KeptReport>,
    reports_max: usize,
    report: Arc<LoopReport>,
    ended: u64,
) -> Option<KeptReport> {
    let is_same = |kept: &KeptReport| kept.report.called_at == report.called_at;
    let known = kept.iter().position(is_same);
    let calls = 1 + known.map_or(0, |place| kept[place].calls);
    let oldest = (kept.len() == reports_max).then_some(0);
    let replaced = known.or(oldest).map(|place| kept.remove(place));
    kept.push(KeptReport {
        report,
        ended,
        calls,
    });
    replaced
}

/// Places of which a report is kept: more than a person reads, and few enough to be searched for each loop that ends.
const REPORTS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::{KeptReport, keep_in};
    use crate::recording::enabled::moment;
    use manyhands_analysis::{Call, LoopReport, Parts};
    use std::panic::Location;
    use std::sync::Arc;

    fn report(called_at: &'static Location<'static>, items: u64) -> Arc<LoopReport> {
        let call = Call {
            begun: 0,
            items: Some(items),
            consumer: "shop::main::{{closure}}",
            called_at,
            task: None,
            thread: 0,
        };
        Arc::new(Parts::default().report(&call, Some(0), 1, moment()))
    }

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    /// Items and calls of each, the newest first.
    fn listed(kept: &[KeptReport]) -> Vec<(u64, u64)> {
        let newest_first = kept.iter().rev();
        newest_first
            .map(|kept| (kept.report.items, kept.calls))
            .collect()
    }

    #[test]
    fn a_place_keeps_its_last_report_and_counts_its_calls() {
        let mut kept = Vec::new();
        let (one, other) = (here(), here());
        assert_ne!(one, other);
        assert!(keep_in(&mut kept, 9, report(one, 1), 10).is_none());
        assert!(keep_in(&mut kept, 9, report(other, 2), 20).is_none());
        assert_eq!(listed(&kept), [(2, 1), (1, 1)]);
        let replaced = keep_in(&mut kept, 9, report(one, 3), 30);
        assert_eq!(replaced.map(|kept| kept.report.items), Some(1));
        assert_eq!(listed(&kept), [(3, 2), (2, 1)]);
    }

    #[test]
    fn beyond_the_limit_the_place_whose_last_loop_ended_first_gives_way() {
        let mut kept = Vec::new();
        let places = [here(), here(), here(), here()];
        for (at, items) in (0..3).zip(1..) {
            assert!(keep_in(&mut kept, 3, report(places[at], items), items).is_none());
        }
        // The first place calls again, so the second one is the oldest.
        keep_in(&mut kept, 3, report(places[0], 4), 4);
        let replaced = keep_in(&mut kept, 3, report(places[3], 5), 5);
        assert_eq!(replaced.map(|kept| kept.report.items), Some(2));
        assert_eq!(listed(&kept), [(5, 1), (4, 2), (3, 1)]);
        // Its calls are counted from the beginning when it comes back.
        keep_in(&mut kept, 3, report(places[1], 6), 6);
        assert_eq!(listed(&kept), [(6, 1), (5, 1), (4, 2)]);
    }
}
