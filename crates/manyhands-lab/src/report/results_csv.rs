//! The table of results for programs.

use super::{
    cell::{Row, known, number, table},
    verdict_words::verdict_word,
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Point, Times},
    stats::Estimate,
};

/// The results as CSV, one row for each case, size and arm.
///
/// Separated by commas, decimals with points, quoted by RFC 4180. Times are nanoseconds per call;
/// an empty cell means "not measured". A name that is a formula to a spreadsheet stands behind an
/// apostrophe. The baseline's rows have no speed-up and no verdict.
///
/// # Panics
/// Never: memory takes all writes.
#[must_use]
pub fn results_csv(findings: &Findings) -> String {
    let mut rows = Vec::new();
    for experiment in &findings.experiments {
        for case in &experiment.cases {
            for point in &case.points {
                let times = point.times.iter().enumerate();
                rows.extend(times.map(|times| row(experiment, case, point, times)));
            }
        }
    }
    table(rows)
}

fn row(
    experiment: &ExperimentFindings,
    case: &CaseFindings,
    point: &Point,
    (arm, times): (usize, &Times),
) -> Row {
    let challenger = arm.checked_sub(1);
    let comparison = challenger.and_then(|one| point.comparisons.get(one));
    let clean = comparison.and_then(|one| one.clean);
    let as_found = comparison.map(|one| one.as_found);
    let between = comparison.map(|one| one.spread.between_launches);
    let within = comparison.map(|one| one.spread.within_launches);
    let (allocations, allocated) = times.allocations.unzip();
    let peak = case.peak(point.n, arm);
    let verdict = comparison.map(|one| verdict_word(one.verdict).to_owned());
    vec![
        ("experiment", experiment.id.clone()),
        ("case", case.card.name.clone()),
        ("unit", case.card.unit.clone()),
        ("n", number(point.n)),
        ("arm", case.card.arms[arm].clone()),
        ("baseline", case.card.arms[0].clone()),
        ("blocks", number(point.blocks)),
        ("disturbed", number(point.disturbed)),
        ("median_nanos", number(times.median.median)),
        ("median_low", low(Some(times.median))),
        ("median_high", high(Some(times.median))),
        ("mean_nanos", number(times.mean)),
        ("standard_deviation_nanos", number(times.standard_deviation)),
        ("minimum_nanos", number(times.minimum)),
        ("percentile_95_nanos", number(times.percentile_95)),
        ("deviation_nanos", number(times.deviation)),
        ("cpu_nanos", known(times.cpu)),
        ("allocations", known(allocations)),
        ("allocated_bytes", known(allocated)),
        ("peak_bytes", known(peak.map(|peak| peak.bytes))),
        ("speed_up", known(clean.map(|speed_up| speed_up.median))),
        ("speed_up_low", low(clean)),
        ("speed_up_high", high(clean)),
        ("as_found", known(as_found.map(|speed_up| speed_up.median))),
        ("as_found_low", low(as_found)),
        ("as_found_high", high(as_found)),
        ("verdict", verdict.unwrap_or_default()),
        ("q_value", known(comparison.and_then(|one| one.q_value))),
        ("spread_between_launches", known(between)),
        ("spread_within_launches", known(within)),
        ("floor_low", low(point.floor)),
        ("floor_high", high(point.floor)),
    ]
}

fn low(estimate: Option<Estimate>) -> String {
    let ends = estimate.and_then(|estimate| estimate.ends());
    known(ends.map(|(low, _)| low))
}

fn high(estimate: Option<Estimate>) -> String {
    let ends = estimate.and_then(|estimate| estimate.ends());
    known(ends.map(|(_, high)| high))
}
