//! The parent's side: prints when the short task ran, and when all that blocks had begun or ended.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};
use crate::starvation::ARMS;

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = CASES.iter().map(|case| case.name.to_owned()).collect();
    let plan = Plan::new("starvation", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Starvation", report);
    report.line(
        "A measurement is one flood of closures that block, on a pool of two workers in a fresh \
         process. Ratios are to tokio's spawn_blocking.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        if let Some(case) = CASES.iter().find(|case| case.name == result.case) {
            report.case(case.title, result, case.columns);
        }
    }
    Ok(report.notes(&results))
}

/// A case as the child knows it, and how it is shown.
#[derive(Debug)]
struct Case {
    name: &'static str,
    title: &'static str,
    columns: &'static [Column],
}

const CASES: [Case; 2] = [
    Case {
        name: "sleeps",
        title: "A short task behind 64 sleeps of 50 ms",
        columns: &[
            Column::time("short task after", 0),
            Column::ratio("ratio", 0),
            Column::time("all ended after", 1),
        ],
    },
    Case {
        name: "gate",
        title: "122 closures that block until all of them have begun, or two seconds have passed",
        columns: &[
            Column::time("all begun after", 0),
            Column::ratio("ratio", 0),
        ],
    },
];
const ROUNDS: usize = 7;
