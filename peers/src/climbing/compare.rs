//! The parent's side: prints the time for each task, without and with hill climbing.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::climbing::ARMS;
use crate::plan::Plan;
use crate::report::{self, Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = CASES.iter().map(|(case, _)| (*case).to_owned()).collect();
    let plan = Plan::new("climbing", settings, ROUNDS, WINDOW);
    let cases = plan.select(cases)?;
    plan.describe("Hill climbing", report);
    report.line(
        "A measurement keeps 64 tasks going for the length of the window, in a fresh process. Times are per task \
         that has ended. Ratios are to the pool without hill climbing.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case(report::title_of(&CASES, &result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 2] = [Column::time("time", 0), Column::ratio("ratio", 0)];
/// The cases as the child knows them, and their titles.
const CASES: [(&str, &str); 3] = [
    ("compute", "Tasks that compute for 25 µs"),
    ("spin", "Tasks that yield their thread until 1 ms is over"),
    ("sleep", "Tasks that compute for 50 µs and sleep for 1 ms"),
];
const WINDOW: Duration = Duration::from_millis(2_500);
const ROUNDS: usize = 7;
