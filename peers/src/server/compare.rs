//! The parent's side: prints what the heavy request takes when it is seldom, and when it is all there is.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};
use crate::server::ARMS;

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = CASES.iter().map(|(case, ..)| (*case).to_owned()).collect();
    let plan = Plan::new("server", settings, ROUNDS, WINDOW);
    let cases = plan.select(cases)?;
    plan.describe("Server", report);
    report.line(
        "The heavy request counts primes, about 10 ms of work. Ratios are to manyhands with that \
         done in order; below 1 is faster.\n",
    );
    let results = plan.run(&ARMS, Lifetime::Kept, &cases);
    for result in &results {
        if let Some((_, title, columns)) = CASES.iter().find(|(case, ..)| *case == result.case) {
            report.case(title, result, columns);
        }
    }
    Ok(report.notes(&results))
}

/// The cases as the child knows them, their titles and columns.
const CASES: [(&str, &str, &[Column]); 2] = [
    (
        "seldom",
        "One client, with pauses",
        &[
            Column::time("a heavy request", 0),
            Column::ratio("ratio", 0),
        ],
    ),
    (
        "saturated",
        "Eight clients without pauses, and a ninth that asks for something cheap",
        &[
            Column::time("for each heavy request", 0),
            Column::ratio("ratio", 0),
            Column::time("a cheap request", 1),
            Column::time("processor time for each heavy request", 2),
        ],
    ),
];
const WINDOW: Duration = Duration::from_millis(1_500);
const ROUNDS: usize = 7;
