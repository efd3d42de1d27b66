//! The parent's side: runs the cases and prints times, CPU time and memory of each contender.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::{Settings, TimerSize};
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::team::{Arm, Lifetime, Outcome, Team};
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
    let mut team = Team::new("timers", &ARMS, lifetime, &settings.only, plan.seed);
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
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    let is_it = |(shape, _): &&(&str, &str)| result.case.starts_with(shape);
    let title = SHAPES.iter().find(is_it);
    let title = title.map_or(result.case.as_str(), |(_, title)| title);
    report.line(&format!("### {title}\n"));
    let header = ["", "in all", "late", "CPU time", "ratio", "memory"].map(str::to_owned);
    let rows: Vec<Vec<String>> = result
        .arms
        .iter()
        .map(|(arm, _)| row(result, *arm))
        .collect();
    report.table(&header, &rows);
}

fn row(result: &CaseResult, arm: Arm) -> Vec<String> {
    let label = arm.label;
    let base = ARMS[0].label;
    let cell =
        |format: &dyn Fn(&CaseResult) -> Option<String>| report::cell(Some(result), label, format);
    let time = |index| cell(&|result| report::median_of(result, label, index).map(report::time));
    vec![
        label.to_owned(),
        time(NANOS),
        time(LATE_NANOS),
        time(CPU_NANOS),
        cell(&|result| report::ratio_of(result, label, base, CPU_NANOS).map(report::ratio)),
        cell(&|result| {
            report::median_of(result, label, MEGABYTES).map(|value| format!("{value:.1} MB"))
        }),
    ]
}

/// The shapes as the child knows them, and their titles.
const SHAPES: [(&str, &str); 3] = [
    ("tasks", "A task for each sleep, handles kept"),
    (
        "join_all",
        "All in the calling thread's future, by join_all of the futures crate",
    ),
    ("slice", "All in one task of the pool, in one slice"),
];
/// Places among a sample's values.
const NANOS: usize = 0;
const LATE_NANOS: usize = 1;
const CPU_NANOS: usize = 2;
const MEGABYTES: usize = 3;
/// Sleeps, and milliseconds of each.
const USUAL: (u32, u32) = (1_000_000, 10_000);
const QUICK: (u32, u32) = (100_000, 500);
const ROUNDS: usize = 3;
