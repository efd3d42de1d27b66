//! The answer of a run on one screen: from which size on it pays, and a few speed-ups.
//!
//! It says less than the tables, and nothing else: each of its sentences and numbers stands in them too.

use super::{
    conditions::{disturbance, not_quiet_sentence},
    grid::{Column, Grid, Row},
    results::median_cell,
    sentence::{break_even_sentence, kind_words},
    units::{count, ratio_cell},
    verdict_words::{doubt_words, verdict_word},
    width::Width,
};
use crate::{
    break_even::Answer,
    findings::{CaseFindings, Comparison, ExperimentFindings, Findings, Point},
};

/// The first challenger of each case: the break-even of the first case that was searched, in full, those of the others in
/// short; at most five speed-ups; what is missing, and whether the machine was quiet.
///
/// At 80 columns and more it has at most 27 lines.
///
/// Example: see [`compare_json`](super::compare_json).
#[must_use]
pub fn answer_text(findings: &Findings, width: Width) -> String {
    let mut text = String::new();
    for sentence in break_evens(findings) {
        text += &width.wrapped(&sentence);
    }
    let grid = speed_ups(findings);
    if grid.rows.is_empty() {
        text += "Nothing was measured.\n";
    } else {
        text += &format!("\n{}\n", grid.terminal(width));
    }
    for sentence in missing(findings) {
        text += &width.wrapped(&sentence);
    }
    let quiet = not_quiet_sentence(findings).unwrap_or_else(|| disturbance(findings));
    text + &width.wrapped(&quiet)
}

/// The answers about the first challengers.
fn break_evens(findings: &Findings) -> Vec<String> {
    let searched = cases(findings).filter_map(|(experiment, case)| {
        let answer = case.answers.first()?;
        Some((experiment, case, answer))
    });
    type Searched<'run> = (&'run ExperimentFindings, &'run CaseFindings, &'run Answer);
    let sentence = |(place, (experiment, case, answer)): (usize, Searched<'_>)| {
        if place == 0 {
            let said = break_even_sentence(case, 1, answer);
            return format!("Answer, for {}: {said}", experiment.title);
        }
        let arm = &case.card.arms[1];
        let found = kind_words(&answer.kind);
        format!("Break-even of '{arm}', for {}: {found}.", experiment.title)
    };
    let said = searched.enumerate().take(ANSWERS_MAX);
    said.map(sentence).collect()
}

/// The largest size of each case, and then, while there is room, the smallest of each.
fn speed_ups(findings: &Findings) -> Grid {
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    let all: Vec<&CaseFindings> = findings.cases().collect();
    let largest = all.iter().enumerate();
    let largest = largest.filter_map(|(at, case)| Some((at, case.points.len().checked_sub(1)?)));
    let smallest = (0..all.len()).map(|at| (at, 0));
    for place in largest.chain(smallest) {
        let (at, point) = place;
        let has_challenger = |point: &Point| !point.comparisons.is_empty();
        let is_there = all[at].points.get(point).is_some_and(has_challenger);
        if is_there && chosen.len() < ROWS_MAX && !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    let rows = chosen.into_iter();
    Grid::of(rows.map(|(at, point)| row(all[at], &all[at].points[point])))
}

fn row(case: &CaseFindings, point: &Point) -> Row {
    let comparison = &point.comparisons[0];
    vec![
        Column::words("case", case.card.name.clone()),
        Column::numbers("n", count(point.n)),
        Column::numbers("baseline", median_cell(point, 0)),
        Column::arms("arm", case.card.arms[1].clone()),
        Column::numbers("median", median_cell(point, 1)),
        Column::numbers("speed-up (95 %)", ratio_cell(comparison.shown())),
        Column::words("verdict", verdict(comparison)),
    ]
}

fn verdict(comparison: &Comparison) -> String {
    let word = verdict_word(comparison.verdict);
    comparison.doubt.map_or_else(
        || word.to_owned(),
        |doubt| format!("{word}: {}", doubt_words(doubt)),
    )
}

/// Failures and what there was no time for, counted.
fn missing(findings: &Findings) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(failure) = findings.failures.first() {
        let more = match findings.failures.len() - 1 {
            0 => String::new(),
            more => format!(" {more} more failed."),
        };
        let key = &failure.key;
        sentences.push(format!(
            "Failed: {} {} at n = {}: {}.{more}",
            key.experiment,
            key.case,
            count(key.n),
            failure.message
        ));
    }
    let left_out = findings.left_out.len();
    if left_out > 0 {
        let sizes = if left_out == 1 { "size" } else { "sizes" };
        sentences.push(format!(
            "For {} {sizes} no time was left; the report names them.",
            count(left_out)
        ));
    }
    sentences
}

fn cases(findings: &Findings) -> impl Iterator<Item = (&ExperimentFindings, &CaseFindings)> {
    let experiments = findings.experiments.iter();
    experiments.flat_map(|one| one.cases.iter().map(move |case| (one, case)))
}

/// Speed-ups that are shown.
const ROWS_MAX: usize = 5;
/// Cases whose break-even is said.
const ANSWERS_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report::fixture, verdict::Doubt, verdict::Verdict};

    #[test]
    fn the_answer_comes_first_and_fits_one_screen() {
        let noisy = fixture::other_findings();
        for columns in [80, 100, 200] {
            for findings in [&fixture::findings(), &noisy] {
                let text = answer_text(findings, Width::of(columns));
                assert!(text.starts_with("Answer, for SHA-512"), "{text}");
                assert!(text.lines().count() <= 27, "{text}");
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(columns.into()), "{text}");
            }
        }
        assert!(answer_text(&noisy, Width::default()).contains("41 %"));
    }

    #[test]
    fn five_speed_ups_are_of_the_largest_sizes_and_then_of_the_smallest() {
        let mut findings = fixture::findings();
        findings.experiments.truncate(2);
        findings.experiments[1].cases.truncate(2);
        let rows = speed_ups(&findings).rows;
        let place = |row: &Vec<String>| format!("{} {}", row[0], row[1]);
        let places: Vec<String> = rows.iter().map(place).collect();
        assert_eq!(places[..2], ["SHA-512 10", "SHA-512 100,000"]);
        assert_eq!(places[2..], ["HMAC-SHA-512 100,000", "SHA-512 100,000"]);
        assert_eq!(speed_ups(&fixture::findings()).rows.len(), 5);
    }

    #[test]
    fn an_undecided_speed_up_says_why() {
        let mut findings = fixture::findings();
        let point = findings.experiments[0].cases[0].points.last_mut();
        let comparison = &mut point.expect("it has points").comparisons[0];
        comparison.verdict = Verdict::Undecided;
        let (agree, blocks) = (13, 24);
        comparison.doubt = Some(Doubt::Split { agree, blocks });
        let text = answer_text(&findings, Width::of(120));
        assert!(text.contains("undecided: 13 of 24 blocks agree"), "{text}");
    }
}
