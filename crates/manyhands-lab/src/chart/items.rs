//! What the items of a call took: when they ended, how many threads there were, and how much memory.

use super::{
    axis::{plain, whole},
    spec::{Axis, ChartSpec, Form, Mark, Panel, Series},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Peak},
    record::{ItemEnds, ThreadCourse},
    report::{bytes, count, nanos, plural},
};

/// The course of the items at the largest size whose memory was read, the threads meanwhile, and the peak
/// memory over sizes. `None` if neither the ends of items were recorded nor several sizes read.
#[must_use]
pub fn items(
    findings: &Findings,
    experiment: &ExperimentFindings,
    case: &CaseFindings,
) -> Option<ChartSpec> {
    let n = case.peaks.iter().map(|peak| peak.n).max()?;
    let largest: Vec<&Peak> = case.peaks.iter().filter(|peak| peak.n == n).collect();
    let ended = ends(case, &largest);
    let memory = memory(case);
    if ended.is_none() && memory.is_none() {
        return None;
    }
    let panels: Vec<Panel> = [ended, threads(case, &largest), memory]
        .into_iter()
        .flatten()
        .collect();
    let (id, items) = (&experiment.id, plural(&case.card.unit));
    Some(ChartSpec {
        title: format!("{id}: what the {items} took, {}", case.card.name),
        notes: vec![
            experiment.title.clone(),
            findings.head.machine.line(),
            format!(
                "single calls at n = {}, each in a process of its own that is not timed, {}",
                count(n),
                findings.head.started
            ),
        ],
        description: description(case, &largest),
        columns: 1,
        panels,
    })
}

/// The share of the items that had ended, over time.
fn ends(case: &CaseFindings, largest: &[&Peak]) -> Option<Panel> {
    let known = largest.iter();
    let known = known.filter_map(|peak| Some((peak.arm, peak.ends.as_ref()?)));
    let millis = |ends: &ItemEnds, percent| Some(ends.at(percent)? as f64 / 1e6);
    let first = known.clone().filter_map(|(_, ends)| millis(ends, 0));
    let last = known.clone().filter_map(|(_, ends)| millis(ends, 100));
    let low = first.min_by(f64::total_cmp)?;
    // All at once are shown, too.
    let high = last.max_by(f64::total_cmp)?.max(low * 1.001 + 0.001);
    let series = known.map(|(arm, ends)| {
        let nanos_each = ends.percentiles_nanos.iter().enumerate();
        let points = nanos_each.map(|(percent, end)| Mark::at(*end as f64 / 1e6, percent as f64));
        let last = ends.at(100).unwrap_or_default() as f64;
        series(case, arm, Form::Curve, points.collect(), &nanos(last))
    });
    let series: Vec<Series> = series.collect();
    let items = plural(&case.card.unit);
    let caption = format!("{items} that have ended; beside it when the last has");
    let x = Axis::span("time since the call began, ms", low, high, plain);
    let y = Axis::span("", 0.0, 100.0, |percent| format!("{percent:.0} %"));
    Some(Panel::new(caption, 160, (x, y), series))
}

/// Threads of the process over time.
fn threads(case: &CaseFindings, largest: &[&Peak]) -> Option<Panel> {
    let known = largest
        .iter()
        .filter_map(|peak| Some((peak.arm, peak.threads.as_ref()?)));
    let known: Vec<(usize, &ThreadCourse)> = known.collect();
    let end =
        |course: &ThreadCourse| course.counts.len().saturating_sub(1) as f64 * course.step_millis;
    let all_ends = known.iter().map(|(_, course)| end(course));
    let longest = all_ends.max_by(f64::total_cmp)?;
    let most = |course: &ThreadCourse| course.counts.iter().copied().max().unwrap_or(0);
    let all = known.iter().map(|(_, course)| most(course)).max()?;
    let series = known.iter().map(|(arm, course)| {
        let at = |(step, threads): (usize, &u32)| {
            Mark::at(step as f64 * course.step_millis, f64::from(*threads))
        };
        let points = course.counts.iter().enumerate().map(at);
        let label = format!("{} at most", most(course));
        series(case, *arm, Form::Curve, points.collect(), &label)
    });
    let caption = "threads of the process, with the one that measures";
    let x = Axis::elapsed("time since the call began, ms", longest);
    let whole = |threads| format!("{threads:.0}");
    let y = Axis::span("", 0.0, f64::from(all) * 1.1, whole);
    Some(Panel::new(caption, 110, (x, y), series.collect()))
}

/// Peak memory over sizes; the bars reach from the least reading to the most.
fn memory(case: &CaseFindings) -> Option<Panel> {
    let arms = 0..case.card.arms.len();
    let of_arm = |arm: usize| case.peaks.iter().filter(move |peak| peak.arm == arm);
    let point = |peak: &Peak| {
        let ends = peak.readings.first().zip(peak.readings.last());
        Mark {
            interval: ends.map(|(least, most)| (*least as f64, *most as f64)),
            ..Mark::at(peak.n as f64, peak.bytes as f64)
        }
    };
    let sized = arms.filter_map(|arm| {
        let slope = case.bytes_per_item(arm)?;
        let label = format!("{} per {}", bytes(slope.slope.max(0.0)), case.card.unit);
        let points = of_arm(arm).map(point).collect();
        Some(series(case, arm, Form::Line, points, &label))
    });
    let series: Vec<Series> = sized.collect();
    if series.is_empty() {
        return None;
    }
    let most = |value: fn(&Peak) -> f64| case.peaks.iter().map(value).fold(0.0, f64::max);
    let items = plural(&case.card.unit);
    let caption = "peak memory above what was resident before";
    let title = format!("n, {items} per call");
    let x = Axis::span(&title, 0.0, most(|peak| peak.n as f64), whole);
    let largest = |peak: &Peak| *peak.readings.last().unwrap_or(&peak.bytes) as f64;
    let y = Axis::bytes(most(largest));
    Some(Panel::new(caption, 130, (x, y), series))
}

fn series(case: &CaseFindings, arm: usize, form: Form, points: Vec<Mark>, end: &str) -> Series {
    let name = case.card.arms.get(arm).cloned().unwrap_or_default();
    Series {
        end_label: format!("{end} {name}"),
        name,
        family: arm,
        form,
        points,
    }
}

fn description(case: &CaseFindings, largest: &[&Peak]) -> String {
    let of_arm = |peak: &&Peak| {
        let name = case.card.arms.get(peak.arm);
        let name = name.map_or("An arm", String::as_str);
        let ends = peak.ends.as_ref();
        let ends = ends.and_then(|ends| ends.at(0).zip(ends.at(100)));
        let ends = ends.map_or_else(String::new, |(first, last)| {
            let (first, last) = (nanos(first as f64), nanos(last as f64));
            format!(", the first ends after {first} and the last after {last}")
        });
        format!("{name}: {} at its peak{ends}.", bytes(peak.bytes as f64))
    };
    largest.iter().map(of_arm).collect::<Vec<_>>().join(" ")
}
