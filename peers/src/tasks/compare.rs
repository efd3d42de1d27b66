//! The parent's side: runs the cases and prints time, CPU time and memory of each contender.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{self, Outcome, Report};
use crate::tasks::ARMS;

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = CASES.iter().map(|(case, _)| (*case).to_owned()).collect();
    let plan = Plan::new("tasks", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Tasks", report);
    report.line(
        "A measurement is a million empty async tasks, or a million yields, in a fresh process. \
         Times are per task, or per yield. Memory is the growth of the resident peak. Ratios are \
         to tokio.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case(report::title_of(&CASES, &result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 4] = [
    Column::time("time", 0),
    Column::ratio("ratio", 0),
    Column::time("CPU time", 1),
    Column::megabytes("memory", 2),
];
/// The cases as the child knows them, and their titles.
const CASES: [(&str, &str); 8] = [
    ("detached outside", "Detached, from outside the pool"),
    ("detached inside", "Detached, from inside the pool"),
    (
        "awaited outside 1000",
        "Spawned and awaited in batches of a thousand, from outside the pool",
    ),
    (
        "awaited inside 1000",
        "Spawned and awaited in batches of a thousand, from inside the pool",
    ),
    (
        "awaited outside 1000000",
        "A million spawned, then awaited, from outside the pool",
    ),
    (
        "awaited inside 1000000",
        "A million spawned, then awaited, from inside the pool",
    ),
    ("yields 1", "Yields of one task"),
    ("yields 100", "Yields of a hundred tasks in turn"),
];
const ROUNDS: usize = 9;
