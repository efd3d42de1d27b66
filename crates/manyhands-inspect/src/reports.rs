//! Why loops did not scale: the last report of each place that calls loops, and their table.
//!
//! Not here: the sentences, which the program makes.

use crate::words::{PATH_CHARS_MAX, runners_of, short, tail, time};
use comfy_table::{LineStyle, Table, TableStyle};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// How the last loop of a place ran that has ended, and what kept it from being faster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopReport {
    /// The function that is its body, or in which the closure is written that is.
    #[serde(deserialize_with = "crate::wire::without_closure")]
    pub body: String,
    /// File, line and column of the call.
    pub called_at: String,
    /// `scaled`, `too_short`, `too_few_items`, `shared_late`, `long_item`, `bodies_slow_each_other`, `source_slow`,
    /// `helpers_elsewhere`, `off_processor`, `one_runner`, `no_place`; and of async loops `concurrency_set`,
    /// `consumer_slow` or `stopped`.
    pub verdict: String,
    /// A sentence: how it ran.
    pub ran: String,
    /// A sentence: what kept it from being faster.
    pub why: String,
    /// How many items it had.
    pub items: u64,
    /// In how many blocks they were run; 0 of an async loop.
    pub blocks: u64,
    /// How many threads have run items; of an async loop, how many calls were in flight at most.
    pub runners: usize,
    /// How many threads could have run it at once, fewer than `runners` where one was added for another that blocked; 1 if it was not opened to others. Of an async loop, how many calls could
    /// at its end.
    pub threads: usize,
    /// Microseconds that the call took.
    pub elapsed_us: u64,
    /// Microseconds that its runners ran items, summed.
    pub busy_us: u64,
    /// Microseconds in which the caller was alone.
    pub alone_us: u64,
    /// The time of the runner that worked longest, in per cent of the mean time; 100 is balanced.
    pub imbalance_percent: u64,
    /// The calls of an async loop.
    #[serde(default)]
    pub in_flight: Option<InFlight>,
    /// How many loops of this place have ended, since the program keeps its reports.
    pub calls: u64,
    /// Microseconds since it has ended.
    pub ended_us: u64,
}

/// The calls of an async loop that were in flight at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// How many when the first one ended.
    pub first: usize,
    /// How many at most.
    pub most: usize,
    /// Their mean number, in hundredths.
    pub mean_percent: u64,
    /// Where the number that could run at once came from: `set`, `found`, `highest` or `not_found`.
    pub limit: String,
    /// Microseconds that one of the first calls took, the median.
    pub first_us: u64,
    /// Microseconds that one of the last calls took, the median.
    pub last_us: u64,
}

impl LoopReport {
    /// The verdict in words.
    pub(crate) fn verdict_words(&self) -> String {
        self.verdict.replace('_', " ")
    }

    /// The time of the runner that worked longest, of the mean time; an async loop has no runners.
    pub(crate) fn imbalance(&self) -> String {
        match self.in_flight {
            None => format!("{} %", self.imbalance_percent),
            Some(_) => String::from("–"),
        }
    }

    pub(crate) fn ended_ago(&self) -> String {
        format!("{} ago", time(self.ended_us))
    }
}

/// A table with the numbers, and below it the sentences; nothing if there is no report.
pub(crate) fn reports_text(reports: &[LoopReport]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(REPORT_COLUMNS);
    for report in reports {
        table.add_row([
            short(&report.called_at).to_owned(),
            report.verdict_words(),
            report.items.to_string(),
            report.blocks.to_string(),
            runners_of(report.runners, report.threads),
            time(report.elapsed_us),
            time(report.alone_us),
            report.imbalance(),
            report.calls.to_string(),
            report.ended_ago(),
            tail(&report.body, PATH_CHARS_MAX).to_owned(),
        ]);
    }
    let mut text = format!("loops that have ended:\n{}", table.trim_fmt());
    for report in reports {
        let at = short(&report.called_at);
        let _ = write!(text, "\n  {at}: {} {}", report.ran, report.why);
    }
    text
}

/// The columns of a table of reports.
const REPORT_COLUMNS: [&str; 11] = [
    "called at",
    "verdict",
    "items",
    "blocks",
    "runners",
    "took",
    "alone for",
    "imbalance",
    "calls",
    "ended",
    "loop",
];
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

#[cfg(test)]
pub(crate) mod tests {
    use super::{LoopReport, reports_text};

    /// A loop that was shared late.
    pub(crate) fn late() -> LoopReport {
        LoopReport {
            body: "shop::price".to_owned(),
            called_at: "src/shop.rs:31:5".to_owned(),
            verdict: "shared_late".to_owned(),
            ran: "73 items ran in 97.0ms, in 2 blocks, on the calling thread alone.".to_owned(),
            why: "Shared late: the calling thread was alone for the first 97.0ms.".to_owned(),
            items: 73,
            blocks: 2,
            runners: 1,
            threads: 4,
            elapsed_us: 97_000,
            busy_us: 96_000,
            alone_us: 97_000,
            imbalance_percent: 100,
            in_flight: None,
            calls: 12,
            ended_us: 3_400_000,
        }
    }

    #[test]
    fn a_report_is_a_row_of_numbers_and_two_sentences() {
        let text = reports_text(&[late()]);
        for part in [
            "loops that have ended:\n",
            "src/shop.rs:31 ",
            "shared late",
            "1 of 4",
            "97.0 ms",
            "100 %",
            "3.4 s ago",
            "shop::price",
            "src/shop.rs:31: 73 items ran in 97.0ms, in 2 blocks, on the calling thread alone. Shared late: ",
        ] {
            assert!(text.contains(part), "'{part}' is missing in:\n{text}");
        }
        assert_eq!(reports_text(&[]), "");
    }

    #[test]
    fn a_line_of_a_report_is_read_and_what_is_not_known_is_ignored() {
        let mut line = serde_json::to_value(late()).unwrap();
        line["planet"] = 7.into();
        line["body"] = "shop::price::{{closure}}".into();
        let read: LoopReport = serde_json::from_value(line).unwrap();
        assert_eq!(read, late());
    }
}
