//! The parent's side: runs the cases and prints time, CPU time and memory of each contender.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::Settings;
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::tasks::ARMS;
use crate::team::{Arm, Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let cases = CASES.iter().map(|(case, _)| (*case).to_owned()).collect();
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("tasks", &ARMS, lifetime, &settings.only, plan.seed);
    report.line("## Tasks\n");
    plan.describe(report);
    report.line(
        "A measurement is a million empty async tasks, or a million yields, in a fresh process. \
         Times are per task, or per yield. Memory is the growth of the resident peak. Ratios are \
         to tokio.\n",
    );
    let results = team.run(&cases, |_| plan.rounds, plan.window);
    for result in &results {
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    let title = CASES.iter().find(|(case, _)| *case == result.case);
    let title = title.map_or(result.case.as_str(), |(_, title)| title);
    report.line(&format!("### {title}\n"));
    let header = ["", "time", "ratio", "CPU time", "memory"].map(str::to_owned);
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
    vec![
        label.to_owned(),
        cell(&|result| report::median_of(result, label, NANOS).map(report::time)),
        cell(&|result| report::ratio_of(result, label, base, NANOS).map(report::ratio)),
        cell(&|result| report::median_of(result, label, CPU_NANOS).map(report::time)),
        cell(&|result| {
            report::median_of(result, label, MEGABYTES).map(|value| format!("{value:.1} MB"))
        }),
    ]
}

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
/// Places among a sample's values.
const NANOS: usize = 0;
const CPU_NANOS: usize = 1;
const MEGABYTES: usize = 2;
const ROUNDS: usize = 9;
