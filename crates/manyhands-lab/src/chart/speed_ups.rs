//! Speed-ups of all arms, case by case, for experiments whose cases have one size each; also those that were to
//! have more, when time was left for one only.

use super::{
    sizes::{ends, is_doubtful, line_at_one, mark, notes, shown},
    spec::{Axis, ChartSpec, Form, Mark, Panel, Series},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings},
    report::ratio,
};

/// The chart of an experiment, or `None` unless its cases have one size each and all the same arms.
#[must_use]
pub fn speed_ups_by_case(
    findings: &Findings,
    experiment: &ExperimentFindings,
) -> Option<ChartSpec> {
    let cases = experiment.cases.as_slice();
    let arms = &cases.first()?.card.arms;
    let fits = |case: &CaseFindings| case.points.len() == 1 && case.card.arms == *arms;
    if !cases.iter().all(fits) {
        return None;
    }
    let names: Vec<String> = cases.iter().map(|case| case.card.name.clone()).collect();
    let challengers = arms.len() - 1;
    let series: Vec<Series> = (0..challengers)
        .map(|index| Series {
            name: arms[index + 1].clone(),
            family: index + 1,
            form: Form::Dots,
            points: marks(findings, cases, index, challengers),
            end_label: String::new(),
        })
        .collect();
    let ends = ends(series.iter().flat_map(|one| &one.points));
    let x = Axis::names("", &names);
    Some(ChartSpec {
        title: experiment.title.clone(),
        notes: notes(findings, cases.iter().flat_map(|case| &case.points)),
        description: description(&names, &series),
        columns: 1,
        panels: vec![Panel {
            caption: format!("speed-up over {}, with 95 % intervals", arms[0]),
            height: 240,
            y: Axis::speed_ups(ends.into_iter()),
            references: vec![line_at_one(&x)],
            x,
            bands: Vec::new(),
            labels: Vec::new(),
            series,
        }],
    })
}

/// One arm's points, shifted so that arms stand side by side.
fn marks(
    findings: &Findings,
    cases: &[CaseFindings],
    index: usize,
    challengers: usize,
) -> Vec<Mark> {
    let shift = (index as f64 - (challengers as f64 - 1.0) / 2.0) * 0.4 / challengers as f64;
    let one = |(place, case): (usize, &CaseFindings)| {
        let comparison = case.points[0].comparisons.get(index)?;
        let doubt = is_doubtful(findings, &case.points[0]);
        Some(mark(place as f64 + shift, shown(comparison), doubt))
    };
    cases.iter().enumerate().filter_map(one).collect()
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
