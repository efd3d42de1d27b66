//! The parent's side: runs the grid and prints one table per body and state.

use std::time::Duration;

use manyhands_lab::contest::{Arm, CaseResult, Lifetime};

use crate::cli::Settings;
use crate::loops::ARMS;
use crate::loops::case::{self, Body, Case, OPENMP_LENS, State};
use crate::loops::verdict::{self, OURS};
use crate::plan::Plan;
use crate::report::{self, Outcome, Report};

/// The comparison, as the command line asks for it.
pub(crate) fn compare(settings: &Settings, report: &mut Report) -> Result<Outcome, String> {
    let mut cases = case::grid();
    let extra: Vec<Case> = case::openmp_cases()
        .into_iter()
        .filter(|case| !cases.contains(case))
        .collect();
    cases.extend(extra);
    let is_measured = |case: &&Case| settings.extent.has_size(case.len);
    let names = cases
        .iter()
        .filter(is_measured)
        .map(Case::to_string)
        .collect();
    let plan = Plan::new("loops", settings, ROUNDS, WINDOW);
    let names = plan.select(names)?;
    plan.describe("Loops", report);
    let results = plan.run(&ARMS, Lifetime::Kept, &names);
    let results = Results(results);
    for body in Body::ALL {
        for state in State::ALL {
            print_table(&results, body, state, report);
        }
    }
    print_openmp(&results, report);
    verdict::print(&results, report);
    Ok(report.notes(&results.0))
}

/// All results, found by their case.
#[derive(Debug)]
pub(crate) struct Results(Vec<CaseResult>);

impl Results {
    pub(crate) fn of(&self, case: Case) -> Option<&CaseResult> {
        let name = case.to_string();
        self.0.iter().find(|result| result.case == name)
    }

    /// The arms that took part.
    pub(crate) fn arms(&self) -> impl Iterator<Item = Arm> {
        self.0
            .first()
            .into_iter()
            .flat_map(|result| result.arms.iter().map(|(arm, _)| *arm))
    }
}

fn print_table(results: &Results, body: Body, state: State, report: &mut Report) {
    let lens: Vec<usize> = case::lens(body)
        .filter(|&len| results.of(Case { body, len, state }).is_some())
        .collect();
    let first = lens
        .first()
        .and_then(|&len| results.of(Case { body, len, state }));
    let Some(first) = first else { return };
    report.line(&format!("### {}, {}\n", title(body), state.name()));
    report.line("Ratio to the sequential loop; first row: its time per call.\n");
    let header = report::header(first, &lens);
    let mut rows = vec![report::row("sequential", &lens, |len| {
        report::time_cell(results.of(Case { body, len, state }), BASE, NANOS)
    })];
    for arm in results.arms().filter(|arm| arm.label != BASE) {
        rows.push(report::row(arm.label, &lens, |len| {
            let result = results.of(Case { body, len, state });
            report::ratio_cell(result, arm.label, BASE, NANOS)
        }));
    }
    report.table(&header, rows);
    match state {
        State::Hot => {}
        State::Parked => print_again(results, body, &lens, report),
        State::Busy => print_background(results, body, &lens, report),
    }
}

/// The call that follows a parked one at once: what it no longer pays was the pause's.
fn print_again(results: &Results, body: Body, lens: &[usize], report: &mut Report) {
    let state = State::Parked;
    let result = |len| results.of(Case { body, len, state });
    let has_again = |len: &&usize| result(**len).is_some_and(|it| it.values(BASE, AGAIN).is_some());
    let lens: Vec<usize> = lens.iter().filter(has_again).copied().collect();
    let Some(first) = lens.first().and_then(|&len| result(len)) else {
        return;
    };
    report.line("Time of a call that follows such a one at once.\n");
    let rows = [BASE, OURS].map(|label| {
        report::row(label, &lens, |len| {
            report::time_cell(result(len), label, AGAIN)
        })
    });
    report.table(&report::header(first, &lens), rows.into());
}

