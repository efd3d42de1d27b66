//! Times over sizes above, speed-ups over sizes below.

use super::spec::{Axis, Band, ChartSpec, Form, Mark, Panel, Reference, Series, Stroke};
use crate::{
    break_even::{Answer, Kind},
    findings::{CaseFindings, Comparison, ExperimentFindings, Findings},
    report::{break_even_label, break_even_sentence, conditions, count, nanos, plural, ratio},
    stats::Estimate,
};

/// The chart of one case, or `None` if fewer than two sizes were measured.
#[must_use]
pub fn over_sizes(
    findings: &Findings,
    experiment: &ExperimentFindings,
    case: &CaseFindings,
) -> Option<ChartSpec> {
    if case.points.len() < 2 {
        return None;
    }
    let sizes = || case.points.iter().map(|point| point.n as f64);
    let x = Axis::sizes(&format!("n, {} per call", plural(&case.card.unit)), sizes())?;
    let answers = case.answers.iter().enumerate();
    let sentences: Vec<String> = answers
        .map(|(index, answer)| break_even_sentence(case, index + 1, answer))
        .collect();
    let description = format!(
        "Time per call and speed-up over n from {} to {}. {}",
        count(case.points.first()?.n),
        count(case.points.last()?.n),
        sentences.join(" ")
    );
    Some(ChartSpec {
        title: title(experiment, case),
        notes: conditions(findings, case.points.iter()),
        description: description.trim_end().to_owned(),
        columns: 1,
        panels: vec![times(case, x.clone().without_text())?, speed_ups(case, x)],
    })
}

/// The experiment's title, with the case's name if there are several.
pub(super) fn title(experiment: &ExperimentFindings, case: &CaseFindings) -> String {
    if experiment.cases.len() == 1 {
        experiment.title.clone()
    } else {
        format!("{}: {}", experiment.title, case.card.name)
    }
}

/// The speed-up to show: of the clean blocks where there are any.
pub(super) fn shown(comparison: &Comparison) -> Estimate {
    comparison.clean.unwrap_or(comparison.as_found)
}

/// A point with an error bar.
pub(super) fn mark(x: f64, estimate: Estimate) -> Mark {
    Mark {
        x,
        y: estimate.median,
        interval: Some((estimate.low, estimate.high)),
    }
}

/// The line at which nothing is gained and nothing lost.
pub(super) fn line_at_one(x: &Axis) -> Reference {
    Reference {
        name: String::new(),
        stroke: Stroke::Solid,
        points: vec![(x.low, 1.0), (x.high, 1.0)],
    }
}

fn times(case: &CaseFindings, x: Axis) -> Option<Panel> {
    let of_arm = |(arm, name): (usize, &String)| {
        let points: Vec<Mark> = case
            .points
            .iter()
            .filter_map(|point| Some(mark(point.n as f64, point.times.get(arm)?.median)))
            .collect();
        let last = points.last().map_or_else(String::new, |one| nanos(one.y));
        Series {
            name: name.clone(),
            family: arm,
            form: Form::Line,
            points,
            end_label: format!("{last} {name}"),
        }
    };
    let series: Vec<Series> = case.card.arms.iter().enumerate().map(of_arm).collect();
    let values = series.iter().flat_map(|one| &one.points).map(|one| one.y);
    let y = Axis::times(values)?;
    Some(Panel {
        caption: "median time per call".to_owned(),
        height: 280,
        x,
        y,
        references: Vec::new(),
        bands: bands(case, Words::Written),
        series,
    })
}

fn speed_ups(case: &CaseFindings, x: Axis) -> Panel {
    let of_arm = |(index, name): (usize, &String)| {
        let points: Vec<Mark> = case
            .points
            .iter()
            .filter_map(|point| {
                let comparison = point.comparisons.get(index)?;
                Some(mark(point.n as f64, shown(comparison)))
            })
            .collect();
        Series {
            name: name.clone(),
            family: index + 1,
            form: Form::Line,
            end_label: points.last().map_or_else(String::new, |one| ratio(one.y)),
            points,
        }
    };
    let challengers = case.card.arms.iter().skip(1).enumerate();
    let series: Vec<Series> = challengers.map(of_arm).collect();
    let ends = series
        .iter()
        .flat_map(|one| &one.points)
        .flat_map(|one| one.interval)
        .flat_map(|(low, high)| [low, high]);
    Panel {
        caption: format!(
            "speed-up over {}, with 95 % intervals",
            case.card
                .arms
                .first()
                .map_or("the baseline", String::as_str)
        ),
        height: 130,
        y: Axis::speed_ups(ends),
        references: vec![line_at_one(&x)],
        x,
        bands: bands(case, Words::None),
        series,
    }
}

/// Whether something is written beside a band.
#[derive(Clone, Copy, PartialEq)]
enum Words {
    Written,
    None,
}

/// Where each arm breaks even.
fn bands(case: &CaseFindings, words: Words) -> Vec<Band> {
    let band = |(index, answer): (usize, &Answer)| {
        let Kind::Between { lower, upper, .. } = answer.kind else {
            return None;
        };
        let label = match words {
            Words::Written => break_even_label(case, index + 1, answer),
            Words::None => String::new(),
        };
        Some(Band {
            from: lower,
            to: upper,
            family: index + 1,
            label,
        })
    };
    case.answers.iter().enumerate().filter_map(band).collect()
}
