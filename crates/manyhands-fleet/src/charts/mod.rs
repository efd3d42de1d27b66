//! Charts over machines of several sizes, from the runs of one plan: times, speed-ups, and dollars against time. Those of
//! a single machine are the laboratory's, and so is the drawing.

mod points;

pub(crate) use points::{OnMachine, PointRow};

use crate::{price::Prices, time::today};
use manyhands_lab::{
    chart::{
        Axis, ChartSpec, Contender, Facet, Form, Label, Mark, Panel, Reference, Scaling,
        ScalingPoint, Series, Stroke, scaling,
    },
    report::{count, nanos, ratio},
};
use std::collections::{BTreeMap, BTreeSet};

/// What an experiment that was measured on machines of several sizes shows.
#[derive(Debug)]
pub(crate) struct OverMachines {
    /// The beginning of the names of its files.
    pub(crate) name: String,
    /// The numbers that are in the charts.
    pub(crate) rows: Vec<PointRow>,
    /// Each with the name of its files but for the ending.
    pub(crate) charts: Vec<(String, ChartSpec)>,
}

/// One for each experiment that was measured on machines of several sizes. Dollars are charted if there are prices.
pub(crate) fn over_machines(runs: &[OnMachine], prices: Option<&Prices>) -> Vec<OverMachines> {
    let mut titles: Vec<(&str, &str)> = Vec::new();
    for one in runs.iter().flat_map(|run| &run.findings.experiments) {
        if !titles.iter().any(|(id, _)| *id == one.id) {
            titles.push((&one.id, &one.title));
        }
    }
    let shown = |(id, title): (&str, &str)| {
        let rows = points::rows(runs, id, prices);
        let sheet = Sheet {
            title: format!("{id}: {title}, over machines"),
            models: models(&rows),
            cases: rows
                .chunk_by(|one, next| (&one.case, one.n) == (&next.case, next.n))
                .collect(),
        };
        let name = format!("machines-{}", id.to_lowercase());
        let charts = [
            ("", sheet.times()),
            ("-speed-ups", sheet.speed_ups()),
            ("-dollars", prices.and_then(|prices| sheet.dollars(prices))),
        ];
        let charts: Vec<(String, ChartSpec)> = charts
            .into_iter()
            .filter_map(|(kind, chart)| Some((format!("{name}{kind}"), chart?)))
            .collect();
        (!charts.is_empty()).then_some(OverMachines { name, charts, rows })
    };
    titles.into_iter().filter_map(shown).collect()
}

/// Why these runs have no charts over machines, as a sentence; `None` if they have some, or no case was measured at all.
pub(crate) fn why_none(runs: &[OnMachine]) -> Option<String> {
    let measured = runs
        .iter()
        .filter(|run| !run.findings.experiments.is_empty());
    let sizes: BTreeSet<usize> = measured.map(|run| run.findings.head.machine.cpus).collect();
    let (first, last) = (sizes.first()?, sizes.last()?);
    if !over_machines(runs, None).is_empty() {
        return None;
    }
    let why = if first == last {
        format!("all results are of machines with {} CPUs", count(*first))
    } else {
        "no case has results of machines of several sizes".to_owned()
    };
    Some(format!(
        "There are no charts over CPUs: {why}, and a line needs the same case on two sizes at least. In a plan, 'cpus = \
         [2, 8]' asks for both."
    ))
}

fn models(rows: &[PointRow]) -> String {
    let models: BTreeSet<&str> = rows.iter().map(|row| row.cpu.as_str()).collect();
    let models: Vec<&str> = models.into_iter().collect();
    format!(
        "Processors: {}. Lines between machines of different models compare these too.",
        models.join(", ")
    )
}

/// An experiment's rows, on their way to a chart.
struct Sheet<'row> {
    title: String,
    models: String,
    /// The rows of each case and size.
    cases: Vec<&'row [PointRow]>,
}

