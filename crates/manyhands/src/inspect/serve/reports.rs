//! The report of a loop as a line of JSON.
//!
//! Not here: the other lines (`wire.rs`).

use crate::inspect::serve::wire::{line_of, micros, place, text};
use crate::recording::CallLimit;
use crate::recording::enabled::loops::report::LoopReport;
use miniserde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
struct Report {
    body: String,
    called_at: String,
    verdict: &'static str,
    ran: String,
    why: String,
    items: u64,
    blocks: u64,
    runners: usize,
    threads: usize,
    elapsed_us: u64,
    busy_us: u64,
    alone_us: u64,
    imbalance_percent: u64,
    in_flight: Option<InFlight>,
    calls: u64,
    ended_us: u64,
}

/// Of an async loop.
#[derive(Serialize)]
struct InFlight {
    first: usize,
    most: usize,
    mean_percent: u64,
    limit: &'static str,
    first_us: u64,
    last_us: u64,
}

/// The last report of a place that calls loops; the loop has ended so long ago.
pub(super) fn report(report: &LoopReport, calls: u64, ended: Duration) -> String {
    let in_flight = report.calls.as_ref().map(|calls| InFlight {
        first: calls.first_at_once,
        most: calls.most_at_once,
        mean_percent: percent(report.mean_runners()),
        limit: call_limit(calls.limit),
        first_us: micros(calls.took_first),
        last_us: micros(calls.took_last),
    });
    let report = Report {
        body: text(report.body),
        called_at: place(report.called_at),
        verdict: report.verdict().word(),
        ran: report.ran(),
        why: report.why(),
        items: report.items,
        blocks: report.blocks(),
        runners: match &report.calls {
            Some(calls) => calls.most_at_once,
            None => report.runners.len(),
        },
        threads: report.threads,
        elapsed_us: micros(report.elapsed),
        busy_us: micros(report.worked()),
        alone_us: micros(report.alone_for()),
        imbalance_percent: percent(report.imbalance()),
        in_flight,
        calls,
        ended_us: micros(ended),
    };
    line_of("report", &report)
}

/// A ratio, which is not negative.
fn percent(ratio: f64) -> u64 {
    // A hundred milliseconds for a ratio of one.
    micros(Duration::from_millis(100).mul_f64(ratio)) / 1_000
}

fn call_limit(limit: CallLimit) -> &'static str {
    match limit {
        CallLimit::Set => "set",
        CallLimit::Found => "found",
        CallLimit::Highest => "highest",
        CallLimit::NotFound => "not_found",
    }
}
