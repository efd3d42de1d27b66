//! The parent's side: runs the grid and prints one table per task, and what manyhands promises of it.

use std::time::Duration;

use manyhands_lab::contest::{Arm, Lifetime};

use crate::cli::Settings;
use crate::plan::Plan;
use crate::report::{Outcome, Report};
use crate::sized::{Case, Task, table};

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
    pub(crate) fn run<T: Task>(
        &self,
        settings: &Settings,
        report: &mut Report,
    ) -> Result<Outcome, String> {
        let cases = Case::<T>::grid().filter(|case| settings.extent.has_size(case.len));
        let names = cases.map(|case| case.to_string()).collect();
        let plan = Plan::new(self.problem, settings, self.rounds, WINDOW);
        let names = plan.select(names)?;
        plan.describe(self.title, report);
        let results = plan.run(self.arms, Lifetime::Kept, &names);
        for &task in T::ALL {
            let name_of = |len| Case { task, len }.to_string();
            table::print(&results, task.title(), task.lens(), name_of, report);
        }
        table::print_misses(&results, report);
        Ok(report.notes(&results))
    }
}

const WINDOW: Duration = Duration::from_millis(60);
