//! The texts and files that are made of a run, in one place, so that a run and a later report on
//! it make the same.

use crate::{
    LabError,
    findings::{self, ExperimentFindings, Findings},
    record::{Block, Event, Head, Key},
    report::{self, Published},
    store::{EVENTS, Store},
};
use std::mem;

/// What was published about the experiments of a run, given what the run has found.
pub type Companion = fn(&Findings) -> Published;

/// Nothing was published about these experiments.
#[must_use]
pub fn alone(_: &Findings) -> Published {
    Published::default()
}

/// What there is to print about one experiment when it is measured. The others are not looked at.
pub(super) fn section(head: &Head, events: &[Event], id: &str, companion: Companion) -> String {
    let mut head = head.clone();
    head.experiments.retain(|one| one.id == id);
    // The events of an experiment follow each other.
    let first = events.iter().position(|event| event.subject().0 == id);
    let findings = findings::analyse(&head, &events[first.unwrap_or(0)..]);
    experiments(&findings, &companion(&findings))
}

/// What there is to print about experiments that the time did not suffice to begin.
pub(super) fn not_begun(findings: &Findings) -> String {
    let failed = |id: &str| findings.failures.iter().any(|one| one.key.experiment == id);
    let mut findings = findings.clone();
    let mut all = mem::take(&mut findings.experiments);
    all.retain(|one| one.cases.is_empty() && !failed(&one.id));
    findings.experiments = all;
    experiments(&findings, &Published::default())
}

fn experiments(findings: &Findings, published: &Published) -> String {
    let text = |experiment: &ExperimentFindings| {
        let paper = published.papers.get(&experiment.id);
        let text = report::experiment_text(findings, experiment, paper);
        text + &report::meters_text(experiment) + "\n"
    };
    findings.experiments.iter().map(text).collect()
}

/// What there is to print about a whole run.
#[must_use]
pub fn text(findings: &Findings, companion: Companion) -> String {
    experiments(findings, &companion(findings)) + &report::closing(findings)
}

/// Writes all files that are computed from a run. The answer is what there is to say about that, if
/// anything.
///
/// # Errors
/// [`LabError::File`] if one cannot be written, [`LabError::Chart`] if one cannot be drawn.
pub fn write(
    store: &mut Store,
    findings: &Findings,
    events: &[Event],
    companion: Companion,
) -> Result<String, LabError> {
    let gates = findings::gates(&findings.head, events);
    let causes = |key: &Key, block: &Block| {
        let gate = gates.get(key);
        gate.map_or_else(Vec::new, |gate| gate.causes(block))
    };
    let published = companion(findings);
    let files = report::files(findings, events, causes, &published)?;
    let named: Vec<(&str, &[u8])> = files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes.as_slice()))
        .collect();
    let left_alone = store.write(&named)?;
    Ok(match left_alone.as_slice() {
        [] => String::new(),
        names => report::wrapped(&format!(
            "Not written, because files that are not of this program have these names: {}.",
            names.join(", ")
        )),
    })
}

/// Says where the results are.
pub(super) fn listing(folder: &str) -> String {
    format!("Report, charts, tables: {folder}/report.html and beside it; as measured: {EVENTS}.\n")
}
