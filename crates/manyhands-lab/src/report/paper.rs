//! Published numbers beside measured ones.
//!
//! Times of different machines do not compare. What compares is each machine's speed-up over its
//! own baseline, and the memory that an item takes, so that is all the tables show.

use super::{
    grid::{Column, Grid},
    results::slope_words,
    sentence::{kind_words, size_range},
    units::{bytes, count, ratio_cell},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings},
    paper::{PLAIN, Paper, RANGES},
    stats::{Estimate, Slope},
};
use serde::Serialize;
use std::collections::BTreeSet;

/// The tables that are not empty, with their titles; the machine here has this many CPUs.
pub(super) fn titled(
    experiment: &ExperimentFindings,
    paper: &Paper,
    cpus: usize,
) -> Vec<(String, Grid)> {
    let memory = memory_grid(experiment, paper);
    let tables = [
        ("Beside the paper", grid(experiment, paper, cpus)),
        ("Memory of an item beside the paper", memory),
    ];
    let title = |what: &str| format!("{what}: {}", paper.source);
    let tables = tables.map(|(what, grid)| (title(what), grid));
    let of_ranges = (RANGES_TITLE.to_owned(), ranges_grid(experiment, paper));
    let all = tables.into_iter().chain([of_ranges]);
    all.filter(|(_, grid)| !grid.rows.is_empty()).collect()
}

/// What ranges gain over the plain loop, by case: there on each number of CPUs, and here. Empty if that was not
/// published.
fn ranges_grid(experiment: &ExperimentFindings, paper: &Paper) -> Grid {
    let numbers: BTreeSet<usize> = paper.ranges.keys().map(|(_, cpus)| *cpus).collect();
    let row = |case: &CaseFindings| {
        let there = |cpus: &usize| {
            let ratio = paper.ranges.get(&(case.card.own_name().to_owned(), *cpus));
            let cell = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
            Column::numbers(&format!("{cpus} CPUs"), cell)
        };
        let here = ranges_here(case).map_or_else(String::new, ratio_cell);
        let mut row = vec![Column::words("case", case.card.name.clone())];
        row.extend(numbers.iter().map(there));
        row.push(Column::numbers("here (95 % interval)", here));
        row
    };
    match numbers.is_empty() {
        true => Grid::default(),
        false => Grid::of(experiment.claimed().map(row)),
    }
}

/// At the largest size.
pub(super) fn ranges_here(case: &CaseFindings) -> Option<Estimate> {
    let point = case.points.last()?;
    let speed_up = |name: &str| {
        let arm = case.card.arms.iter().position(|arm| arm == name)?;
        point.speed_up(arm)
    };
    Some(speed_up(RANGES)?.over(speed_up(PLAIN)?))
}

/// Speed-ups there and here, for every cell that both have. Empty if there is none. Of a case that was
/// confined to several numbers of CPUs only the one with the most stands beside a paper that had all of its own.
fn grid(experiment: &ExperimentFindings, paper: &Paper, cpus: usize) -> Grid {
    let row = |one: Beside<'_>| {
        let mark = if one.is_unconverged { MARK } else { "" };
        let over_paper = match one.had_more(cpus) {
            true => String::new(),
            false => format!("{:.2}", one.here.median / one.there),
        };
        vec![
            Column::words("case", one.case.to_owned()),
            Column::numbers("n", count(one.n)),
            Column::arms("arm", one.arm.to_owned()),
            Column::numbers("paper", format!("{:.2}{mark}", one.there)),
            Column::numbers("here (95 % interval)", ratio_cell(one.here)),
            Column::numbers("here ÷ paper", over_paper),
        ]
    };
    Grid::of(beside(experiment, paper).into_iter().map(row))
}

/// Allocated memory there and here, for each item, and the peak here, for every arm whose allocations
/// were published. Empty if there is none.
///
/// The sizes may differ: what one item takes does not depend on them, but for what a call takes once.
fn memory_grid(experiment: &ExperimentFindings, paper: &Paper) -> Grid {
    let row = |one: Memory<'_>| {
        let over_paper = one.here.map(|here| format!("{:.2}", here / one.there));
        let or_nothing = |text: Option<String>| text.unwrap_or_default();
        vec![
            Column::words("case", one.case.to_owned()),
            Column::arms("arm", one.arm.to_owned()),
            Column::numbers("n, paper", count(one.n_there)),
            Column::numbers("allocated, paper", bytes(one.there)),
            Column::numbers("n, here", count(one.n_here)),
            Column::numbers("allocated, here", or_nothing(one.here.map(bytes))),
            Column::numbers("here ÷ paper", or_nothing(over_paper)),
            Column::numbers("peak, here", or_nothing(one.peak.map(slope_words))),
        ]
    };
    Grid::of(memory(experiment, paper).into_iter().map(row)).without_empty_columns()
}

