//! The parent's side: runs the cases and prints times, CPU time and memory of each contender.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};
use manyhands_lab::report::count;

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{self, Outcome, Report};
use crate::timers::ARMS;

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let (sleeps, millis) = if settings.extent.is_full() {
        USUAL
    } else {
        SHORT
    };
    let size = settings.size;
    let (sleeps, millis) = (size.count.unwrap_or(sleeps), size.millis.unwrap_or(millis));
    let cases = SHAPES
        .iter()
        .map(|(shape, _)| format!("{shape} {sleeps} {millis}"))
        .collect();
    let plan = Plan::new("timers", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Timers", report);
    report.line(&format!(
        "A measurement is {} sleeps of {millis} ms in a fresh process. Late is how long after the \
         last deadline the last sleep ended. Memory is the growth of the resident peak. Ratios of \
         CPU time are to tokio.\n",
        count(sleeps as usize),
    ));
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case(report::title_of(&SHAPES, &result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 5] = [
    Column::time("in all", 0),
    Column::time("late", 1),
    Column::time("CPU time", 2),
    Column::ratio("ratio", 2),
    Column::megabytes("memory", 3),
];
/// The shapes as the child knows them, and their titles.
const SHAPES: [(&str, &str); 3] = [
    ("tasks", "A task for each sleep, handles kept"),
    (
        "join_all",
        "All in the calling thread's future, by join_all of the futures crate",
    ),
    ("slice", "All in one task of the pool, in one slice"),
];
/// Sleeps, and milliseconds of each.
const USUAL: (u32, u32) = (1_000_000, 10_000);
const SHORT: (u32, u32) = (100_000, 500);
const ROUNDS: usize = 7;
