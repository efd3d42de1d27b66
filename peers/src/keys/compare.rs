//! The parent's side: runs the grid and prints one table per task, and what manyhands promises of it.

use std::time::Duration;

use crate::cli::Settings;
use crate::keys::ARMS;
use crate::keys::case::{Case, LENS, Task, grid};
use crate::plan::{self, Plan};
use crate::query_table;
use crate::report::Report;
use crate::team::{Lifetime, Outcome, Team};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Outcome {
    let names = grid().map(|case| case.to_string()).collect();
    let names = match plan::select(names, settings) {
        Ok(names) => names,
        Err(refused) => return refused,
    };
    let plan = Plan::new(settings, ROUNDS, WINDOW);
    let mut team = Team::new("keys", &ARMS, Lifetime::Kept, &settings.only, plan.seed);
    report.line("## Keys\n");
    plan.describe(report);
    let results = team.run(&names, |_| plan.rounds, plan.window);
    for task in Task::ALL {
        let name_of = |len| Case { task, len }.to_string();
        query_table::print(&results, title(task), &LENS, name_of, report);
    }
    query_table::print_misses(&results, report);
    report.notes(&results)
}

fn title(task: Task) -> &'static str {
    match task {
        Task::CountFew => "Count by one of a thousand keys",
        Task::CountMany => "Count by one of a million keys",
        Task::Join => "Join with a tenth as many rows",
        Task::Sort => "Sort",
        Task::SortStable => "Stable sort",
    }
}

const ROUNDS: usize = 9;
const WINDOW: Duration = Duration::from_millis(60);
