//! The parent's side: runs the cases and prints time, CPU time and memory of each contender.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};
use manyhands_lab::report::count;

use crate::cli::Settings;
use crate::items::ARMS;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let mut cases = vec![format!("outside {MILLION}"), format!("inside {MILLION}")];
    if settings.extent.is_full() {
        cases.extend([
            format!("outside {TEN_MILLION}"),
            format!("inside {TEN_MILLION}"),
        ]);
    }
    let plan = Plan::new("items", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Items", report);
    report.line(
        "A measurement is one spawn of all items in a fresh process. Memory is the growth of the \
         resident peak. Ratios are to crossbeam-2, one producer and two consumers.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case(&title(&result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

fn title(case: &str) -> String {
    let (place, len) = case.split_once(' ').unwrap_or((case, "0"));
    let len = count(len.parse().unwrap_or(0));
    format!("{len} empty closures from {place} the pool")
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 5] = [
    Column::time("time per item", 0),
    Column::ratio("ratio", 0),
    Column::time("CPU time per item", 1),
    Column::megabytes("memory", 2),
    Column::percent("waiting when the last is handed over", 3),
];
const MILLION: &str = "1000000";
const TEN_MILLION: &str = "10000000";
const ROUNDS: usize = 9;
