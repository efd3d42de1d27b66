//! Time over CPUs, with the lines no arrangement of the work can go below.

use super::spec::{Axis, ChartSpec, Form, Mark, Panel, Reference, Series, Stroke};
use crate::report::{count, nanos};

/// Times over numbers of CPUs: measured or published.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// Headline.
    pub title: String,
    /// Lines below it; where the numbers come from is one of them.
    pub notes: Vec<String>,
    /// One panel each, for example one per cost of an item.
    pub facets: Vec<Facet>,
}

/// One panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Facet {
    /// What is the same in the whole panel.
    pub caption: String,
    /// The lines.
    pub contenders: Vec<Contender>,
    /// CPUs and nanoseconds if the work were split evenly to the last grain: T₁ / P. Empty for none.
    pub ideal: Vec<(usize, f64)>,
    /// CPUs and nanoseconds of as many rounds as there are if no item is split. Empty for none.
    pub rounds_bound: Vec<(usize, f64)>,
}

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// Name in the legend.
    pub name: String,
    /// Colour and marker; the same in all facets.
    pub family: usize,
    /// By ascending number of CPUs.
    pub points: Vec<ScalingPoint>,
}

/// A time at a number of CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingPoint {
    /// CPUs.
    pub cpus: usize,
    /// Time in nanoseconds.
    pub nanos: f64,
    /// Its interval, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// Describes the chart: CPUs on a base-two axis with a tick at each number that occurs, times on
/// a base-ten axis. `None` if there are no times.
#[must_use]
pub fn scaling(data: &Scaling) -> Option<ChartSpec> {
    let panels: Vec<Panel> = data.facets.iter().filter_map(panel).collect();
    if panels.is_empty() {
        return None;
    }
    Some(ChartSpec {
        title: data.title.clone(),
        notes: data.notes.clone(),
        description: data.facets.iter().map(words).collect::<Vec<_>>().join(" "),
        columns: panels.len().min(2),
        panels,
    })
}

/// All numbers of CPUs of a facet, ascending.
fn cpus(facet: &Facet) -> Vec<usize> {
    let points = facet.contenders.iter().flat_map(|one| &one.points);
    let mut cpus: Vec<usize> = points.map(|point| point.cpus).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn line(contender: &Contender) -> Series {
    Series {
        name: contender.name.clone(),
        family: contender.family,
        form: Form::Line,
        points: contender.points.iter().map(mark).collect(),
        end_label: String::new(),
    }
}

fn panel(facet: &Facet) -> Option<Panel> {
    let points = || facet.contenders.iter().flat_map(|one| &one.points);
    let lines = facet.ideal.iter().chain(&facet.rounds_bound);
    let times = points().map(|point| point.nanos);
    let series = facet.contenders.iter().map(line);
    let references = [
        reference("ideal, T₁ / P", Stroke::Dotted, &facet.ideal),
        reference("bound by whole rounds", Stroke::Dashed, &facet.rounds_bound),
    ];
    let known = |one: &Reference| !one.points.is_empty();
    let caption = format!("{}, time per call", facet.caption);
    let x = Axis::cpus("CPUs", &cpus(facet))?;
    let y = Axis::times(times.chain(lines.map(|(_, nanos)| *nanos)))?;
    Some(Panel {
        references: references.into_iter().filter(known).collect(),
        ..Panel::new(caption, 200, (x, y), series.collect())
    })
}

fn mark(point: &ScalingPoint) -> Mark {
    Mark {
        interval: point.interval,
        ..Mark::at(point.cpus as f64, point.nanos)
    }
}

fn reference(name: &str, stroke: Stroke, points: &[(usize, f64)]) -> Reference {
    let name = if points.is_empty() { "" } else { name };
    Reference {
        name: name.to_owned(),
        stroke,
        points: points.iter().map(|(x, y)| (*x as f64, *y)).collect(),
    }
}

fn words(facet: &Facet) -> String {
    let ends = facet.contenders.iter().filter_map(|one| {
        let (first, last) = (one.points.first()?, one.points.last()?);
        Some(format!(
            "{} from {} at {} CPUs to {} at {}",
            one.name,
            nanos(first.nanos),
            count(first.cpus),
            nanos(last.nanos),
            count(last.cpus)
        ))
    });
    let ends = ends.collect::<Vec<_>>().join("; ");
    format!("{}: {ends}.", facet.caption)
}
