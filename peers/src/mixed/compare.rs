//! The parent's side: prints the tasks' latency and what the loop keeps of its speed.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::mixed::ARMS;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let plan = Plan::new("mixed", settings, ROUNDS, WINDOW);
    let cases = plan.select(vec![CASE.to_owned()])?;
    plan.describe("Mixed", report);
    report.line(
        "A measurement is an endless loop of SHA-512 on every worker, half of the time with 2,000 \
         short tasks a second from outside beside it, in a fresh process. Throughput is the loop's \
         beside the tasks over its own alone; so is the processor time of the whole process for each hash.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case("Short tasks beside an endless loop", result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The table's columns, by place among a sample's values.
const COLUMNS: [Column; 6] = [
    Column::time("half within", 0),
    Column::time("99 % within", 1),
    Column::ratio("ratio", 1),
    Column::times("throughput", 2),
    Column::time("a hash alone", 3),
    Column::times("processor time for each hash", 4),
];
const CASE: &str = "loop";
const WINDOW: Duration = Duration::from_secs(2);
const ROUNDS: usize = 7;
