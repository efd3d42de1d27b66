//! The parent's side: prints the tasks' latency and what the loops keep of their speed.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::mixed::ARMS;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let plan = Plan::new("mixed", settings, ROUNDS, WINDOW);
    let cases = CASES.iter().map(|&(name, _)| name.to_owned()).collect();
    let cases = plan.select(cases)?;
    plan.describe("Mixed", report);
    report.line(
        "A measurement is an endless loop of SHA-512 on every worker, or one for each CPU, half of the time with \
         2,000 short tasks a second from outside beside it, in a fresh process. Throughput is the loops' \
         beside the tasks over their own alone; so is the processor time of the whole process for each hash.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        if let Some((_, title)) = CASES.iter().find(|(name, _)| *name == result.case) {
            report.case(title, result, &COLUMNS);
        }
    }
    Ok(report.notes(&results))
}

/// The table's columns, by place among a sample's values.
const COLUMNS: [Column; 7] = [
    Column::time("the first after", 5),
    Column::time("half within", 0),
    Column::time("99 % within", 1),
    Column::ratio("ratio", 1),
    Column::times("throughput", 2),
    Column::time("a hash alone", 3),
    Column::times("processor time for each hash", 4),
];
const CASES: [(&str, &str); 2] = [
    ("loop", "Short tasks beside an endless loop"),
    (
        "loops",
        "Short tasks beside an endless loop for each CPU, each called by another task or thread",
    ),
];
const WINDOW: Duration = Duration::from_secs(2);
const ROUNDS: usize = 7;
