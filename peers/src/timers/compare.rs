//! The parent's side: runs the cases and prints times, CPU time and memory of each contender.

use std::time::Duration;

use crate::cli::{Settings, TimerSize};
use crate::plan::{self, Plan};
use crate::report::{self, Column, Report};
use crate::team::{Lifetime, Outcome, Team};
use crate::timers::ARMS;

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, size: &TimerSize, report: &mut Report) -> Outcome {
    let (count, millis) = if settings.quick { QUICK } else { USUAL };
    let (count, millis) = (size.count.unwrap_or(count), size.millis.unwrap_or(millis));
    let cases = SHAPES
        .iter()
        .map(|(shape, _)| format!("{shape} {count} {millis}"))
        .collect();
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("timers", &ARMS, lifetime, settings, plan.seed);
    report.line("## Timers\n");
    plan.describe(report);
    report.line(&format!(
        "A measurement is {} sleeps of {millis} ms in a fresh process. Late is how long after the \
         last deadline the last sleep ended. Memory is the growth of the resident peak. Ratios of \
         CPU time are to tokio.\n",
        report::count(count as usize),
    ));
    let results = team.run(&cases, |_| plan.rounds, plan.window);
    for result in &results {
        report.case(report::title_of(&SHAPES, &result.case), result, &COLUMNS);
    }
    report.notes(&results)
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
const QUICK: (u32, u32) = (100_000, 500);
const ROUNDS: usize = 3;