impl Sheet<'_> {
    /// Times over CPUs, with the lines that nothing goes below.
    fn times(&self) -> Option<ChartSpec> {
        scaling(&Scaling {
            title: self.title.clone(),
            notes: vec![self.models.clone()],
            facets: self.cases.iter().map(|rows| facet(rows)).collect(),
        })
    }

    /// Speed-ups over the baseline of the same machine, with the lines that nothing goes above.
    fn speed_ups(&self) -> Option<ChartSpec> {
        let panels = self.cases.iter().filter_map(|rows| speed_up_panel(rows));
        let words = self.cases.iter().map(|rows| speed_up_words(rows));
        self.chart("speed-ups", vec![self.models.clone()], panels, words)
    }

    /// What a million calls cost on each machine, against the time of one.
    fn dollars(&self, prices: &Prices) -> Option<ChartSpec> {
        let panels = self.cases.iter().filter_map(|rows| dollar_panel(rows));
        let words = self.cases.iter().map(|rows| dollar_words(rows));
        let notes = vec![
            "Lower and further left is better; a bar reaches from the cheapest to the dearest machine that it may be."
                .to_owned(),
            prices.age(today()),
        ];
        self.chart("dollars against time", notes, panels, words)
    }

    fn chart(
        &self,
        what: &str,
        notes: Vec<String>,
        panels: impl Iterator<Item = Panel>,
        words: impl Iterator<Item = String>,
    ) -> Option<ChartSpec> {
        let panels: Vec<Panel> = panels.collect();
        (!panels.is_empty()).then(|| ChartSpec {
            title: format!("{}: {what}", self.title),
            notes,
            description: words.collect::<Vec<_>>().join(" "),
            columns: panels.len().min(2),
            panels,
        })
    }
}

/// "hash, n = 300".
fn caption(rows: &[PointRow]) -> String {
    let first = rows.first();
    first.map_or_else(String::new, |row| {
        format!("{}, n = {}", row.case, count(row.n))
    })
}

/// Each arm's rows; by ascending CPUs, as the rows are.
fn arms(rows: &[PointRow]) -> impl Iterator<Item = Vec<&PointRow>> {
    let mut arms: BTreeMap<usize, Vec<&PointRow>> = BTreeMap::new();
    for row in rows {
        arms.entry(row.family).or_default().push(row);
    }
    arms.into_values()
}

/// Of machines with as many CPUs the first stands on an axis of CPUs.
fn one_for_each_size(mut rows: Vec<&PointRow>) -> Vec<&PointRow> {
    rows.dedup_by_key(|row| row.cpus);
    rows
}

fn facet(rows: &[PointRow]) -> Facet {
    let point = |row: &PointRow| ScalingPoint {
        cpus: row.cpus,
        nanos: row.median_nanos,
        interval: row.median_ends(),
    };
    let contender = |rows: Vec<&PointRow>| Contender {
        name: rows[0].arm.clone(),
        family: rows[0].family,
        points: one_for_each_size(rows).into_iter().map(point).collect(),
    };
    let baseline = one_for_each_size(arms(rows).next().unwrap_or_default());
    let bound = |nanos: fn(&PointRow) -> f64| {
        let rows = baseline.iter();
        rows.map(|row| (row.cpus, nanos(row))).collect()
    };
    Facet {
        caption: caption(rows),
        ideal: bound(|row| row.ideal_nanos),
        rounds_bound: bound(|row| row.rounds_bound_nanos),
        contenders: arms(rows).map(contender).collect(),
    }
}

fn speed_up_panel(rows: &[PointRow]) -> Option<Panel> {
    let mark = |row: &PointRow| {
        Some(Mark {
            x: row.cpus as f64,
            y: row.speed_up?,
            interval: row.speed_up_ends(),
            is_doubtful: false,
        })
    };
    let line = |rows: Vec<&PointRow>| Series {
        name: rows[0].arm.clone(),
        family: rows[0].family,
        form: Form::Line,
        points: one_for_each_size(rows)
            .into_iter()
            .filter_map(mark)
            .collect(),
        end_label: String::new(),
    };
    // The first arm is the baseline.
    let series: Vec<Series> = arms(rows).skip(1).map(line).collect();
    let marks = || series.iter().flat_map(|one| &one.points);
    marks().next()?;
    let baseline = one_for_each_size(arms(rows).next()?);
    let cpus: Vec<usize> = baseline.iter().map(|row| row.cpus).collect();
    let x = Axis::cpus("CPUs", &cpus)?;
    let limit = |nanos: fn(&PointRow) -> f64| -> Vec<(f64, f64)> {
        let rows = baseline.iter();
        rows.map(|row| (row.cpus as f64, row.median_nanos / nanos(row)))
            .collect()
    };
    let references = vec![
        reference("", Stroke::Solid, vec![(x.low, 1.0), (x.high, 1.0)]),
        reference(
            "ideal: as many as CPUs",
            Stroke::Dotted,
            limit(|row| row.ideal_nanos),
        ),
        reference(
            "bound by whole rounds",
            Stroke::Dashed,
            limit(|row| row.rounds_bound_nanos),
        ),
    ];
    let limits = references.iter().flat_map(|one| &one.points);
    let values = marks().map(|mark| mark.y).chain(limits.map(|at| at.1));
    Some(Panel {
        caption: format!(
            "{}, speed-up over {} on the same machine",
            caption(rows),
            rows.first()?.arm
        ),
        height: HEIGHT,
        y: Axis::speed_ups(values),
        x,
        series,
        references,
        bands: Vec::new(),
        labels: Vec::new(),
    })
}

