//! The parent's side: runs the cases and prints time and CPU time of each contender.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::Settings;
use crate::io::ARMS;
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::team::{Arm, Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let cases = CONNECTIONS.map(|count| count.to_string()).to_vec();
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("io", &ARMS, lifetime, settings, plan.seed);
    report.line("## Sockets\n");
    plan.describe(report);
    report.line(
        "A measurement is 20,000 round trips of 64 bytes over loopback TCP connections in a fresh \
         process, server and clients in one pool. Times are per round trip. Ratios are to tokio.\n",
    );
    let results = team.run(&cases, |_| plan.rounds, plan.window);
    for result in &results {
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    report.line(&format!("### {} connections\n", result.case));
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

const CONNECTIONS: [usize; 4] = [1, 10, 100, 1_000];
/// Places among a sample's values.
const NANOS: usize = 0;
const CPU_NANOS: usize = 1;
const ROUNDS: usize = 5;