/// How far the other loop came, because a contender could win the table above by starving it; and the processor time
/// of the caller, which says whether a call did more, or its thread had to wait for a processor.
fn print_background(results: &Results, body: Body, lens: &[usize], report: &mut Report) {
    let state = State::Busy;
    let result = |len| results.of(Case { body, len, state });
    let Some(first) = lens.first().and_then(|&len| result(len)) else {
        return;
    };
    let header = report::header(first, lens);
    let ratios = |arm: Arm, value| {
        report::row(arm.label, lens, |len| {
            report::ratio_cell(result(len), arm.label, BASE, value)
        })
    };
    let others = || results.arms().filter(|arm| arm.label != BASE);
    report.line(
        "Items per second of the other loop (SHA-512), ratio to the sequential arm's, which is \
         rayon's; more is better.\n",
    );
    let rates = others().map(|arm| ratios(arm, BACKGROUND_RATE));
    report.table(&header, rates.collect());
    report.line(
        "Processor time of the calling thread for each call, ratio to the sequential loop's: below 1, \
         other threads do a part, and the caller waits for them.\n",
    );
    let times = others().map(|arm| ratios(arm, CALLER_NANOS));
    report.table(&header, times.collect());
}

fn print_openmp(results: &Results, report: &mut Report) {
    let lens: Vec<usize> = OPENMP_LENS
        .into_iter()
        .filter(|&len| results.of(openmp_case(len)).is_some())
        .collect();
    let has_openmp = results.arms().any(|arm| arm.label == OPENMP);
    let first = lens.first().filter(|_| has_openmp);
    let Some(first) = first.and_then(|&len| results.of(openmp_case(len))) else {
        return;
    };
    report.line("### Back-to-back loops of 10 µs to 1 ms of work, against OpenMP static\n");
    let has_base = lens.iter().any(|&len| {
        results
            .of(openmp_case(len))
            .is_some_and(|result| result.values(OPENMP, NANOS).is_some())
    });
    if !has_base {
        report.line("OpenMP was not measured; the reason is below.\n");
        return;
    }
    report.line("SHA-512 of 11 bytes, hot. Ratio to OpenMP; first rows: times per call.\n");
    let mut rows = Vec::new();
    for label in [BASE, OPENMP] {
        rows.push(report::row(&format!("{label}, time"), &lens, |len| {
            report::time_cell(results.of(openmp_case(len)), label, NANOS)
        }));
    }
    for arm in results.arms().filter(|arm| arm.label != OPENMP) {
        rows.push(report::row(arm.label, &lens, |len| {
            report::ratio_cell(results.of(openmp_case(len)), arm.label, OPENMP, NANOS)
        }));
    }
    report.table(&report::header(first, &lens), rows);
}

fn openmp_case(len: usize) -> Case {
    Case {
        body: Body::Sha,
        len,
        state: State::Hot,
    }
}

fn title(body: Body) -> &'static str {
    match body {
        Body::Sha => "SHA-512 of 11 bytes",
        Body::Saxpy => "saxpy over f32",
        Body::Skewed => "Skewed: the middle item is 1,000 others",
        Body::Sum => "Sum of u64, bound by memory",
        Body::Atomic => "Contended atomic",
    }
}

/// Label of the arm the ratios are taken to.
pub(crate) const BASE: &str = "sequential";
const OPENMP: &str = "openmp";
/// Place of the time per call among a sample's values.
pub(crate) const NANOS: usize = 0;
/// Place of the time of a call right after a parked one, in the parked state only.
const AGAIN: usize = 1;
/// Place of the other loop's items per second, in the busy state only.
const BACKGROUND_RATE: usize = 1;
/// Place of the calling thread's processor time for each call, in the busy state only.
const CALLER_NANOS: usize = 2;
const ROUNDS: usize = 15;
const WINDOW: Duration = Duration::from_millis(60);
