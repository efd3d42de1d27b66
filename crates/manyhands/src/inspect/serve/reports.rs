//! The report of a loop as a line of JSON.
//!
//! Not here: the other lines (`wire.rs`).

use crate::inspect::serve::json::Object;
use crate::inspect::serve::wire::{line_of, micros, place, text, word};
use crate::recording::LoopReport;
use std::time::Duration;

/// The last report of a place that calls loops, with the time since the loop ended.
pub(super) fn report(report: &LoopReport, times_called: u64, ended: Duration) -> String {
    let calls = report.calls.as_ref();
    let runners = calls.map_or(report.runners.len(), |calls| calls.most_at_once);
    let in_flight = calls.map(|calls| {
        Object::new()
            .with("first", calls.first_at_once)
            .with("most", calls.most_at_once)
            .with("mean_percent", percent(report.mean_runners()))
            .with("limit", word(calls.limit))
            .with("first_us", micros(calls.took_first))
            .with("last_us", micros(calls.took_last))
    });
    let report = Object::new()
        .with("body", text(report.body))
        .with("called_at", place(report.called_at))
        .with("verdict", word(report.verdict()))
        .with("ran", report.ran())
        .with("why", report.why())
        .with("items", report.items)
        .with("blocks", report.blocks())
        .with("runners", runners)
        .with("threads", report.threads)
        .with("elapsed_us", micros(report.elapsed))
        .with("busy_us", micros(report.worked()))
        .with("alone_us", micros(report.alone_for()))
        .with("imbalance_percent", percent(report.imbalance()))
        .with("in_flight", in_flight)
        .with("calls", times_called)
        .with("ended_us", micros(ended));
    line_of("report", report)
}

/// A ratio, which is not negative.
fn percent(ratio: f64) -> u64 {
    // A hundred milliseconds for a ratio of one.
    micros(Duration::from_millis(100).mul_f64(ratio)) / 1_000
}
