//! The parent's side: runs the cases and prints time and CPU time of each contender.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::channels::{ARMS, SINGLE_RECEIVER};
use crate::cli::Settings;
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::team::{Arm, Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let cases = ["1to1", "4to1", "2to2", "pingpong"]
        .iter()
        .flat_map(|shape| LIMITS.map(|limit| format!("{shape} {limit}")))
        .collect();
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    report.line("## Channels\n");
    plan.describe(report);
    report.line(
        "A measurement passes half a million numbers, or 20,000 to and fro; bounded channels hold \
         128. Times are per message, or per round trip. Ratios are to crossbeam.\n",
    );
    let (shared, single): (Vec<String>, Vec<String>) =
        cases.into_iter().partition(|case| case.starts_with("2to2"));
    let can_share = |arm: &Arm| !SINGLE_RECEIVER.contains(&arm.contender);
    let sharing: Vec<Arm> = ARMS.into_iter().filter(can_share).collect();
    let mut results = Vec::new();
    for (cases, arms) in [(single, ARMS.as_slice()), (shared, &sharing)] {
        let mut team = Team::new("channels", arms, Lifetime::Kept, &settings.only, plan.seed);
        results.extend(team.run(&cases, |_| plan.rounds, plan.window));
    }
    for result in &results {
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    report.line(&format!("### {}\n", result.case));
    let header = ["", "time", "ratio", "CPU time"].map(str::to_owned);
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
    ]
}

/// Places among a sample's values.
const NANOS: usize = 0;
const CPU_NANOS: usize = 1;
const LIMITS: [&str; 2] = ["unbounded", "bounded"];
const ROUNDS: usize = 9;