/// Allocated bytes of an item there and here.
#[derive(Serialize)]
pub(super) struct Memory<'run> {
    case: &'run str,
    arm: &'run str,
    n_there: usize,
    there: f64,
    n_here: usize,
    here: Option<f64>,
    #[serde(skip)]
    peak: Option<Slope>,
}

/// Those of every arm whose allocations were published.
pub(super) fn memory<'run>(
    experiment: &'run ExperimentFindings,
    paper: &Paper,
) -> Vec<Memory<'run>> {
    let cases = experiment.claimed();
    cases.flat_map(|case| memory_of(case, paper)).collect()
}

fn memory_of<'run>(case: &'run CaseFindings, paper: &Paper) -> Vec<Memory<'run>> {
    let of_arm = |(arm, name): (usize, &'run String)| {
        let point = case.points.last()?;
        let mut cells = paper.cells.iter();
        let cell = cells.find(|cell| cell.case == case.card.own_name() && cell.arm == *name)?;
        let here = point.times.get(arm)?.allocations;
        Some(Memory {
            case: &case.card.name,
            arm: name,
            n_there: cell.n,
            there: cell.allocated_bytes? / cell.n as f64,
            n_here: point.n,
            here: here.map(|(_, allocated)| allocated / point.n.max(1) as f64),
            peak: case.bytes_per_item(arm),
        })
    };
    case.card
        .arms
        .iter()
        .enumerate()
        .filter_map(of_arm)
        .collect()
}

/// What stands below the table: where the numbers are from, what the mark means, the claimed
/// break-even beside the measured one, remarks.
pub(super) fn remarks(experiment: &ExperimentFindings, paper: &Paper, cpus: usize) -> Vec<String> {
    let mut remarks = vec![format!(
        "Paper: {}. Each speed-up is over the same machine's own baseline; times of different \
         machines do not compare.",
        paper.source
    )];
    let both = beside(experiment, paper);
    if both.iter().any(|one| one.had_more(cpus)) {
        let why = "'Here ÷ paper' is left empty where the paper had more CPUs than were used here.";
        remarks.push(why.to_owned());
    }
    if both.iter().any(|one| one.is_unconverged) {
        remarks.push(format!(
            "{MARK} not converged: one of the two published times has a standard deviation above \
             5 % of its mean."
        ));
    }
    if !memory_grid(experiment, paper).rows.is_empty() {
        remarks.push(
            "Memory is that of one item: allocated bytes are all that a call asks for, given back or not, over \
             its items; the peak is the slope of the resident memory over the size, with half the width of \
             its 95 % interval."
                .to_owned(),
        );
    }
    remarks.extend(paper.break_even_claimed.map(|(lower, upper)| {
        format!(
            "Break-even in the paper: n = {}; here: {}.",
            size_range(lower, upper),
            found_here(experiment)
        )
    }));
    remarks.extend(paper.notes.iter().cloned());
    remarks
}

/// A speed-up there and here.
#[derive(Serialize)]
pub(super) struct Beside<'run> {
    case: &'run str,
    n: usize,
    arm: &'run str,
    there: f64,
    /// Whether one of the two published times had not settled.
    is_unconverged: bool,
    here: Estimate,
    /// CPUs there, and here if the case was confined to some.
    #[serde(skip)]
    cpus: (usize, Option<usize>),
}

impl Beside<'_> {
    /// Whether the machine there had more CPUs than were used here, on a machine with so many.
    fn had_more(&self, cpus: usize) -> bool {
        let (there, here) = self.cpus;
        there > here.unwrap_or(cpus)
    }
}

/// Every speed-up that both have.
pub(super) fn beside<'run>(
    experiment: &'run ExperimentFindings,
    paper: &Paper,
) -> Vec<Beside<'run>> {
    let cases = experiment.claimed();
    cases.flat_map(|case| of_case(case, paper)).collect()
}

fn of_case<'run>(case: &'run CaseFindings, paper: &Paper) -> Vec<Beside<'run>> {
    let mut rows = Vec::new();
    let name = case.card.own_name();
    for point in &case.points {
        let Some(baseline) = paper.cell(name, point.n, &case.card.arms[0]) else {
            continue;
        };
        for (arm, comparison) in case.card.arms.iter().skip(1).zip(&point.comparisons) {
            let Some(cell) = paper.cell(name, point.n, arm) else {
                continue;
            };
            rows.push(Beside {
                case: &case.card.name,
                n: point.n,
                arm,
                there: baseline.nanos() / cell.nanos(),
                is_unconverged: baseline.is_unconverged() || cell.is_unconverged(),
                here: comparison.shown(),
                cpus: (cell.cpus, case.card.cpus),
            });
        }
    }
    rows
}

