//! The tables of an experiment: results, and what else was metered.

use super::{
    conditions::share,
    grid::{Column, Grid, Row},
    units::{bytes, count, few, nanos, plural, ratio_cell},
    verdict_words::verdict_word,
};
use crate::{
    chart::Named,
    findings::{CaseFindings, Comparison, ExperimentFindings, Point, Times},
    record::{ThreadCourse, Throughput},
    stats::{Estimate, Slope},
};

/// Cases that share a table.
pub(super) struct Group<'run> {
    /// The case's name; `None` if the table has several or the experiment has only this one.
    pub(super) name: Option<&'run str>,
    /// The cases.
    pub(super) cases: Vec<&'run CaseFindings>,
    /// Whether what is about all cases of the experiment stands here.
    is_first: bool,
}

impl Group<'_> {
    /// What stands in the column of cases: nothing if there is one only.
    fn case_cell(&self, case: &CaseFindings) -> String {
        if self.cases.len() > 1 {
            case.card.name.clone()
        } else {
            String::new()
        }
    }

    /// Whether a chart is about cases of this table.
    pub(super) fn owns(&self, chart: &Named) -> bool {
        let about = |name: &String| self.cases.iter().any(|case| case.card.name == *name);
        chart.case.as_ref().map_or(self.is_first, about)
    }
}

/// One table for all cases if each has one size and all have the same arms, else one for each.
pub(super) fn groups(experiment: &ExperimentFindings) -> Vec<Group<'_>> {
    let cases = &experiment.cases;
    if cases.is_empty() {
        return Vec::new();
    }
    let alike =
        |case: &CaseFindings| case.points.len() == 1 && case.card.arms == cases[0].card.arms;
    if cases.len() < 2 || cases.iter().all(alike) {
        return vec![Group {
            name: None,
            cases: cases.iter().collect(),
            is_first: true,
        }];
    }
    let groups = cases.iter().enumerate().map(|(place, case)| Group {
        name: Some(&case.card.name),
        cases: vec![case],
        is_first: place == 0,
    });
    groups.collect()
}

/// One row for each size and arm. Columns in which nothing is to be said are left out: the case if there is one only, "as
/// found" where no disturbed block changed anything, q where the run has too few comparisons for it.
pub(super) fn results(group: &Group<'_>) -> Grid {
    let mut rows = Vec::new();
    for case in &group.cases {
        for point in &case.points {
            let comparisons = (1..).zip(&point.comparisons);
            rows.extend(comparisons.map(|(arm, one)| row(group, case, point, arm, one)));
        }
    }
    Grid::of(rows).without_empty_columns()
}

fn row(
    group: &Group<'_>,
    case: &CaseFindings,
    point: &Point,
    arm: usize,
    comparison: &Comparison,
) -> Row {
    let speed_up = comparison.clean.map_or_else(|| "–".to_owned(), ratio_cell);
    let verdict = verdict_word(comparison.verdict).to_owned();
    let q = comparison.q_value.map_or_else(String::new, q_words);
    let disturbed = (point.disturbed > 0).then(|| share(point.disturbed, point.blocks));
    vec![
        Column::words("case", group.case_cell(case)),
        Column::numbers("n", count(point.n)),
        Column::baseline(&case.card.arms[0], median_cell(point, 0)),
        Column::arms("arm", case.card.arms[arm].clone()),
        Column::numbers("median", median_cell(point, arm)),
        Column::numbers("speed-up (95 %)", speed_up),
        Column::words("verdict", verdict),
        Column::numbers("as found", as_found(comparison)),
        Column::numbers("disturbed", disturbed.unwrap_or_default()),
        Column::numbers("q", q),
    ]
}

/// The median time of an arm; empty where it was not measured.
pub(super) fn median_cell(point: &Point, arm: usize) -> String {
    let times = point.times.get(arm);
    times.map_or_else(String::new, |times| nanos(times.median.median))
}

/// The speed-up over all blocks, where it differs from that over the clean ones.
fn as_found(comparison: &Comparison) -> String {
    let words = |speed_up: Estimate| format!("{:.2}", speed_up.median);
    let found = words(comparison.as_found);
    let clean = comparison.clean.map(words);
    if clean.as_ref() == Some(&found) {
        String::new()
    } else {
        found
    }
}

fn q_words(q: f64) -> String {
    if q < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{q:.3}")
    }
}

/// What else was metered per call, one row for each size and arm: CPU time and memory, when its items
/// ended, then what the pool did. Nothing metered, no table.
pub(super) fn meters(group: &Group<'_>, sizes: Sizes) -> Vec<Grid> {
    let tables = [usage_cells, end_cells, pool_cells];
    let tables = tables.map(|cells| meter_grid(group, sizes, cells));
    tables.into_iter().flatten().collect()
}

/// The sizes a table is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sizes {
    All,
    Largest,
}

impl Sizes {
    fn of(self, case: &CaseFindings) -> &[Point] {
        match self {
            Self::All => &case.points,
            Self::Largest => &case.points[case.points.len().saturating_sub(1)..],
        }
    }
}

