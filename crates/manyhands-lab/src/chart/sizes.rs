//! Times over sizes above, speed-ups over sizes below.

use super::spec::{Axis, Band, ChartSpec, Form, Mark, Panel, Reference, Series, Stroke};
use crate::{
    break_even::{Answer, Kind},
    findings::{CaseFindings, ExperimentFindings, Findings, Point},
    report::{
        break_even_label, break_even_sentence, conditions, count, nanos, percent, plural, ratio,
    },
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
        notes: notes(findings, case.points.iter()),
        description: description.trim_end().to_owned(),
        columns: 1,
        panels: vec![
            times(findings, case, x.clone().without_text())?,
            speed_ups(findings, case, x),
        ],
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

/// A point with an error bar.
pub(super) fn mark(x: f64, estimate: Estimate, is_doubtful: bool) -> Mark {
    Mark {
        x,
        y: estimate.median,
        interval: estimate.ends(),
        is_doubtful,
    }
}

/// Whether more blocks of a point were disturbed than a quiet machine may have.
pub(super) fn is_doubtful(findings: &Findings, point: &Point) -> bool {
    let tolerated = findings.head.settings.thresholds.too_noisy;
    point.disturbed as f64 > tolerated * point.blocks as f64
}

/// The lines below the headline: the conditions, and what a cross means if there is one.
pub(super) fn notes<'run>(
    findings: &Findings,
    points: impl Iterator<Item = &'run Point> + Clone,
) -> Vec<String> {
    let mut notes = conditions(findings, points.clone());
    if points.into_iter().any(|point| is_doubtful(findings, point)) {
        let tolerated = findings.head.settings.thresholds.too_noisy;
        notes.push(format!(
            "crossed out: more than {} of the point's blocks were disturbed",
            percent(tolerated)
        ));
    }
    notes
}

/// What an axis of speed-ups must hold: all medians, and of the error bars what lies within twice
/// and half of these. One wide bar would flatten everything else; it is cut at the edge.
pub(super) fn ends<'run>(marks: impl Iterator<Item = &'run Mark> + Clone) -> Vec<f64> {
    let medians = marks.clone().map(|mark| mark.y);
    let (low, high) = medians.fold((f64::INFINITY, 0.0_f64), |(low, high), y| {
        (low.min(y), high.max(y))
    });
    let bars = marks.filter_map(|mark| mark.interval);
    let bars = bars.flat_map(|(low, high)| [low, high]);
    let bars = bars.map(|end| end.clamp(low / 2.0, high * 2.0));
    bars.chain([low, high])
        .filter(|end| end.is_finite())
        .collect()
}

/// The line at which nothing is gained and nothing lost.
pub(super) fn line_at_one(x: &Axis) -> Reference {
    Reference {
        name: String::new(),
        stroke: Stroke::Solid,
        points: vec![(x.low, 1.0), (x.high, 1.0)],
    }
}

/// The line of an arm over sizes; the last value stands at its end.
fn line(
    findings: &Findings,
    case: &CaseFindings,
    arm: usize,
    value: impl Fn(&Point) -> Option<Estimate>,
    words: impl Fn(f64) -> String,
) -> Series {
    let at = |point: &Point| {
        let doubt = is_doubtful(findings, point);
        Some(mark(point.n as f64, value(point)?, doubt))
    };
    let points: Vec<Mark> = case.points.iter().filter_map(at).collect();
    Series {
        name: case.card.arms[arm].clone(),
        family: arm,
        form: Form::Line,
        end_label: points.last().map_or_else(String::new, |one| words(one.y)),
        points,
    }
}

fn times(findings: &Findings, case: &CaseFindings, x: Axis) -> Option<Panel> {
    let of_arm = |arm: usize| {
        let time = |point: &Point| Some(point.times.get(arm)?.median);
        let words = |time| format!("{} {}", nanos(time), case.card.arms[arm]);
        line(findings, case, arm, time, words)
    };
    let series: Vec<Series> = (0..case.card.arms.len()).map(of_arm).collect();
    let values = series.iter().flat_map(|one| &one.points).map(|one| one.y);
    let y = Axis::times(values)?;
    Some(Panel {
        bands: bands(case, Words::Written),
        ..Panel::new("median time per call", 280, (x, y), series)
    })
}

fn speed_ups(findings: &Findings, case: &CaseFindings, x: Axis) -> Panel {
    let of_arm = |arm: usize| line(findings, case, arm, |point| point.speed_up(arm), ratio);
    let series: Vec<Series> = (1..case.card.arms.len()).map(of_arm).collect();
    let ends = ends(series.iter().flat_map(|one| &one.points));
    let baseline = case.card.arms.first();
    let baseline = baseline.map_or("the baseline", String::as_str);
    let caption = format!("speed-up over {baseline}, with 95 % intervals");
    Panel {
        references: vec![line_at_one(&x)],
        bands: bands(case, Words::None),
        ..Panel::new(caption, 130, (x, Axis::speed_ups(ends.into_iter())), series)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn points_with_too_many_disturbed_blocks_are_marked_and_the_mark_is_explained() {
        let findings = fixture::findings();
        let experiment = &findings.experiments[0];
        let chart = over_sizes(&findings, experiment, &experiment.cases[0]).unwrap();
        for series in chart.panels.iter().flat_map(|panel| &panel.series) {
            let doubtful = series.points.iter().filter(|point| point.is_doubtful);
            let sizes: Vec<f64> = doubtful.map(|point| point.x).collect();
            assert_eq!(sizes, [300.0, 1_000.0]);
        }
        let mut notes = chart.notes.iter();
        let explained = notes.any(|note| note.starts_with("crossed out"));
        assert!(explained, "{:?}", chart.notes);
    }

    #[test]
    fn one_wide_error_bar_does_not_flatten_the_chart() {
        let mark = |y: f64, interval| Mark {
            interval,
            ..Mark::at(1.0, y)
        };
        let marks = [
            mark(1.5, Some((1.4, 1.6))),
            mark(1.9, Some((0.001, 3_000.0))),
            mark(0.9, None),
        ];
        let axis = Axis::speed_ups(ends(marks.iter()).into_iter());
        assert!(axis.low > 0.4 && axis.high < 4.2, "{axis:?}");
    }
}
