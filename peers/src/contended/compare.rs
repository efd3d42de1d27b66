//! The parent's side: runs the cases and prints their times and ratios.

use std::time::Duration;

use manyhands_lab::contest::{Column, Lifetime};

use crate::cli::Settings;
use crate::contended::ARMS;
use crate::contended::case::Case;
use crate::plan::Plan;
use crate::report::{Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let plan = Plan::new("contended", settings, ROUNDS, WINDOW);
    let cases = plan.select(Case::ALL.map(|(name, _)| name.to_owned()).to_vec())?;
    plan.describe("Loops whose bodies slow each other down", report);
    let results = plan.run(&ARMS, Lifetime::Kept, &cases);
    for result in &results {
        let title = Case::parse(&result.case).map_or("", Case::title);
        report.case(title, result, &COLUMNS);
    }
    Ok(report.notes(&results))
}

/// The tables' columns, by place among a sample's values.
const COLUMNS: [Column; 2] = [
    Column::time("time per call", 0),
    Column::ratio_to("to sequential", "sequential", 0),
];
const ROUNDS: usize = 9;
const WINDOW: Duration = Duration::from_millis(100);
