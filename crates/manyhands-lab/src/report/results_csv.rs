//! The table of results for programs.

use super::{cell::cell, verdict_words::verdict_word};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Point, Times},
    stats::Estimate,
};
use serde::Serialize;
use std::borrow::Cow;

/// The results as CSV, one row for each case, size and arm.
///
/// Separated by commas, decimals with points, quoted by RFC 4180. Times are nanoseconds per call;
/// an empty cell means "not measured". A name that begins like a formula stands behind an
/// apostrophe. The baseline's rows have no speed-up and no verdict.
///
/// # Panics
/// Never: rows of numbers and strings have a form as CSV.
#[must_use]
pub fn results_csv(findings: &Findings) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for experiment in &findings.experiments {
        for case in &experiment.cases {
            for point in &case.points {
                for (arm, times) in point.times.iter().enumerate() {
                    let row = Row::new(experiment, case, point, (arm, times));
                    writer.serialize(row).expect("a row of plain values");
                }
            }
        }
    }
    let bytes = writer.into_inner().expect("memory takes all writes");
    String::from_utf8(bytes).expect("made of strings")
}

#[derive(Serialize)]
struct Row<'run> {
    experiment: Cow<'run, str>,
    case: Cow<'run, str>,
    unit: Cow<'run, str>,
    n: usize,
    arm: Cow<'run, str>,
    baseline: Cow<'run, str>,
    blocks: usize,
    disturbed: usize,
    median_nanos: f64,
    median_low: Option<f64>,
    median_high: Option<f64>,
    mean_nanos: f64,
    standard_deviation_nanos: f64,
    minimum_nanos: f64,
    percentile_95_nanos: f64,
    deviation_nanos: f64,
    cpu_nanos: Option<f64>,
    allocations: Option<f64>,
    allocated_bytes: Option<f64>,
    peak_bytes: Option<u64>,
    speed_up: Option<f64>,
    speed_up_low: Option<f64>,
    speed_up_high: Option<f64>,
    as_found: Option<f64>,
    as_found_low: Option<f64>,
    as_found_high: Option<f64>,
    verdict: Option<&'static str>,
    q_value: Option<f64>,
    spread_between_launches: Option<f64>,
    spread_within_launches: Option<f64>,
    floor_low: Option<f64>,
    floor_high: Option<f64>,
}

impl<'run> Row<'run> {
    fn new(
        experiment: &'run ExperimentFindings,
        case: &'run CaseFindings,
        point: &'run Point,
        (arm, times): (usize, &'run Times),
    ) -> Self {
        let comparison = arm
            .checked_sub(1)
            .and_then(|one| point.comparisons.get(one));
        let clean = comparison.and_then(|one| one.clean);
        let as_found = comparison.map(|one| one.as_found);
        let peak = case.peak(point.n, arm);
        Self {
            experiment: cell(&experiment.id),
            case: cell(&case.card.name),
            unit: cell(&case.card.unit),
            n: point.n,
            arm: cell(&case.card.arms[arm]),
            baseline: cell(&case.card.arms[0]),
            blocks: point.blocks,
            disturbed: point.disturbed,
            median_nanos: times.median.median,
            median_low: low(times.median),
            median_high: high(times.median),
            mean_nanos: times.mean,
            standard_deviation_nanos: times.standard_deviation,
            minimum_nanos: times.minimum,
            percentile_95_nanos: times.percentile_95,
            deviation_nanos: times.deviation,
            cpu_nanos: times.cpu,
            allocations: times.allocations.map(|(allocations, _)| allocations),
            allocated_bytes: times.allocations.map(|(_, allocated)| allocated),
            peak_bytes: peak.map(|peak| peak.bytes),
            speed_up: clean.map(median),
            speed_up_low: clean.and_then(low),
            speed_up_high: clean.and_then(high),
            as_found: as_found.map(median),
            as_found_low: as_found.and_then(low),
            as_found_high: as_found.and_then(high),
            verdict: comparison.map(|one| verdict_word(one.verdict)),
            q_value: comparison.and_then(|one| one.q_value),
            spread_between_launches: comparison.map(|one| one.spread.between_launches),
            spread_within_launches: comparison.map(|one| one.spread.within_launches),
            floor_low: point.floor.and_then(low),
            floor_high: point.floor.and_then(high),
        }
    }
}

fn median(estimate: Estimate) -> f64 {
    estimate.median
}

fn low(estimate: Estimate) -> Option<f64> {
    estimate.ends().map(|(low, _)| low)
}

fn high(estimate: Estimate) -> Option<f64> {
    estimate.ends().map(|(_, high)| high)
}
