//! The parent's side: runs the cases and prints time, CPU time and memory of each contender.

use std::time::Duration;

use crate::cli::Settings;
use crate::items::ARMS;
use crate::plan::{self, Plan};
use crate::report::{self, Column, Report};
use crate::team::{Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let mut cases = vec![format!("outside {MILLION}"), format!("inside {MILLION}")];
    if !settings.quick {
        cases.extend([
            format!("outside {TEN_MILLION}"),
            format!("inside {TEN_MILLION}"),
        ]);
    }
    let cases = match plan::select(cases, settings) {
        Ok(cases) => cases,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, Duration::ZERO);
    let rounds = |case: &str| {
        let is_long = case.ends_with(TEN_MILLION) && settings.rounds.is_none();
        if is_long {
            plan.rounds.min(LONG_ROUNDS)
        } else {
            plan.rounds
        }
    };
    let lifetime = Lifetime::PerMeasurement;
    let mut team = Team::new("items", &ARMS, lifetime, settings, plan.seed);
    report.line("## Items\n");
    plan.describe(report);
    report.line(&format!(
        "A measurement is one spawn of all items in a fresh process ({} rounds for ten million). \
         Memory is the growth of the resident peak. Ratios are to crossbeam-2, one producer and \
         two consumers.\n",
        rounds(TEN_MILLION)
    ));
    let results = team.run(&cases, rounds, plan.window);
    for result in &results {
        report.case(&title(&result.case), result, &COLUMNS);
    }
    report.notes(&results)
}

fn title(case: &str) -> String {
    let (place, count) = case.split_once(' ').unwrap_or((case, "0"));
    let count = report::count(count.parse().unwrap_or(0));
    format!("{count} empty closures from {place} the pool")
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 4] = [
    Column::time("time per item", 0),
    Column::ratio("ratio", 0),
    Column::time("CPU time per item", 1),
    Column::megabytes("memory", 2),
];
const MILLION: &str = "1000000";
const TEN_MILLION: &str = "10000000";
const ROUNDS: usize = 9;
const LONG_ROUNDS: usize = 3;
