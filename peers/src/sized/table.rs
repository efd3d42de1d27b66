//! Tables over the sizes of their input, and the points that take longer than a query may.
//!
//! Not here: which tasks and sizes these are (`queries`, `keys`).

use manyhands_lab::contest::{self, CaseResult};
use manyhands_lab::stats;

use crate::report::{self, Report};

/// Prints a row for each contender; `name_of` names the case of a size.
pub(crate) fn print(
    results: &[CaseResult],
    title: &str,
    lens: &[usize],
    name_of: impl Fn(usize) -> String,
    report: &mut Report,
) {
    let of = |len| {
        let name = name_of(len);
        results.iter().find(|result| result.case == name)
    };
    let lens: Vec<usize> = lens
        .iter()
        .copied()
        .filter(|&len| of(len).is_some())
        .collect();
    let Some(first) = lens.first().and_then(|&len| of(len)) else {
        return;
    };
    report.line(&format!("### {title}\n"));
    report.line("Ratio to one thread; first row: its time.\n");
    let time = |len| report::time_cell(of(len), BASE, NANOS);
    let mut rows = vec![report::row(BASE, &lens, time)];
    for (arm, _) in first.arms.iter().filter(|(arm, _)| arm.label != BASE) {
        rows.push(report::row(arm.label, &lens, |len| {
            report::ratio_cell(of(len), arm.label, BASE, NANOS)
        }));
    }
    report.table(&report::header(first, &lens), rows);
}

/// Prints the points that take longer than a query may.
pub(crate) fn print_misses(results: &[CaseResult], report: &mut Report) {
    let mut rows = Vec::new();
    for (result, ours) in results
        .iter()
        .flat_map(|result| OURS.map(|ours| (result, ours)))
    {
        let above = result.paired(ours, BASE, NANOS, |ours, base| ours - limit(base));
        let excess = above.and_then(|above| stats::median(&above));
        if let Some(excess) = excess.filter(|&excess| excess > 0.0) {
            rows.push(vec![
                result.case.clone(),
                ours.to_owned(),
                report::ratio_cell(Some(result), ours, BASE, NANOS),
                contest::time(excess),
            ]);
        }
    }
    report.line("### manyhands: points above 1.05 × sequential + 200 ns\n");
    report.line(&format!("{} points (median over rounds).\n", rows.len()));
    if !rows.is_empty() {
        let header = ["point", "contender", "ratio", "above the limit by"];
        report.table(&header.map(str::to_owned), rows);
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
