//! Times of an item and speed-ups of all arms, case by case: one hash beside another, or one cost. Of a case
//! with several sizes it is the largest.

use super::{
    sizes::{ends, is_doubtful, line_at_one, mark, notes},
    spec::{Axis, ChartSpec, Form, Mark, Panel, Series},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Point},
    report::ratio,
    stats::Estimate,
};
use std::ops::Range;

/// The chart of an experiment, or `None` unless its cases have all the same arms and are either several of its
/// own or have one size each.
#[must_use]
pub fn speed_ups_by_case(
    findings: &Findings,
    experiment: &ExperimentFindings,
) -> Option<ChartSpec> {
    let cases = experiment.cases.as_slice();
    let arms = &cases.first()?.card.arms;
    let has_arms = |case: &CaseFindings| !case.points.is_empty() && case.card.arms == *arms;
    let has_one_size = |case: &CaseFindings| case.points.len() == 1;
    let is_own = |case: &CaseFindings| case.card.of.is_none();
    let are_several = cases.len() > 1 && cases.iter().all(is_own);
    if !cases.iter().all(has_arms) || !(are_several || cases.iter().all(has_one_size)) {
        return None;
    }
    let time_of = |point: &Point, arm: usize| {
        let of_item = |nanos: f64| nanos / point.n.max(1) as f64;
        Some(point.times.get(arm)?.median.each(of_item))
    };
    let by_case = |places, value: &dyn Fn(&Point, usize) -> Option<Estimate>| {
        series(findings, cases, places, value)
    };
    let (times, speed_ups) = (
        by_case(0..arms.len(), &time_of),
        by_case(1..arms.len(), &Point::speed_up),
    );
    let names: Vec<String> = cases.iter().map(|case| case.card.name.clone()).collect();
    let x = Axis::names("", &names);
    let panel = |caption, y, references, series| Panel {
        references,
        ..Panel::new(caption, 240, (x.clone(), y), series)
    };
    let nanos = times.iter().flat_map(|one| &one.points).map(|mark| mark.y);
    let of_times = Axis::times(nanos)?;
    let ends = ends(speed_ups.iter().flat_map(|one| &one.points));
    let unit = &cases[0].card.unit;
    Some(ChartSpec {
        title: experiment.title.clone(),
        notes: notes(findings, cases.iter().filter_map(|case| case.points.last())),
        description: description(&names, &speed_ups),
        columns: 1,
        panels: vec![
            panel(format!("time of one {unit}"), of_times, Vec::new(), times),
            panel(
                format!("speed-up over {}, with 95 % intervals", arms[0]),
                Axis::speed_ups(ends.into_iter()),
                vec![line_at_one(&x)],
                speed_ups,
            ),
        ],
    })
}

/// Arms whose points stand side by side in each case.
fn series(
    findings: &Findings,
    cases: &[CaseFindings],
    arms: Range<usize>,
    value: &dyn Fn(&Point, usize) -> Option<Estimate>,
) -> Vec<Series> {
    let count = arms.len() as f64;
    let of_arm = |(place, arm): (usize, usize)| {
        let shift = (place as f64 - (count - 1.0) / 2.0) * 0.4 / count;
        let one = |(place, case): (usize, &CaseFindings)| -> Option<Mark> {
            let point = case.points.last()?;
            let doubt = is_doubtful(findings, point);
            Some(mark(place as f64 + shift, value(point, arm)?, doubt))
        };
        Series {
            name: cases[0].card.arms[arm].clone(),
            family: arm,
            form: Form::Dots,
            points: cases.iter().enumerate().filter_map(one).collect(),
            end_label: String::new(),
        }
    };
    arms.enumerate().map(of_arm).collect()
}

fn description(names: &[String], series: &[Series]) -> String {
    let of_series = |one: &Series| {
        let values = names.iter().zip(&one.points);
        let values = values.map(|(name, mark)| format!("{name} {}", ratio(mark.y)));
        format!("{}: {}.", one.name, values.collect::<Vec<_>>().join(", "))
    };
    let all: Vec<String> = series.iter().map(of_series).collect();
    format!("Speed-up by case. {}", all.join(" "))
}
