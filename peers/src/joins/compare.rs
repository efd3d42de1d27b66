//! The parent's side: runs the cases and prints their times and ratios.
//!
//! chili and forte run a join's second closure first, the others the first. A tree built bottom-up lies in
//! memory so that visiting the right child first is several times faster, so every contender, the plain
//! recursion included, is written to visit the right child first.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::joins::{ARMS, CASES};
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let plan = Plan::new("joins", settings, ROUNDS, WINDOW);
    let cases = plan.select(CASES.map(str::to_owned).to_vec())?;
    plan.describe("Joins", report);
    let results = plan.run(&ARMS, Lifetime::Kept, &cases);
    for result in &results {
        report.case(title(&result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

fn title(case: &str) -> &'static str {
    match case {
        "fib" => "fib(32) without cut-off",
        "tree-small" => "Sum of a tree of 1,023 nodes",
        "tree-big" => "Sum of a tree of 16,777,215 nodes",
        "invoke" => "Four closures of one hash, back to back",
        _ => "Four closures of one hash, after 2 ms of sleep",
    }
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 3] = [
    Column::time("time per call", 0),
    Column::ratio_to("to plain", "plain", 0),
    Column::ratio_to("to chili", "chili", 0),
];
const ROUNDS: usize = 25;
const WINDOW: Duration = Duration::from_millis(60);
