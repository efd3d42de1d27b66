//! The parent's side: runs the grid and prints one table per chain, and what manyhands promises of it.

use std::time::Duration;

use crate::cli::Settings;
use crate::plan::{self, Plan};
use crate::queries::ARMS;
use crate::queries::case::{Case, Chain, LENS, grid};
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
    let mut team = Team::new("queries", &ARMS, Lifetime::Kept, &settings.only, plan.seed);
    report.line("## Queries\n");
    plan.describe(report);
    let results = team.run(&names, |_| plan.rounds, plan.window);
    for chain in Chain::ALL {
        let name_of = |len| Case { chain, len }.to_string();
        query_table::print(&results, title(chain), &LENS, name_of, report);
    }
    query_table::print_misses(&results, report);
    report.notes(&results)
}

fn title(chain: Chain) -> &'static str {
    match chain {
        Chain::Map => "Map and collect",
        Chain::Filter => "Filter and collect",
        Chain::Sum => "Filter, map and sum",
        Chain::Min => "Map and minimum",
        Chain::Any => "Any, found at the end",
        Chain::Primes => "Primes below n",
        Chain::Hashes => "SHA-512 of 11 bytes, collected",
    }
}

const ROUNDS: usize = 15;
const WINDOW: Duration = Duration::from_millis(60);
