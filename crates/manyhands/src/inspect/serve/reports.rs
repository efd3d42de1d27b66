//! The report of a loop as a line.
//!
//! Not here: what it says (`inspect/loops`).

use crate::recording::LoopReport;
use crate::recording::enabled::loops::last_reports::KeptReport;
use crate::recording::micros;
use manyhands_wire::{self as wire, InFlight, Line, place, printable, word};
use std::time::Duration;

/// The last report of a place that calls loops, at this reading of the tick counter.
pub(super) fn line(kept: &KeptReport, now: u64) -> Line {
    let report: &LoopReport = &kept.report;
    let calls = report.calls.as_ref();
    Line::Report(wire::LoopReport {
        body: printable(report.body),
        called_at: place(report.called_at),
        verdict: word(report.verdict()),
        ran: report.ran(),
        why: report.why(),
        items: report.items,
        blocks: report.blocks(),
        runners: calls.map_or(report.runners.len(), |calls| calls.most_at_once),
        threads: report.threads,
        elapsed_us: as_micros(report.elapsed),
        busy_us: as_micros(report.worked()),
        alone_us: as_micros(report.alone_for()),
        imbalance_percent: percent(report.imbalance()),
        in_flight: calls.map(|calls| InFlight {
            first: calls.first_at_once,
            most: calls.most_at_once,
            mean_percent: percent(report.mean_runners()),
            limit: word(calls.limit),
            first_us: as_micros(calls.took_first),
            last_us: as_micros(calls.took_last),
        }),
        calls: kept.calls,
        ended_us: micros(now.saturating_sub(kept.ended)),
    })
}

/// As many as can be counted.
fn as_micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A ratio, which is not negative.
fn percent(ratio: f64) -> u64 {
    // A hundred milliseconds for a ratio of one.
    as_micros(Duration::from_millis(100).mul_f64(ratio)) / 1_000
}
