//! The analyst of real runs: the gate, the verdicts and the finder that the findings use too.

use super::analyst::{Analyst, Measured};
use crate::{
    break_even::{Finder, Points, Probe, Ratio},
    findings,
    gate::{Capacity, Gate},
    record::{Block, CaseCard, Head},
    verdict::Verdict,
};

/// Judges by a run's settings.
#[derive(Debug, Clone)]
pub struct Statistics {
    head: Head,
}

impl Statistics {
    /// The statistics of a run.
    #[must_use]
    pub fn new(head: &Head) -> Self {
        Self { head: head.clone() }
    }

    fn gate(&self, card: &CaseCard, blocks: &[&Block]) -> Gate {
        let thresholds = self.head.settings.thresholds;
        Gate::of(blocks, self.capacity(card), thresholds)
    }

    fn capacity(&self, card: &CaseCard) -> Capacity {
        Capacity::of(&self.head.machine, card.cpus)
    }

    /// One arm's ratios in the clean blocks.
    fn ratios(&self, card: &CaseCard, blocks: &[Block], arm: usize) -> Vec<Ratio> {
        let blocks: Vec<&Block> = blocks.iter().collect();
        let gate = self.gate(card, &blocks);
        let clean = blocks.iter().filter(|block| gate.is_clean(block));
        clean.filter_map(|block| Ratio::of(block, arm)).collect()
    }
}

impl Analyst for Statistics {
    fn clean(&self, card: &CaseCard, blocks: &[Block]) -> usize {
        let blocks: Vec<&Block> = blocks.iter().collect();
        let gate = self.gate(card, &blocks);
        blocks.iter().filter(|block| gate.is_clean(block)).count()
    }

    fn is_decided(&self, card: &CaseCard, n: usize, blocks: &[Block]) -> bool {
        let blocks: Vec<&Block> = blocks.iter().collect();
        let (capacity, settings) = (self.capacity(card), &self.head.settings);
        let point = findings::point(n, &blocks, card, capacity, settings);
        let mut comparisons = point.comparisons.iter();
        comparisons.all(|comparison| comparison.verdict != Verdict::Undecided)
    }

    fn probe(&self, card: &CaseCard, measured: Measured<'_>) -> Option<Probe> {
        let mut finder = Finder::of_case(card, &self.head.settings);
        for n in measured.exhausted {
            finder.exhaust(*n);
        }
        let points = |arm| -> Points {
            let point = |(n, blocks): (&usize, &Vec<Block>)| (*n, self.ratios(card, blocks, arm));
            measured.blocks.iter().map(point).collect()
        };
        (1..card.arms.len()).find_map(|arm| finder.next(&points(arm)))
    }
}
