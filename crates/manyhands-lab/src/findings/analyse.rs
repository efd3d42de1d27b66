//! From the events of a run to its findings.

use super::{
    CaseFindings, ExperimentFindings, Failure, Findings, case,
    collect::{Collected, collect},
};
use crate::{
    gate::{Capacity, Gate},
    record::{CaseCard, Event, ExperimentCard, Head, Key},
    stats::q_values,
};
use std::collections::HashMap;

/// Computes everything there is to say about a run.
///
/// The same head and events give the same findings. A run that is not over gives findings about what there is.
///
/// # Cost
/// A few bootstraps for each arm at each size.
#[must_use]
pub fn analyse(head: &Head, events: &[Event]) -> Findings {
    let collected = collect(head, events);
    let cards = head.experiments.iter();
    let experiments = cards.map(|card| experiment(head, card, &collected));
    let mut findings = Findings {
        failures: failures(events),
        left_out: left_out(head, &collected),
        blocks: 0,
        disturbed: 0,
        quiet: true,
        head: head.clone(),
        experiments: experiments.collect(),
    };
    findings.blocks = findings.points().map(|point| point.blocks).sum();
    findings.disturbed = findings.points().map(|point| point.disturbed).sum();
    let tolerated = head.settings.thresholds.too_noisy * findings.blocks as f64;
    findings.quiet = findings.disturbed as f64 <= tolerated;
    add_q_values(&mut findings);
    findings
}

fn experiment(head: &Head, card: &ExperimentCard, collected: &Collected<'_>) -> ExperimentFindings {
    let case = |one: &CaseCard| {
        let found = collected.case(&card.id, &one.name)?;
        (!found.blocks.is_empty()).then(|| case::case(head, one, found))
    };
    let cases: Vec<CaseFindings> = card.cases.iter().filter_map(case).collect();
    let mut found = ExperimentFindings {
        id: card.id.clone(),
        title: card.title.clone(),
        cases,
        claim: None,
        source: card.source.clone(),
        notes: card.notes.clone(),
    };
    let judged = |claim| found.judge(claim, head.machine.cpus);
    found.claim = card.claim.as_ref().map(judged);
    found
}

/// The gate of each point of a run.
pub(crate) fn gates(head: &Head, events: &[Event]) -> HashMap<Key, Gate> {
    let collected = collect(head, events);
    let mut gates = HashMap::new();
    for experiment in &head.experiments {
        for card in &experiment.cases {
            let capacity = Capacity::of(&head.machine, card.cpus);
            let found = collected.case(&experiment.id, &card.name);
            for (n, blocks) in found.iter().flat_map(|found| &found.blocks) {
                let key = Key::new(&experiment.id, &card.name, *n);
                gates.insert(key, Gate::of(blocks, capacity, head.settings.thresholds));
            }
        }
    }
    gates
}

fn failures(events: &[Event]) -> Vec<Failure> {
    let failure = |event: &Event| match event {
        Event::Failed { key, message } => Some(Failure {
            key: key.clone(),
            message: message.clone(),
        }),
        _ => None,
    };
    events.iter().filter_map(failure).collect()
}

/// The points of the head that have neither blocks nor a failure.
fn left_out(head: &Head, collected: &Collected<'_>) -> Vec<Key> {
    let mut left_out = Vec::new();
    for experiment in &head.experiments {
        for card in &experiment.cases {
            let found = collected.case(&experiment.id, &card.name);
            let known = |n: &usize| {
                found.is_some_and(|found| found.blocks.contains_key(n) || found.failed.contains(n))
            };
            let unknown = card.sizes.iter().filter(|n| !known(n));
            left_out.extend(unknown.map(|n| Key::new(&experiment.id, &card.name, *n)));
        }
    }
    left_out
}

/// Adds q-values if there are many comparisons.
fn add_q_values(findings: &mut Findings) {
    let experiments = findings.experiments.iter_mut();
    let cases = experiments.flat_map(|experiment| &mut experiment.cases);
    let points = cases.flat_map(|case| &mut case.points);
    let comparisons: Vec<_> = points.flat_map(|point| &mut point.comparisons).collect();
    if comparisons.len() <= COMPARISONS_FEW {
        return;
    }
    let p_values: Vec<f64> = comparisons.iter().map(|one| one.p_value).collect();
    for (comparison, q) in comparisons.into_iter().zip(q_values(&p_values)) {
        comparison.q_value = Some(q);
    }
}

/// Up to this many comparisons are judged one by one.
const COMPARISONS_FEW: usize = 20;
