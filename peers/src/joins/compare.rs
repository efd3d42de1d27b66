//! The parent's side: runs the three cases and prints their times and ratios.
//!
//! chili and forte run a join's second closure first, the others the first. A tree built bottom-up lies in
//! memory so that visiting the right child first is several times faster, so every contender, the plain
//! recursion included, is written to visit the right child first.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::Settings;
use crate::joins::{ARMS, CASES};
use crate::plan::{self, Plan};
use crate::report::{self, Report};
use crate::team::{Arm, Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let cases = match plan::select(CASES.map(str::to_owned).to_vec(), settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, WINDOW);
    let mut team = Team::new("joins", &ARMS, Lifetime::Kept, settings, plan.seed);
    report.line("## Joins\n");
    plan.describe(report);
    let results = team.run(&cases, |_| plan.rounds, plan.window);
    for result in &results {
        print_table(result, report);
    }
    report.notes(&results)
}

fn print_table(result: &CaseResult, report: &mut Report) {
    report.line(&format!("### {}\n", title(&result.case)));
    let header = ["", "time per call", "to plain", "to chili"].map(str::to_owned);
    let rows: Vec<Vec<String>> = result
        .arms
        .iter()
        .map(|(arm, _)| row(result, *arm))
        .collect();
    report.table(&header, &rows);
}

fn row(result: &CaseResult, arm: Arm) -> Vec<String> {
    let label = arm.label;
    let ratio_to = |base: &str| {
        // A base that did not run leaves a dash, not a doubt about this arm.
        let ratio = |result: &CaseResult| {
            Some(report::ratio_of(result, label, base, 0).map_or_else(|| "·".into(), report::ratio))
        };
        report::cell(Some(result), label, ratio)
    };
    let time = |result: &CaseResult| report::median_of(result, label, 0).map(report::time);
    vec![
        label.to_owned(),
        report::cell(Some(result), label, time),
        ratio_to("plain"),
        ratio_to("chili"),
    ]
}

fn title(case: &str) -> &'static str {
    match case {
        "fib" => "fib(32) without cut-off",
        "tree-small" => "Sum of a tree of 1,023 nodes",
        _ => "Sum of a tree of 16,777,215 nodes",
    }
}

const ROUNDS: usize = 25;
const WINDOW: Duration = Duration::from_millis(60);
