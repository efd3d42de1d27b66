//! The chart of the load sweep: within what time 99 of 100 cheap tasks ran, and of 100 heavy requests were answered.

use manyhands_lab::chart::{Axis, ChartSpec, Form, Mark, Panel, Scale, Series, Tick};
use manyhands_lab::contest::CaseResult;
use manyhands_lab::machine::Machine;

use crate::saturation::ARMS;

/// The chart of the cases whose load is given, or `None` for fewer than two.
pub(super) fn over_load(results: &[(u32, &CaseResult)]) -> Option<ChartSpec> {
    if results.len() < 2 {
        return None;
    }
    let panels = [
        panel("99 of 100 cheap tasks ran within", CHEAP_99, results)?,
        panel(
            "99 of 100 heavy requests were answered within",
            HEAVY_99,
            results,
        )?,
    ];
    let ours = |index: usize| {
        let last = results.last()?.1.median(ARMS[0].label, index)?;
        Some(format!("{:.1} ms", last / 1e6))
    };
    Some(ChartSpec {
        title: "A service under load".to_owned(),
        notes: vec![Machine::here().line()],
        description: format!(
            "Latencies over the load, from {} to {} % of the capacity. At the highest load 99 of 100 cheap tasks of {} \
             ran within {}, and 99 of 100 of its heavy requests were answered within {}.",
            results.first()?.0,
            results.last()?.0,
            ARMS[0].label,
            ours(CHEAP_99)?,
            ours(HEAVY_99)?,
        ),
        columns: 1,
        panels: panels.into(),
    })
}

fn panel(caption: &str, index: usize, results: &[(u32, &CaseResult)]) -> Option<Panel> {
    let series: Vec<Series> = ARMS
        .iter()
        // The control is the first once more.
        .filter(|arm| arm.label == ARMS[0].label || arm.label != ARMS[1].label)
        .enumerate()
        .map(|(family, arm)| line(family, arm.label, index, results))
        .filter(|series| !series.points.is_empty())
        .collect();
    let times = series.iter().flat_map(|series| &series.points);
    Some(Panel {
        caption: caption.to_owned(),
        height: 260,
        x: loads(results),
        y: Axis::times(times.map(|mark| mark.y))?,
        series,
        references: Vec::new(),
        labels: Vec::new(),
        bands: Vec::new(),
    })
}

fn line(family: usize, label: &str, index: usize, results: &[(u32, &CaseResult)]) -> Series {
    let mark = |&(load, result): &(u32, &CaseResult)| {
        Some(Mark {
            x: f64::from(load),
            y: result.median(label, index)?,
            interval: None,
            is_doubtful: false,
        })
    };
    Series {
        name: label.to_owned(),
        family,
        form: Form::Line,
        points: results.iter().filter_map(mark).collect(),
        end_label: label.to_owned(),
    }
}

/// The loads, each with a tick.
fn loads(results: &[(u32, &CaseResult)]) -> Axis {
    let loads = || results.iter().map(|(load, _)| f64::from(*load));
    Axis {
        title: "load, % of the capacity".to_owned(),
        scale: Scale::Linear,
        low: loads().fold(f64::INFINITY, f64::min) - 3.0,
        high: loads().fold(0.0, f64::max) + 3.0,
        ticks: loads()
            .map(|at| Tick {
                at,
                label: format!("{at:.0}"),
            })
            .collect(),
    }
}

/// The places of these latencies among a sample's values.
const CHEAP_99: usize = 1;
const HEAVY_99: usize = 4;