/// The numbers of one arm at one size, by title; none where nothing was metered.
type Cells = fn(&CaseFindings, &Point, usize, &Times) -> Vec<(&'static str, Option<String>)>;

fn meter_grid(group: &Group<'_>, sizes: Sizes, cells: Cells) -> Option<Grid> {
    let mut rows = Vec::new();
    for case in &group.cases {
        for point in sizes.of(case) {
            for (arm, times) in point.times.iter().enumerate() {
                let numbers = cells(case, point, arm, times);
                if numbers.iter().all(|(_, number)| number.is_none()) {
                    continue;
                }
                let mut row = vec![
                    Column::words("case", group.case_cell(case)),
                    Column::numbers("n", count(point.n)),
                    Column::arms("arm", case.card.arms[arm].clone()),
                ];
                let cell = |(title, number): (&str, Option<String>)| {
                    Column::numbers(title, number.unwrap_or_default())
                };
                row.extend(numbers.into_iter().map(cell));
                rows.push(row);
            }
        }
    }
    (!rows.is_empty()).then(|| Grid::of(rows).without_empty_columns())
}

fn usage_cells(
    case: &CaseFindings,
    point: &Point,
    arm: usize,
    times: &Times,
) -> Vec<(&'static str, Option<String>)> {
    let peak = case.peak(point.n, arm);
    let cpus = times.cpu.map(|cpu| cpu / times.median.median);
    let allocations = times.allocations;
    let allocated = allocations.map(|(_, allocated)| bytes(allocated));
    let per_item = peak.and(case.bytes_per_item(arm)).map(slope_words);
    let threads = peak.and_then(|peak| course_words(peak.threads.as_ref()?));
    vec![
        ("throughput", throughput(case, point, times)),
        ("CPU time", times.cpu.map(nanos)),
        ("CPUs used", cpus.map(|cpus| format!("{cpus:.2}"))),
        ("allocations", allocations.map(|(count, _)| few(count))),
        ("allocated", allocated),
        ("peak memory", peak.map(|peak| bytes(peak.bytes as f64))),
        ("peak per item", per_item),
        ("threads", threads),
    ]
}

fn throughput(case: &CaseFindings, point: &Point, times: &Times) -> Option<String> {
    let per_second = case.card.per_second(point.n, times.median.median)?;
    Some(match case.card.throughput? {
        Throughput::Items => format!("{} {}/s", few(per_second), plural(&case.card.unit)),
        Throughput::Bytes(_) => format!("{}/s", bytes(per_second)),
    })
}

/// Threads at the beginning, at most, and at the end.
fn course_words(course: &ThreadCourse) -> Option<String> {
    let (first, last) = (course.counts.first()?, course.counts.last()?);
    let most = course.counts.iter().max()?;
    Some(format!("{first} → {most} → {last}"))
}

/// Bytes that an item takes, with half the width of the interval.
pub(super) fn slope_words(slope: Slope) -> String {
    let per_item = bytes(slope.slope.max(0.0));
    match slope.margin {
        Some(margin) => format!("{per_item} ± {}", bytes(margin)),
        None => per_item,
    }
}

fn end_cells(
    case: &CaseFindings,
    point: &Point,
    arm: usize,
    _: &Times,
) -> Vec<(&'static str, Option<String>)> {
    let ends = case.peak(point.n, arm).and_then(|peak| peak.ends.as_ref());
    let at = |percent| ends.and_then(|ends| Some(ends.at(percent)? as f64));
    let spread = at(95).zip(at(5)).map(|(late, early)| late - early);
    let times = [
        ("first ends", at(0)),
        ("half end by", at(50)),
        ("95 % end by", at(95)),
        ("last ends", at(100)),
        ("5 to 95 %", spread),
    ];
    times.map(|(title, time)| (title, time.map(nanos))).to_vec()
}

fn pool_cells(
    _: &CaseFindings,
    _: &Point,
    _: usize,
    times: &Times,
) -> Vec<(&'static str, Option<String>)> {
    let titles = ["steals", "parks", "threads added", "contentions"];
    let at = |place: usize| times.pool.map(|counts| few(counts[place]));
    let cells = (0..).zip(titles);
    cells.map(|(place, title)| (title, at(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings::Findings, report::fixture};

    #[test]
    fn what_an_arm_does_in_a_second_is_shown_where_that_is_asked_for() {
        let mut findings = fixture::findings();
        let usage = |findings: &Findings| {
            let groups = groups(&findings.experiments[0]);
            meters(&groups[0], Sizes::Largest).swap_remove(0).markdown()
        };
        assert!(!usage(&findings).contains("throughput"));
        let case = &mut findings.experiments[0].cases[0];
        // At the largest size the baseline takes some time for n items.
        let point = &mut case.points.last_mut().unwrap();
        point.times[0].median.median = 1e9;
        let items = point.n;
        case.card.throughput = Some(Throughput::Items);
        case.card.unit = "hash".to_owned();
        let expected = format!("{} hashes/s", count(items));
        assert!(usage(&findings).contains(&expected), "{}", usage(&findings));
        findings.experiments[0].cases[0].card.throughput = Some(Throughput::Bytes(1_024));
        let expected = format!("{}/s", bytes(items as f64 * 1_024.0));
        assert!(usage(&findings).contains(&expected), "{}", usage(&findings));
    }
}
