//! The tables of an experiment: results, and what else was metered.

use super::{
    conditions::share,
    grid::{Column, Grid},
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

/// One row for each size and arm. Columns in which nothing is to be said are left out: the case
/// if there is one only, "as found" where no disturbed block changed anything, q where the run has too few
/// comparisons for it.
pub(super) fn results(group: &Group<'_>) -> Grid {
    let baseline = group
        .cases
        .first()
        .map_or("baseline", |case| &case.card.arms[0]);
    let mut grid = Grid::new(vec![
        Column::words("case"),
        Column::numbers("n"),
        Column::baseline(baseline),
        Column::arms("arm"),
        Column::numbers("median"),
        Column::numbers("speed-up (95 %)"),
        Column::words("verdict"),
        Column::numbers("as found"),
        Column::numbers("disturbed"),
        Column::numbers("q"),
    ]);
    for case in &group.cases {
        for point in &case.points {
            for (arm, comparison) in point.comparisons.iter().enumerate() {
                let mut row = row(case, point, arm + 1, comparison);
                row[0] = group.case_cell(case);
                grid.rows.push(row);
            }
        }
    }
    grid.without_empty_columns()
}

fn row(case: &CaseFindings, point: &Point, arm: usize, comparison: &Comparison) -> Vec<String> {
    vec![
        String::new(),
        count(point.n),
        median_cell(point, 0),
        case.card.arms[arm].clone(),
        median_cell(point, arm),
        comparison.clean.map_or_else(|| "–".to_owned(), ratio_cell),
        verdict_word(comparison.verdict).to_owned(),
        as_found(comparison),
        disturbed(point),
        comparison.q_value.map_or_else(String::new, q_words),
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

fn disturbed(point: &Point) -> String {
    if point.disturbed == 0 {
        String::new()
    } else {
        share(point.disturbed, point.blocks)
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
    let usage = [
        "throughput",
        "CPU time",
        "CPUs used",
        "allocations",
        "allocated",
        "peak memory",
        "peak per item",
        "threads",
    ];
    let pool = ["steals", "parks", "threads added", "contentions"];
    let ends = [
        "first ends",
        "half end by",
        "95 % end by",
        "last ends",
        "5 to 95 %",
    ];
    [
        meter_grid(group, sizes, &usage, usage_cells),
        meter_grid(group, sizes, &ends, end_cells),
        meter_grid(group, sizes, &pool, pool_cells),
    ]
    .into_iter()
    .flatten()
    .collect()
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

/// The numbers of one arm at one size.
type Cells = fn(&CaseFindings, &Point, usize, &Times) -> Vec<String>;

fn meter_grid(group: &Group<'_>, sizes: Sizes, titles: &[&str], cells: Cells) -> Option<Grid> {
    let names = [
        Column::words("case"),
        Column::numbers("n"),
        Column::arms("arm"),
    ];
    let numbers = titles.iter().map(|title| Column::numbers(title));
    let mut grid = Grid::new(names.into_iter().chain(numbers).collect());
    for case in &group.cases {
        for point in sizes.of(case) {
            for (arm, times) in point.times.iter().enumerate() {
                let arm_name = case.card.arms[arm].clone();
                let mut row = vec![group.case_cell(case), count(point.n), arm_name];
                row.extend(cells(case, point, arm, times));
                if row[3..].iter().any(|cell| !cell.is_empty()) {
                    grid.rows.push(row);
                }
            }
        }
    }
    (!grid.rows.is_empty()).then(|| grid.without_empty_columns())
}

fn usage_cells(case: &CaseFindings, point: &Point, arm: usize, times: &Times) -> Vec<String> {
    let peak = case.peak(point.n, arm);
    let cpus = times.cpu.map(|cpu| cpu / times.median.median);
    let cells = [
        throughput(case, point, times),
        times.cpu.map(nanos),
        cpus.map(|cpus| format!("{cpus:.2}")),
        times.allocations.map(|(allocations, _)| few(allocations)),
        times.allocations.map(|(_, allocated)| bytes(allocated)),
        peak.map(|peak| bytes(peak.bytes as f64)),
        peak.and(case.bytes_per_item(arm)).map(slope_words),
        peak.and_then(|peak| course_words(peak.threads.as_ref()?)),
    ];
    cells.map(Option::unwrap_or_default).to_vec()
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

fn end_cells(case: &CaseFindings, point: &Point, arm: usize, _: &Times) -> Vec<String> {
    let ends = case.peak(point.n, arm).and_then(|peak| peak.ends.as_ref());
    let at = |percent| ends.and_then(|ends| Some(ends.at(percent)? as f64));
    let spread = at(95).zip(at(5)).map(|(late, early)| late - early);
    let cells = [at(0), at(50), at(95), at(100), spread];
    cells
        .map(|time| time.map_or_else(String::new, nanos))
        .to_vec()
}

fn pool_cells(_: &CaseFindings, _: &Point, _: usize, times: &Times) -> Vec<String> {
    let counts = times.pool.map(|counts| counts.map(few));
    counts.map_or_else(|| vec![String::new(); 4], Vec::from)
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
