//! The report of a loop as a line.
//!
//! Not here: what it says (`verdict.rs`, `sentences.rs`, `numbers.rs`).

use crate::loops::report::LoopReport;
use manyhands_wire::{self as wire, InFlight, Line, place, printable, word};
use std::time::Duration;

/// The last report of a place of which `calls_ended` loops have ended, the last one this many microseconds ago.
#[must_use]
pub fn report_line(report: &LoopReport, calls_ended: u64, ended_us: u64) -> Line {
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
        calls: calls_ended,
        ended_us,
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

#[cfg(test)]
mod tests {
    use crate::loops::calls::CallLimit;
    use crate::loops::verdict::Verdict;
    use manyhands_wire::word;
    use std::fmt::Debug;

    /// A variant that gets another name must keep its word: clients know it by that.
    fn assert_sent(values: &[&dyn Debug], words: &str) {
        let sent: Vec<String> = values.iter().map(word).collect();
        assert_eq!(sent.join(" "), words);
    }

    #[test]
    fn the_words_for_loops_stay_as_they_are() {
        assert_sent(
            &[
                &CallLimit::Set,
                &CallLimit::Found,
                &CallLimit::Highest,
                &CallLimit::NotFound,
            ],
            "set found highest not_found",
        );
        assert_sent(
            &[
                &Verdict::Scaled,
                &Verdict::TooShort,
                &Verdict::TooFewItems,
                &Verdict::SharedLate,
                &Verdict::LongItem,
                &Verdict::BodiesSlowEachOther,
                &Verdict::SourceSlow,
                &Verdict::HelpersElsewhere,
                &Verdict::OffProcessor,
                &Verdict::OneRunner,
                &Verdict::NoPlace,
                &Verdict::ConcurrencySet,
                &Verdict::ConsumerSlow,
                &Verdict::Stopped,
            ],
            "scaled too_short too_few_items shared_late long_item bodies_slow_each_other source_slow helpers_elsewhere \
             off_processor one_runner no_place concurrency_set consumer_slow stopped",
        );
    }
}
