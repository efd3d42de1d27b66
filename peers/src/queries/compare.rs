//! The parent's side: runs the grid and prints one table per chain, and what manyhands promises of it.

use std::time::Duration;

use crate::case_result::CaseResult;
use crate::cli::Settings;
use crate::plan::{self, Plan};
use crate::queries::ARMS;
use crate::queries::case::{Case, Chain, LENS, grid};
use crate::report::{self, Report};
use crate::stats;
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
        print_table(&results, chain, report);
    }
    print_misses(&results, report);
    report.notes(&results)
}

fn print_table(results: &[CaseResult], chain: Chain, report: &mut Report) {
    let of = |len| result_of(results, Case { chain, len });
    let lens: Vec<usize> = LENS.into_iter().filter(|&len| of(len).is_some()).collect();
    let Some(first) = lens.first().and_then(|&len| of(len)) else {
        return;
    };
    report.line(&format!("### {}\n", title(chain)));
    report.line("Ratio to the sequential query; first row: its time.\n");
    let mut rows = vec![report::row(BASE, &lens, |len| {
        report::cell(of(len), BASE, |result| {
            report::median_of(result, BASE, NANOS).map(report::time)
        })
    })];
    for (arm, _) in first.arms.iter().filter(|(arm, _)| arm.label != BASE) {
        rows.push(report::row(arm.label, &lens, |len| {
            report::ratio_cell(of(len), arm.label, BASE, NANOS)
        }));
    }
    report.table(&report::header("n", &lens), &rows);
}

/// The points that take longer than a query may.
fn print_misses(results: &[CaseResult], report: &mut Report) {
    let mut rows = Vec::new();
    for (result, ours) in results
        .iter()
        .flat_map(|result| OURS.map(|ours| (result, ours)))
    {
        let (Some(times), Some(base)) = (result.values(ours, NANOS), result.values(BASE, NANOS))
        else {
            continue;
        };
        let excess = stats::paired_median(&times, &base, |ours, base| ours - limit(base));
        if let Some(excess) = excess.filter(|&excess| excess > 0.0) {
            rows.push(vec![
                result.case.clone(),
                ours.to_owned(),
                report::ratio_cell(Some(result), ours, BASE, NANOS),
                report::time(excess),
            ]);
        }
    }
    report.line("### manyhands: points above 1.05 × sequential + 200 ns\n");
    report.line(&format!("{} points (median over rounds).\n", rows.len()));
    if !rows.is_empty() {
        let header = ["point", "contender", "ratio", "above the limit by"];
        report.table(&header.map(str::to_owned), &rows);
    }
}

fn result_of(results: &[CaseResult], case: Case) -> Option<&CaseResult> {
    let name = case.to_string();
    results.iter().find(|result| result.case == name)
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

/// What a query may cost where the sequential one costs `base` nanoseconds.
fn limit(base: f64) -> f64 {
    1.05 * base + 200.0
}

/// Label of the arm the ratios are taken to.
const BASE: &str = "sequential";
const OURS: [&str; 2] = ["manyhands", "manyhands-unordered"];
/// Place of the time per query among a sample's values.
const NANOS: usize = 0;
const ROUNDS: usize = 15;
const WINDOW: Duration = Duration::from_millis(60);
