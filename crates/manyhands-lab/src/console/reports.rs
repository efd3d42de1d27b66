//! The texts and files that are made of a run, in one place, so that a run and a later report on
//! it make the same.

use crate::{
    LabError,
    findings::{self, Findings},
    gate::{Capacity, Gate},
    record::{Block, Event, Head, Key},
    report::{self, Published},
    store::{EVENTS, Store},
};
use std::collections::BTreeMap;

/// What was published about the experiments of a run, given what the run has found.
pub type Companion = fn(&Findings) -> Published;

/// Nothing was published about these experiments.
#[must_use]
pub fn alone(_: &Findings) -> Published {
    Published::default()
}

/// What there is to print about one experiment.
pub(super) fn section(head: &Head, events: &[Event], id: &str, companion: Companion) -> String {
    let findings = findings::analyse(head, events);
    let published = companion(&findings);
    let experiment = findings.experiments.iter().find(|one| one.id == id);
    experiment.map_or_else(String::new, |experiment| {
        report::experiment_text(&findings, experiment, published.papers.get(id))
    })
}

/// What there is to print about a whole run.
#[must_use]
pub fn text(findings: &Findings, companion: Companion) -> String {
    let published = companion(findings);
    let mut text = String::new();
    for experiment in &findings.experiments {
        let paper = published.papers.get(&experiment.id);
        text += &report::experiment_text(findings, experiment, paper);
        text += &report::meters_text(experiment);
        text.push('\n');
    }
    text + &report::closing(findings)
}

/// Writes all files that are computed from a run.
///
/// # Errors
/// [`LabError::File`] if one cannot be written, [`LabError::Chart`] if one cannot be drawn.
pub fn write(
    store: &Store,
    findings: &Findings,
    events: &[Event],
    companion: Companion,
) -> Result<(), LabError> {
    let head = &findings.head;
    let gates = gates(head, events);
    let causes = |key: &Key, block: &Block| {
        gates
            .get(key)
            .map_or_else(Vec::new, |gate| gate.causes(block))
    };
    let published = companion(findings);
    for file in report::files(findings, events, causes, &published)? {
        store.replace(&file.path, &file.bytes)?;
    }
    Ok(())
}

/// Says where the results are.
pub(super) fn listing(folder: &str) -> String {
    format!("Report, charts, tables: {folder}/report.html and beside it; as measured: {EVENTS}.\n")
}

/// The gate of each point.
fn gates<'run>(head: &Head, events: &'run [Event]) -> BTreeMap<&'run Key, Gate> {
    let mut blocks: BTreeMap<&Key, Vec<&Block>> = BTreeMap::new();
    for event in events {
        if let Event::Block { key, block } = event {
            blocks.entry(key).or_default().push(block);
        }
    }
    let gate = |(key, blocks): (&'run Key, Vec<&Block>)| {
        let capacity = Capacity::of(&head.machine, pinned(head, key));
        (key, Gate::of(&blocks, capacity, head.settings.thresholds))
    };
    blocks.into_iter().map(gate).collect()
}

/// CPUs the case of this point is pinned to.
fn pinned(head: &Head, key: &Key) -> Option<usize> {
    let mut experiments = head.experiments.iter();
    let experiment = experiments.find(|one| one.id == key.experiment)?;
    let case = experiment.cases.iter().find(|one| one.name == key.case)?;
    case.cpus
}
