//! The parent's side: runs the cases and prints time, CPU time and memory of each contender.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::Settings;
use crate::items::ARMS;
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::team::{Arm, Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let mut cases = vec![format!("outside {MILLION}"), format!("inside {MILLION}")];
    if !settings.quick {
        cases.extend([
            format!("outside {TEN_MILLION}"),
            format!("inside {TEN_MILLION}"),
        ]);
    }
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    let rounds = |case: &str| {
        let is_long = case.ends_with(TEN_MILLION) && settings.rounds.is_none();
        if is_long {
            plan.rounds.min(LONG_ROUNDS)
        } else {
            plan.rounds
        }
    };
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("items", &ARMS, lifetime, &settings.only, plan.seed);
    report.line("## Items\n");
    plan.describe(report);
    report.line(&format!(
        "A measurement is one spawn of all items in a fresh process ({} rounds for ten million). \
         Memory is the growth of the resident peak. Ratios are to crossbeam-2, one producer and \
         two consumers.\n",
        rounds(TEN_MILLION)
    ));
    let results = team.run(&cases, rounds, plan.window);
    for result in &results {
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    let (place, count) = result.case.split_once(' ').unwrap_or((&result.case, "0"));
    let count = report::count(count.parse().unwrap_or(0));
    report.line(&format!(
        "### {count} empty closures from {place} the pool\n"
    ));
    let header = ["", "time per item", "ratio", "CPU time per item", "memory"].map(str::to_owned);
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

/// Places among a sample's values.
const NANOS: usize = 0;
const CPU_NANOS: usize = 1;
const MEGABYTES: usize = 2;
const MILLION: &str = "1000000";
const TEN_MILLION: &str = "10000000";
const ROUNDS: usize = 9;
const LONG_ROUNDS: usize = 3;
