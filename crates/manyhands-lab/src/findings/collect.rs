//! Events by case.

use crate::record::{Block, CoreTrace, Event, Head, PeakReading};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What happened, by experiment and case.
pub(super) struct Collected<'run>(HashMap<(&'run str, &'run str), CaseEvents<'run>>);

impl<'run> Collected<'run> {
    /// What happened to one case, if anything did.
    pub(super) fn case<'a>(
        &'a self,
        experiment: &'a str,
        case: &'a str,
    ) -> Option<&'a CaseEvents<'run>> {
        self.0.get(&(experiment, case))
    }
}

/// What happened to one case.
#[derive(Debug, Default)]
pub(super) struct CaseEvents<'run> {
    pub(super) blocks: BTreeMap<usize, Vec<&'run Block>>,
    /// Sizes that could not be measured.
    pub(super) failed: BTreeSet<usize>,
    /// Cost and grain of the clock, by launch.
    pub(super) clocks: Vec<(f64, f64)>,
    /// Size, arm, bytes.
    pub(super) peaks: Vec<(usize, usize, &'run PeakReading)>,
    pub(super) traces: Vec<(usize, usize, &'run CoreTrace)>,
}

/// Groups the events by experiment and case; those of cases and arms that are not in the head, and blocks
/// with fewer samples than arms, are left aside.
pub(super) fn collect<'run>(head: &'run Head, events: &'run [Event]) -> Collected<'run> {
    let cards = head.experiments.iter().flat_map(|experiment| {
        let cases = experiment.cases.iter();
        cases.map(|card| ((experiment.id.as_str(), card.name.as_str()), card))
    });
    let cards: HashMap<_, _> = cards.collect();
    let mut cases: HashMap<_, CaseEvents<'run>> = HashMap::new();
    for event in events {
        let name = event.subject();
        let Some(card) = cards.get(&name) else {
            continue;
        };
        let case = cases.entry(name).or_default();
        match event {
            Event::Memory { arm, .. } | Event::Cores { arm, .. } if *arm >= card.arms.len() => {}
            Event::Piloted { .. } => {}
            Event::Launched {
                clock_cost_nanos,
                clock_grain_nanos,
                ..
            } => case.clocks.push((*clock_cost_nanos, *clock_grain_nanos)),
            Event::Block { key, block } => {
                if block.samples.len() >= card.arms.len() {
                    case.blocks.entry(key.n).or_default().push(block);
                }
            }
            Event::Memory { key, arm, peak } => case.peaks.push((key.n, *arm, peak)),
            Event::Cores { key, arm, trace } => case.traces.push((key.n, *arm, trace)),
            Event::Failed { key, .. } => {
                case.failed.insert(key.n);
            }
        }
    }
    Collected(cases)
}
