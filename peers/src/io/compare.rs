//! The parent's side: runs the cases and prints time and CPU time of each contender.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::io::ARMS;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let cases = CONNECTIONS.map(|count| count.to_string()).to_vec();
    let plan = Plan::new("io", settings, ROUNDS, Duration::ZERO);
    let cases = plan.select(cases)?;
    plan.describe("Sockets", report);
    report.line(
        "A measurement is 20,000 round trips of 64 bytes over loopback TCP connections in a fresh \
         process, server and clients in one pool. Times are per round trip. Ratios are to tokio.\n",
    );
    let results = plan.run(&ARMS, Lifetime::PerMeasurement, &cases);
    for result in &results {
        report.case(&format!("{} connections", result.case), result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 3] = [
    Column::time("time", 0),
    Column::ratio("ratio", 0),
    Column::time("CPU time", 1),
];
const CONNECTIONS: [usize; 4] = [1, 10, 100, 1_000];
const ROUNDS: usize = 7;
