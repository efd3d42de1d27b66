//! The picture of the cores: for each arm a strip per core, filled as high as the core was busy.

use super::{
    sizes::title,
    spec::{Axis, ChartSpec, Form, Mark, Panel, Series},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Trace},
    record::CoreTrace,
    report::count,
};

/// The chart of a case's traces at its largest size that has some, or `None` without traces.
#[must_use]
pub fn cores(
    findings: &Findings,
    experiment: &ExperimentFindings,
    case: &CaseFindings,
) -> Option<ChartSpec> {
    let n = case.traces.iter().map(|trace| trace.n).max()?;
    let mut traces: Vec<&Trace> = case.traces.iter().filter(|trace| trace.n == n).collect();
    traces.sort_by_key(|trace| trace.arm);
    let millis = traces.iter().map(|one| duration_millis(&one.trace));
    let x = Axis::elapsed("time, ms", millis.fold(0.0, f64::max));
    let columns = traces.len().div_ceil(traces.len().div_ceil(COLUMNS_MAX));
    let groups = traces.chunks(columns);
    let panels = groups.flat_map(|group| group_panels(case, group, columns, &x));
    let notes = vec![
        findings.head.machine.line(),
        format!(
            "busy share of each core while calls at n = {} follow each other, in a pass that is \
             not timed, {}",
            count(n),
            findings.head.started
        ),
    ];
    Some(ChartSpec {
        title: format!("What the cores did: {}", title(experiment, case)),
        notes,
        description: description(case, &traces),
        columns,
        panels: panels.collect(),
    })
}

/// Arms side by side, one row for each core; what is missing in the last row stays empty.
fn group_panels(case: &CaseFindings, group: &[&Trace], columns: usize, x: &Axis) -> Vec<Panel> {
    let strips: Vec<Vec<Strip>> = group.iter().map(|one| strips(&one.trace)).collect();
    let rows = strips.iter().map(Vec::len).max().unwrap_or(0);
    let panel = |row: usize, column: usize| {
        let strip = strips.get(column).and_then(|strips| strips.get(row));
        let trace = group.get(column).copied();
        let caption = trace.filter(|_| row == 0).map(|trace| {
            let name = case.card.arms.get(trace.arm).map_or("", String::as_str);
            format!("{name}: {:.1} cores busy", mean_busy_cores(&trace.trace))
        });
        let x = match row + 1 == rows {
            true => x.clone(),
            false => x.clone().without_text(),
        };
        let y = Axis::share_of(strip.map_or("", |strip| &strip.name));
        let series = trace.zip(strip).map(|(trace, strip)| series(trace, strip));
        let series = series.into_iter().collect();
        Panel::new(caption.unwrap_or_default(), STRIP, (x, y), series)
    };
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    places.map(|(row, column)| panel(row, column)).collect()
}

/// One core, or the mean of neighbouring ones where there are many.
struct Strip {
    name: String,
    busy: Vec<f64>,
}

fn strips(trace: &CoreTrace) -> Vec<Strip> {
    let together = trace.busy.len().div_ceil(STRIPS_MAX).max(1);
    let strip = |(index, group): (usize, &[Vec<f64>])| {
        let first = index * together;
        let name = match group.len() {
            1 => format!("core {first}"),
            more => format!("{first}–{}", first + more - 1),
        };
        let busy = mean_of(group);
        Strip { name, busy }
    };
    trace.busy.chunks(together).enumerate().map(strip).collect()
}

fn mean_of(group: &[Vec<f64>]) -> Vec<f64> {
    let steps = group.iter().map(Vec::len).max().unwrap_or(0);
    let at = |step: usize| group.iter().filter_map(move |core| core.get(step));
    let mean = |step| at(step).sum::<f64>() / group.len() as f64;
    (0..steps).map(mean).collect()
}

fn series(trace: &Trace, strip: &Strip) -> Series {
    let mark = |(step, busy): (usize, f64)| Mark::at(step as f64 * trace.trace.step_millis, busy);
    // A last step of nothing ends the strip where the calls ended.
    let steps = strip.busy.iter().copied().chain([0.0]).enumerate();
    Series {
        name: String::new(),
        family: trace.arm,
        form: Form::Steps,
        points: steps.map(mark).collect(),
        end_label: String::new(),
    }
}

fn duration_millis(trace: &CoreTrace) -> f64 {
    let steps = trace.busy.iter().map(Vec::len).max().unwrap_or(0);
    steps as f64 * trace.step_millis
}

fn mean_busy_cores(trace: &CoreTrace) -> f64 {
    let mean = |core: &Vec<f64>| core.iter().sum::<f64>() / core.len().max(1) as f64;
    trace.busy.iter().map(mean).sum()
}

fn description(case: &CaseFindings, traces: &[&Trace]) -> String {
    let one = |trace: &&Trace| {
        let arm = case.card.arms.get(trace.arm);
        format!(
            "{} kept {:.1} of {} cores busy for {:.0} ms.",
            arm.map_or("An arm", String::as_str),
            mean_busy_cores(&trace.trace),
            trace.trace.busy.len(),
            duration_millis(&trace.trace)
        )
    };
    traces.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Height of a strip in pixels.
const STRIP: u32 = 30;
/// More cores than this are shown in groups of neighbours.
const STRIPS_MAX: usize = 16;
/// More arms than this are not readable side by side.
const COLUMNS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn the_axis_reaches_as_far_as_the_calls_that_the_notes_speak_of() {
        let findings = fixture::findings();
        let experiment = &findings.experiments[0];
        let chart = cores(&findings, experiment, &experiment.cases[0]).unwrap();
        let axis = &chart.panels.last().unwrap().x;
        assert_eq!((axis.title.as_str(), axis.high), ("time, ms", 24.0));
        let said = "while calls at n = 100,000 follow each other";
        assert!(chart.notes[1].contains(said), "{:?}", chart.notes);
    }

    #[test]
    fn many_cores_are_shown_in_groups() {
        let trace = CoreTrace {
            step_millis: 1.0,
            busy: (0..40).map(|core| vec![f64::from(core % 2)]).collect(),
        };
        let strips = strips(&trace);
        assert_eq!(strips.len(), 14);
        assert_eq!(strips[0].name, "0–2");
        assert_eq!(strips[13].name, "core 39");
        assert!((strips[0].busy[0] - 1.0 / 3.0).abs() < 1e-12);
    }
}
