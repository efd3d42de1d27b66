//! An experiment as text for a terminal, as wide as that is.

use super::{
    claim::claim_sentences,
    conditions::{disturbance, not_quiet_sentence},
    paper,
    results::{Group, Sizes, groups, meters, results},
    scaling,
    sentence::{break_even_sentence, floor_sentence, spread_sentence},
    units::count,
    verdict_words::verdict_sentence,
    width::Width,
};
use crate::{
    findings::{CaseFindings, ExperimentFindings, Findings, Point},
    paper::Paper,
    record::Key,
};

/// One experiment: tables, noise floor, verdicts, break-evens, and the paper's numbers if any.
#[must_use]
pub fn experiment_text(
    findings: &Findings,
    experiment: &ExperimentFindings,
    papers: &[Paper],
    width: Width,
) -> String {
    let mut text = width.wrapped(&format!("{}  {}", experiment.id, experiment.title));
    if experiment.cases.is_empty() {
        text += "Nothing was measured.\n";
    }
    for group in groups(experiment) {
        if let Some(name) = group.name {
            text += &format!("\n{}", width.wrapped(name));
        }
        text += &results(findings, &group).terminal(width);
        text.push('\n');
        for sentence in group_sentences(findings, &group) {
            text += &width.wrapped(&sentence);
        }
    }
    for table in scaling::tables(experiment) {
        text += &format!(
            "\n{}{}\n",
            width.wrapped(&table.title),
            table.grid.terminal(width)
        );
        for sentence in &table.sentences {
            text += &width.wrapped(sentence);
        }
    }
    let claimed = claim_sentences(experiment);
    if !claimed.is_empty() {
        text.push('\n');
    }
    for sentence in claimed {
        text += &width.hanging(&sentence);
    }
    for paper in papers {
        for (title, grid) in paper::titled(experiment, paper) {
            text += &format!("\n{}{}\n", width.wrapped(&title), grid.terminal(width));
        }
        for remark in paper::remarks(experiment, paper) {
            text += &width.wrapped(&remark);
        }
    }
    for sentence in not_measured(findings, &experiment.id) {
        text += &width.wrapped(&sentence);
    }
    text
}

/// CPU time, memory and what the pool did, for an experiment at its largest sizes; empty if none of it
/// was metered. The other reports have all sizes.
#[must_use]
pub fn meters_text(experiment: &ExperimentFindings, width: Width) -> String {
    let of_group = |group: &Group<'_>| {
        let name = group.name.unwrap_or(&experiment.title);
        let tables = meters(group, Sizes::Largest).into_iter();
        tables
            .map(|grid| {
                let title = format!("{name}, per call at the largest size");
                format!("\n{}{}\n", width.wrapped(&title), grid.terminal(width))
            })
            .collect::<String>()
    };
    groups(experiment).iter().map(of_group).collect()
}

/// What is to be said once, after all experiments: disturbed blocks, and whether the machine was
/// quiet enough.
#[must_use]
pub fn closing(findings: &Findings, width: Width) -> String {
    let mut text = width.wrapped(&disturbance(findings));
    if let Some(sentence) = not_quiet_sentence(findings) {
        text += &width.wrapped(&sentence);
    }
    text
}

/// Noise floor, spread, verdicts and break-evens of the cases of one table.
pub(super) fn group_sentences(findings: &Findings, group: &Group<'_>) -> Vec<String> {
    let points = || group.cases.iter().flat_map(|case| &case.points);
    let mut sentences = vec![floor_sentence(points())];
    sentences.extend(spread_sentence(points()));
    for case in &group.cases {
        let of_case = |sentence: String| {
            if group.cases.len() > 1 {
                format!("{}: {sentence}", case.card.name)
            } else {
                sentence
            }
        };
        for arm in &case.suspicious {
            sentences.push(of_case(suspicion_sentence(case, *arm)));
        }
        for arm in 1..case.card.arms.len() {
            sentences.push(of_case(verdict_sentence(findings, case, arm)));
        }
        for (index, answer) in case.answers.iter().enumerate() {
            let sentence = break_even_sentence(case, index + 1, answer);
            sentences.push(of_case(format!("Break-even: {sentence}")));
        }
    }
    sentences
}

/// What is wrong with an arm whose time does not grow.
fn suspicion_sentence(case: &CaseFindings, arm: usize) -> String {
    let size = |point: Option<&Point>| point.map_or_else(String::new, |point| count(point.n));
    format!(
        "Suspicious: the time of '{}' does not grow from n = {} to n = {}. Was its work optimised \
         away, or never begun?",
        case.card.arms[arm],
        size(case.points.first()),
        size(case.points.last())
    )
}

/// Failures of an experiment, and points there was no time for.
pub(super) fn not_measured(findings: &Findings, experiment: &str) -> Vec<String> {
    let failures = findings.failures.iter().map(|one| (&one.key, one));
    let failed = failures.filter(|(key, _)| key.experiment == experiment);
    let mut sentences: Vec<String> = failed
        .map(|(key, failure)| format!("Failed: {}: {}.", point_name(key), failure.message))
        .collect();
    let left_out = findings.left_out.iter();
    let names: Vec<String> = left_out
        .filter(|key| key.experiment == experiment)
        .map(point_name)
        .collect();
    if !names.is_empty() {
        sentences.push(format!("No time was left for {}.", names.join("; ")));
    }
    sentences
}

fn point_name(key: &Key) -> String {
    format!("{} at n = {}", key.case, count(key.n))
}
