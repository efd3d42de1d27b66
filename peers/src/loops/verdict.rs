//! What manyhands promises of its loops, point by point, misses first.

use manyhands_lab::contest::{self, CaseResult, Role};
use manyhands_lab::stats;

use crate::loops::case::{self, Case};
use crate::loops::compare::{BASE, NANOS, Results};
use crate::report::{self, Report};

/// Prints both promises: no point above the sequential loop, and none of 1 ms or more of work
/// above the best contender.
pub(crate) fn print(results: &Results, report: &mut Report) {
    if results.arms().any(|arm| arm.label == OURS) {
        print_against_sequential(results, report);
        print_against_best(results, report);
    }
}

fn print_against_sequential(results: &Results, report: &mut Report) {
    let mut measured = 0;
    let mut rows = Vec::new();
    for case in case::grid() {
        let Some(result) = results.of(case) else {
            continue;
        };
        let above = result.paired(OURS, BASE, NANOS, |ours, base| ours - limit(base));
        let Some(above) = above else { continue };
        measured += 1;
        let excess = stats::median(&above);
        let Some(excess) = excess.filter(|&excess| excess > 0.0) else {
            continue;
        };
        rows.push(vec![
            case.to_string(),
            report::time_cell(Some(result), BASE, NANOS),
            report::time_cell(Some(result), OURS, NANOS),
            report::ratio_cell(Some(result), OURS, BASE, NANOS),
            contest::time(excess),
        ]);
    }
    report.line("### manyhands: points above 1.02 × sequential + 50 ns\n");
    report.line(&format!(
        "{} of {measured} points (median over rounds).\n",
        rows.len()
    ));
    if !rows.is_empty() {
        let header = [
            "point",
            "sequential",
            "manyhands",
            "ratio",
            "above the limit by",
        ];
        report.table(&header.map(str::to_owned), rows);
    }
}

fn print_against_best(results: &Results, report: &mut Report) {
    let mut rows = Vec::new();
    let mut misses = 0;
    for case in case::grid() {
        let Some(result) = results.of(case) else {
            continue;
        };
        let base = result.median(BASE, NANOS);
        let Some(base) = base.filter(|&nanos| nanos >= MILLISECOND) else {
            continue;
        };
        let Some(row) = against_best(case, result, base) else {
            continue;
        };
        misses += usize::from(row.ratio > BEST_RATIO_MAX);
        rows.push(row.cells);
    }
    if rows.is_empty() {
        return;
    }
    report.line("### manyhands against the best contender, 1 ms of work and more\n");
    report.line(&format!(
        "{misses} of {} points above {BEST_RATIO_MAX} ×.\n",
        rows.len()
    ));
    let header = [
        "point",
        "sequential",
        "best contender",
        "its ratio",
        "manyhands",
        "ours to best",
    ];
    report.table(&header.map(str::to_owned), rows);
}

struct Row {
    ratio: f64,
    cells: Vec<String>,
}

fn against_best(case: Case, result: &CaseResult, base_nanos: f64) -> Option<Row> {
    let to_base = |label: &'static str| result.ratio(label, BASE, NANOS);
    let (best_ratio, best) = result
        .arms
        .iter()
        .filter(|(arm, _)| arm.role == Role::Contender && arm.label != OURS)
        .filter_map(|(arm, _)| Some((to_base(arm.label)?, arm.label)))
        .min_by(|one, other| one.0.median.total_cmp(&other.0.median))?;
    let to_best = result.ratio(OURS, best, NANOS)?;
    let ratio = to_best.median;
    let mark = if ratio > BEST_RATIO_MAX {
        " (miss)"
    } else {
        ""
    };
    let cells = vec![
        case.to_string(),
        contest::time(base_nanos),
        best.to_owned(),
        best_ratio.to_string(),
        to_base(OURS)?.to_string(),
        format!("{to_best}{mark}"),
    ];
    Some(Row { ratio, cells })
}

/// What a loop may cost where the sequential one costs `base` nanoseconds.
fn limit(base: f64) -> f64 {
    1.02 * base + 50.0
}

pub(crate) const OURS: &str = "manyhands";
const MILLISECOND: f64 = 1e6;
const BEST_RATIO_MAX: f64 = 1.05;
