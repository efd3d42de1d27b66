//! Why loops did not scale: the last report of each place that calls loops, and their table.
//!
//! Not here: the sentences, which the program makes.

use crate::words::{PATH_CHARS_MAX, new_table, runners_of, short, tail, time};
use manyhands_wire::LoopReport;
use std::fmt::Write;

/// The verdict in words.
pub(crate) fn verdict_words(report: &LoopReport) -> String {
    report.verdict.replace('_', " ")
}

/// The time of the runner that worked longest, of the mean time; an async loop has no runners.
pub(crate) fn imbalance(report: &LoopReport) -> String {
    match report.in_flight {
        None => format!("{} %", report.imbalance_percent),
        Some(_) => String::from("–"),
    }
}

pub(crate) fn ended_ago(report: &LoopReport) -> String {
    format!("{} ago", time(report.ended_us))
}

/// A table with the numbers, and below it the sentences; nothing if there is no report.
pub(crate) fn reports_text(reports: &[LoopReport]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let mut table = new_table(&REPORT_COLUMNS);
    for report in reports {
        table.add_row([
            short(&report.called_at).to_owned(),
            verdict_words(report),
            report.items.to_string(),
            report.blocks.to_string(),
            runners_of(report.runners, report.threads),
            time(report.elapsed_us),
            time(report.alone_us),
            imbalance(report),
            report.calls.to_string(),
            ended_ago(report),
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

#[cfg(test)]
pub(crate) mod tests {
    use super::reports_text;
    use manyhands_wire::LoopReport;

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
