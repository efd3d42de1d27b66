//! Published numbers beside measured ones.
//!
//! Times of different machines do not compare. What compares is each machine's speed-up over its
//! own baseline, so that is all the table shows.

use super::{
    grid::{Column, Grid},
    sentence::{kind_words, size_range},
    units::{count, ratio_cell},
};
use crate::{
    findings::{CaseFindings, ExperimentFindings},
    paper::Paper,
};

/// Speed-ups there and here, for every cell that both have. Empty if there is none.
pub(super) fn grid(experiment: &ExperimentFindings, paper: &Paper) -> Grid {
    let mut grid = Grid::new(vec![
        Column::words("case"),
        Column::numbers("n"),
        Column::arms("arm"),
        Column::numbers("paper"),
        Column::numbers("here (95 % interval)"),
        Column::numbers("here ÷ paper"),
    ]);
    for case in &experiment.cases {
        grid.rows.extend(rows(case, paper));
    }
    grid
}

/// What stands below the table: where the numbers are from, what the mark means, the claimed
/// break-even beside the measured one, remarks.
pub(super) fn remarks(experiment: &ExperimentFindings, paper: &Paper) -> Vec<String> {
    let mut remarks = vec![format!(
        "Paper: {}. Each speed-up is over the same machine's own baseline; times of different \
         machines do not compare.",
        paper.source
    )];
    if grid(experiment, paper)
        .rows
        .iter()
        .flatten()
        .any(|cell| cell.ends_with(MARK))
    {
        remarks.push(format!(
            "{MARK} not converged: one of the two published times has a standard deviation above \
             5 % of its mean."
        ));
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

fn rows(case: &CaseFindings, paper: &Paper) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let name = &case.card.name;
    for point in &case.points {
        let Some(baseline) = paper.cell(name, point.n, &case.card.arms[0]) else {
            continue;
        };
        for (arm, comparison) in case.card.arms.iter().skip(1).zip(&point.comparisons) {
            let Some(cell) = paper.cell(name, point.n, arm) else {
                continue;
            };
            let there = baseline.nanos() / cell.nanos();
            let here = comparison.clean.unwrap_or(comparison.as_found);
            let unconverged = baseline.is_unconverged() || cell.is_unconverged();
            let mark = if unconverged { MARK } else { "" };
            rows.push(vec![
                name.clone(),
                count(point.n),
                arm.clone(),
                format!("{there:.2}{mark}"),
                ratio_cell(here),
                format!("{:.2}", here.median / there),
            ]);
        }
    }
    rows
}

fn found_here(experiment: &ExperimentFindings) -> String {
    let answers = experiment.cases.iter().flat_map(|case| {
        let arms = case.card.arms.iter().skip(1);
        arms.zip(&case.answers)
            .map(|(arm, answer)| (arm, &answer.kind))
    });
    let found: Vec<String> = answers
        .map(|(arm, kind)| format!("'{arm}' {}", kind_words(kind)))
        .collect();
    if found.is_empty() {
        "not looked for".to_owned()
    } else {
        found.join(", ")
    }
}

/// Marks a published number that did not converge.
const MARK: &str = "†";
