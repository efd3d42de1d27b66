//! From a section of results to the description of its chart.

use super::{Band, Curve, RatioPoint, TimeChart};
use crate::{break_even::BreakEven, machine::Machine, report, tour::Section};

/// Describes the chart of a section, or gives `None` if fewer than two sizes were measured.
#[must_use]
pub fn describe(section: &Section, machine: &Machine, seed: u64) -> Option<TimeChart> {
    let first = section.measurements.first()?;
    if section.measurements.len() < 2 {
        return None;
    }
    let curve = |arm: usize| Curve {
        label: first.arms[arm].clone(),
        points: section
            .measurements
            .iter()
            .filter_map(|one| Some((one.n, one.median_nanos(arm)?)))
            .collect(),
    };
    let ratio = |one: &crate::Measurement| {
        let estimate = one.speed_up(1, seed)?;
        Some(RatioPoint {
            n: one.n,
            median: estimate.median,
            low: estimate.low,
            high: estimate.high,
        })
    };
    Some(TimeChart {
        title: section.title.clone(),
        notes: vec![
            machine.line(),
            format!(
                "medians of paired blocks, pool warm · {} · seed {seed}",
                finding(section)
            ),
        ],
        size_axis: "n, items per call".to_owned(),
        baseline: curve(0),
        challenger: curve(1),
        speed_up: section.measurements.iter().filter_map(ratio).collect(),
        band: band(section),
    })
}

fn band(section: &Section) -> Option<Band> {
    let Some(BreakEven::Between { lower, upper }) = section.break_even else {
        return None;
    };
    let at_upper = section.measurements.iter().find(|one| one.n == upper);
    let work = at_upper.and_then(|one| one.median_nanos(0));
    let mut label = vec![
        "break-even".to_owned(),
        format!("n = {} … {}", report::count(lower), report::count(upper)),
    ];
    label.extend(work.map(|work| format!("{} of work", report::nanos(work))));
    Some(Band {
        lower,
        upper,
        label,
    })
}

fn finding(section: &Section) -> String {
    match &section.break_even {
        Some(BreakEven::Between { upper, .. }) => {
            format!("measurably faster from n = {}", report::count(*upper))
        }
        Some(BreakEven::FromSmallest { smallest }) => {
            format!(
                "faster from the smallest n measured, {}",
                report::count(*smallest)
            )
        }
        Some(BreakEven::NeverUpTo { largest }) => {
            format!("no break-even up to n = {}", report::count(*largest))
        }
        Some(BreakEven::Unsettled { .. } | BreakEven::TooFewBlocks) => {
            "break-even not settled".to_owned()
        }
        Some(BreakEven::Several { .. }) => "several crossings".to_owned(),
        None => "break-even not looked for".to_owned(),
    }
}