fn found_here(experiment: &ExperimentFindings) -> String {
    let mut found = Vec::new();
    for case in experiment.claimed() {
        for (arm, answer) in case.card.arms.iter().skip(1).zip(&case.answers) {
            found.push(format!("'{arm}' {}", kind_words(&answer.kind)));
        }
    }
    if found.is_empty() {
        "not looked for".to_owned()
    } else {
        found.join(", ")
    }
}

const RANGES_TITLE: &str =
    "Time of the plain loop over that of ranges, as published on each number of CPUs, and here";
/// Marks a published number that did not converge.
const MARK: &str = "†";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{paper::Figure, report::fixture};

    fn cell(n: usize, arm: &str) -> Figure {
        Figure {
            case: "SHA-512".to_owned(),
            n,
            arm: arm.to_owned(),
            ..Figure::default()
        }
    }

    #[test]
    fn a_case_on_fewer_cpus_than_it_could_have_had_does_not_stand_beside_the_paper() {
        let experiment = fixture::over_cpus();
        let timed = |arm, mean_nanos| Figure {
            mean_nanos,
            ..cell(300, arm)
        };
        let cells = vec![timed("sequential", 10.0), timed("for", 1.0)];
        let mut paper = Paper {
            cells,
            ..Paper::default()
        };
        let rows = grid(&experiment, &paper, 2).rows;
        let cases: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        let expected = (vec!["SHA-512, 8 CPUs"], "0.50");
        assert_eq!((cases, rows[0][5].as_str()), expected);
        // What had more CPUs than were used here is not divided by.
        paper.cells.iter_mut().for_each(|cell| cell.cpus = 12);
        assert_eq!(grid(&experiment, &paper, 2).rows[0][5], "");
        let said = remarks(&experiment, &paper, 2).concat();
        assert!(said.contains("left empty"), "{said}");
    }

    #[test]
    fn what_ranges_gain_stands_beside_what_was_published_of_each_number_of_cpus() {
        let arms = ["sequential", PLAIN, RANGES];
        let point = fixture::point(300, &[100.0, 50.0, 40.0]);
        let experiment = ExperimentFindings {
            cases: vec![fixture::case("BCrypt", &arms, vec![point])],
            ..ExperimentFindings::default()
        };
        let mut paper = Paper::default();
        assert!(titled(&experiment, &paper, 2).is_empty());
        for (cpus, ratio) in [(32, 1.016), (64, 1.357)] {
            paper.ranges.insert(("BCrypt".to_owned(), cpus), ratio);
        }
        let tables = titled(&experiment, &paper, 2);
        let [(title, grid)] = tables.as_slice() else {
            panic!("{tables:?}");
        };
        assert_eq!(title, RANGES_TITLE);
        let titles: Vec<&str> = grid.columns.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles[..3], ["case", "32 CPUs", "64 CPUs"]);
        assert_eq!(grid.rows[0][..3], ["BCrypt", "1.02", "1.36"]);
        assert!(grid.rows[0][3].starts_with("1.25 ("), "{grid:?}");
    }

    #[test]
    fn the_memory_of_an_item_stands_beside_the_published_one_whatever_the_cpus() {
        let mut experiment = fixture::findings().experiments.remove(0);
        let case = &mut experiment.cases[0];
        case.card.of = Some(case.card.name.clone());
        case.card.name += ", 2 CPUs";
        let mut cells = vec![cell(1_000_000, "for_each"), cell(1_000_000, "ranges")];
        cells[0].allocated_bytes = Some(128e6);
        let paper = Paper {
            cells,
            ..Paper::default()
        };
        let rows = memory_grid(&experiment, &paper).rows;
        let [row] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        let there = ["SHA-512, 2 CPUs", "for_each", "1,000,000", "128 B"];
        assert_eq!(row[..4], there);
        assert_eq!(row[4..7], ["100,000", "0 B", "0.00"]);
        // The readings have the slope 65.536 B but for where they vary.
        assert!(row[7].starts_with("66 B ± "), "{row:?}");
        let said = remarks(&experiment, &paper, 2).concat();
        assert!(said.contains("Memory is that of one item"), "{said}");
    }
}