fn speed_up_words(rows: &[PointRow]) -> String {
    let ends = arms(rows).skip(1).filter_map(|rows| {
        let rows = one_for_each_size(rows);
        let (first, last) = (*rows.first()?, *rows.last()?);
        Some(format!(
            "{} from {} at {} CPUs to {} at {}",
            first.arm,
            ratio(first.speed_up?),
            count(first.cpus),
            ratio(last.speed_up?),
            count(last.cpus)
        ))
    });
    format!(
        "{}: {}.",
        caption(rows),
        ends.collect::<Vec<_>>().join("; ")
    )
}

fn dollar_panel(rows: &[PointRow]) -> Option<Panel> {
    let mark = |row: &PointRow| {
        let (least, most) = row.usd()?;
        Some(Mark {
            x: row.median_nanos,
            y: most,
            interval: (least < most).then_some((least, most)),
            is_doubtful: false,
        })
    };
    let dots = |rows: Vec<&PointRow>| {
        let mut points: Vec<Mark> = rows.iter().filter_map(|row| mark(row)).collect();
        points.sort_by(|one, next| one.x.total_cmp(&next.x));
        Series {
            name: rows[0].arm.clone(),
            family: rows[0].family,
            form: Form::Dots,
            points,
            end_label: String::new(),
        }
    };
    let series: Vec<Series> = arms(rows).map(dots).collect();
    let marks = || series.iter().flat_map(|one| &one.points);
    let ends = |mark: &Mark| [mark.interval.map_or(mark.y, |ends| ends.0), mark.y];
    let front = undominated(marks().map(|mark| (mark.x, mark.y)).collect());
    let mut x = Axis::times(marks().map(|mark| mark.x))?;
    "time of a call".clone_into(&mut x.title);
    Some(Panel {
        caption: format!("{}, US dollars for a million calls", caption(rows)),
        height: HEIGHT,
        y: Axis::dollars(marks().flat_map(ends))?,
        x,
        references: vec![reference(
            "nothing is faster and cheaper",
            Stroke::Dashed,
            front,
        )],
        series,
        bands: Vec::new(),
        labels: fastest_of_sizes(rows),
    })
}

/// The CPUs of the machines of each size, at what is fastest there.
fn fastest_of_sizes(rows: &[PointRow]) -> Vec<Label> {
    let mut fastest: BTreeMap<usize, &PointRow> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.usd().is_some()) {
        let of_size = fastest.entry(row.cpus).or_insert(row);
        if row.median_nanos < of_size.median_nanos {
            *of_size = row;
        }
    }
    let label = |row: &PointRow| {
        Some(Label {
            x: row.median_nanos,
            y: row.usd()?.1,
            text: format!("{} CPUs", count(row.cpus)),
        })
    };
    fastest.into_values().filter_map(label).collect()
}

/// The points to which no other is both left and below, from the left.
fn undominated(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|one, next| one.0.total_cmp(&next.0).then(one.1.total_cmp(&next.1)));
    let mut least = f64::INFINITY;
    points.retain(|(_, y)| {
        let is_less = *y < least;
        least = least.min(*y);
        is_less
    });
    points
}

fn dollar_words(rows: &[PointRow]) -> String {
    let priced = || rows.iter().filter_map(|row| Some((row, row.usd()?.1)));
    let fastest = priced().min_by(|one, other| one.0.median_nanos.total_cmp(&other.0.median_nanos));
    let cheapest = priced().min_by(|one, other| one.1.total_cmp(&other.1));
    let says = |what: &str, (row, usd): (&PointRow, f64)| {
        format!(
            "{what} is {} at {} CPUs with {} a call and {usd:.2} dollars for a million",
            row.arm,
            count(row.cpus),
            nanos(row.median_nanos)
        )
    };
    let ends = [
        fastest.map(|one| says("the fastest", one)),
        cheapest.map(|one| says("the cheapest", one)),
    ];
    let ends: Vec<String> = ends.into_iter().flatten().collect();
    format!("{}: {}.", caption(rows), ends.join("; "))
}

fn reference(name: &str, stroke: Stroke, points: Vec<(f64, f64)>) -> Reference {
    Reference {
        name: name.to_owned(),
        stroke,
        points,
    }
}

/// Of a panel, in pixels; as the laboratory's of times over CPUs.
const HEIGHT: u32 = 200;

#[cfg(test)]
mod tests;
