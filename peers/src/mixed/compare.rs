//! The parent's side: prints the tasks' latency and what the loop keeps of its speed.

use std::time::Duration;

use crate::cli::Settings;
use crate::mixed::ARMS;
use crate::plan::{self, Plan};
use crate::report::{Column, Report};
use crate::team::{Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let cases = match plan::select(vec![CASE.to_owned()], settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, WINDOW);
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("mixed", &ARMS, lifetime, settings, plan.seed);
    report.line("## Mixed\n");
    plan.describe(report);
    report.line(
        "A measurement is an endless loop of SHA-512 on every worker, half of the time with 2,000 \
         short tasks a second from outside beside it, in a fresh process. Throughput is the loop's \
         beside the tasks over its own alone.\n",
    );
    let results = team.run(&cases, |_| plan.rounds, plan.window);
    for result in &results {
        report.case("Short tasks beside an endless loop", result, &COLUMNS);
    }
    report.notes(&results)
}

/// The table's columns, by place among a sample's values.
const COLUMNS: [Column; 5] = [
    Column::time("half within", 0),
    Column::time("99 % within", 1),
    Column::ratio("ratio", 1),
    Column::times("throughput", 2),
    Column::time("a hash alone", 3),
];
const CASE: &str = "loop";
const WINDOW: Duration = Duration::from_secs(2);
const ROUNDS: usize = 7;
