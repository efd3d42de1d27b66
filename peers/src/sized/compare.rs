//! The parent's side: runs the grid and prints one table per task, and what manyhands promises of it.

use std::time::Duration;

use crate::cli::Settings;
use crate::plan::{self, Plan};
use crate::report::Report;
use crate::sized::{Case, Task, table};
use crate::team::{Arm, Lifetime, Outcome, Team};

/// What is compared, and how long.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The command's name.
    pub(crate) problem: &'static str,
    pub(crate) title: &'static str,
    pub(crate) arms: &'static [Arm],
    pub(crate) rounds: usize,
}

impl Comparison {
    /// The comparison, as the command line asks for it.
    pub(crate) fn run<T: Task>(&self, settings: &Settings, report: &mut Report) -> Outcome {
        let names = Case::<T>::grid().map(|case| case.to_string()).collect();
        let names = match plan::select(names, settings) {
            Ok(names) => names,
            Err(refused) => return refused,
        };
        let plan = Plan::new(settings, self.rounds, WINDOW);
        let lifetime = Lifetime::Kept;
        let mut team = Team::new(self.problem, self.arms, lifetime, settings, plan.seed);
        report.line(&format!("## {}\n", self.title));
        plan.describe(report);
        let results = team.run(&names, |_| plan.rounds, plan.window);
        for &task in T::ALL {
            let name_of = |len| Case { task, len }.to_string();
            table::print(&results, task.title(), task.lens(), name_of, report);
        }
        table::print_misses(&results, report);
        report.notes(&results)
    }
}

const WINDOW: Duration = Duration::from_millis(60);
