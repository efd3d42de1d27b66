//! What every report says of an experiment, in this order; a report only gives it a form.

use super::{
    claim::claim_sentences,
    grid::Grid,
    paper,
    results::{Group, Sizes, groups, meters, results},
    scaling::{self, Titled},
    sentence::{break_even_sentence, floor_sentence, spread_sentence},
    units::count,
    verdict_words::doubt_sentence,
};
use crate::{
    chart::Named,
    findings::{CaseFindings, ExperimentFindings, Findings, Point},
    paper::Paper,
    record::Key,
};

/// One experiment of a run.
pub(super) struct Section<'run> {
    pub(super) id: &'run str,
    pub(super) title: &'run str,
    pub(super) parts: Vec<Part<'run>>,
    pub(super) scaling: Vec<Titled>,
    pub(super) claimed: Vec<String>,
    pub(super) papers: Vec<Beside>,
    pub(super) missing: Vec<String>,
}

/// Cases that share a table.
pub(super) struct Part<'run> {
    pub(super) name: Option<&'run str>,
    pub(super) results: Grid,
    pub(super) sentences: Vec<String>,
    pub(super) meters: Vec<Grid>,
    /// In the form of the report.
    pub(super) charts: Vec<&'run str>,
}

/// What was published of the experiment on one machine.
pub(super) struct Beside {
    pub(super) tables: Vec<(String, Grid)>,
    pub(super) remarks: Vec<String>,
}

impl<'run> Section<'run> {
    /// Of all `charts` it has those of this experiment; what is in the table of all claims it does not repeat.
    pub(super) fn of(
        findings: &Findings,
        experiment: &'run ExperimentFindings,
        papers: &[Paper],
        charts: &'run [(Named, String)],
        claims: &Grid,
    ) -> Self {
        let part = |group: Group<'run>| {
            let of_part = charts
                .iter()
                .filter(|(named, _)| named.experiment == experiment.id && group.owns(named));
            Part {
                name: group.name,
                results: results(&group),
                sentences: group_sentences(&group),
                meters: meters(&group, Sizes::All),
                charts: of_part.map(|(_, form)| form.as_str()).collect(),
            }
        };
        let cpus = findings.head.machine.cpus;
        let beside = |paper: &Paper| Beside {
            tables: paper::titled(experiment, paper, cpus),
            remarks: paper::remarks(experiment, paper, cpus),
        };
        Self {
            id: &experiment.id,
            title: &experiment.title,
            parts: groups(experiment).into_iter().map(part).collect(),
            scaling: scaling::tables(experiment),
            claimed: claim_sentences(experiment, claims),
            papers: papers.iter().map(beside).collect(),
            missing: not_measured(findings, &experiment.id),
        }
    }
}

/// Noise floor, spread, verdicts and break-evens of the cases of one table.
fn group_sentences(group: &Group<'_>) -> Vec<String> {
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
        sentences.extend(doubt_sentence(case).map(of_case));
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
fn not_measured(findings: &Findings, experiment: &str) -> Vec<String> {
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
