//! The parent's side: runs the cases and prints time and CPU time of each contender.

use std::time::Duration;

use manyhands_lab::contest::{Arm, Column, Lifetime};

use crate::channels::{ARMS, SINGLE_RECEIVER};
use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = ["1to1", "4to1", "2to2", "pingpong"]
        .iter()
        .flat_map(|shape| LIMITS.map(|limit| format!("{shape} {limit}")))
        .collect();
    let plan = Plan::new("channels", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Channels", report);
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
        results.extend(plan.run(arms, Lifetime::Kept, &cases));
    }
    for result in &results {
        report.case(&result.case, result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 3] = [
    Column::time("time", 0),
    Column::ratio("ratio", 0),
    Column::time("CPU time", 1),
];
const LIMITS: [&str; 2] = ["unbounded", "bounded"];
const ROUNDS: usize = 9;
