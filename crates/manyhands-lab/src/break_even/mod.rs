//! From which size on is the challenger faster?
//!
//! A finder is a function of what was measured, and of nothing else: asked again with the same blocks it says the same,
//! so a run that was interrupted goes on where it was by reading its blocks again. It neither measures nor waits.
//!
//! # Phases
//! 1. Every size of the case is measured until its side is decided, at the lowest price: sizes
//!    above the crossing show whether there is a second one. Where slower and faster neighbours
//!    lie far apart, sizes between them join, each four times the one before.
//! 2. The bracket is halved on ln n until it is narrow, or a size stays undecided: that is the
//!    crossing at this price.
//! 3. Five sizes around it get more blocks, for the cost model of [`Fit`].
//!
//! The search goes by the signs of the [`Judge`] of the case, which are cheap. The answer goes by
//! the verdicts of the same judge, those that stand in the tables, and by nothing else: no answer
//! says of a size what its row does not. The model's answer is given only if it fits, and if it
//! does not contradict the verdicts; the bracket of two decided sizes is valid without it.

mod answer;
mod bracket;
mod conclusion;
mod fit;
mod plan;
#[cfg(test)]
pub(crate) mod simulation;

pub use answer::{Answer, Fit, Kind, Practical, Source};

use crate::{
    record::{Block, CaseCard, Settings},
    stats::Estimate,
    verdict::{Judge, Verdict},
};
use bracket::{bracket, crossings, falls_back, settled_from};
pub(crate) use plan::sizes_max;
use std::collections::{BTreeMap, BTreeSet};

/// What was measured: for each size the ratios of its blocks, in the order in which they were taken.
pub type Points = BTreeMap<usize, Vec<Ratio>>;

/// One arm in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The process the block was taken in.
    pub launch: u32,
    /// The baseline's time over the arm's.
    pub value: f64,
    /// The baseline's time in nanoseconds per call.
    pub baseline_nanos: f64,
}

impl Ratio {
    /// Reads the ratio of one arm off a block; `None` if the block has no such arm.
    #[must_use]
    pub fn of(block: &Block, arm: usize) -> Option<Self> {
        let baseline_nanos = block.samples.first()?.nanos();
        Some(Self {
            launch: block.launch,
            value: baseline_nanos / block.samples.get(arm)?.nanos(),
            baseline_nanos,
        })
    }
}

/// What the blocks of one size say about an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The interval of the speed-up; `None` without blocks.
    pub speed_up: Option<Estimate>,
    /// Whether there are blocks enough to decide anything.
    pub is_enough: bool,
}

/// The verdicts about one arm, by size.
pub type Verdicts = BTreeMap<usize, Judged>;

/// What to measure next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Size.
    pub n: usize,
    /// How many blocks there are to be in all, those already measured among them.
    pub blocks: usize,
}

/// Searches for a break-even. See the head of this module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finder {
    /// Ascending, without doubles.
    sizes: BTreeSet<usize>,
    exhausted: BTreeSet<usize>,
    judge: Judge,
}

impl Finder {
    /// A finder over these sizes.
    pub(crate) fn new(sizes: impl IntoIterator<Item = usize>, judge: Judge) -> Self {
        Self {
            sizes: sizes.into_iter().filter(|n| *n > 0).collect(),
            exhausted: BTreeSet::new(),
            judge,
        }
    }

    /// A finder over the sizes of a case, with a run's settings.
    pub(crate) fn of_case(card: &CaseCard, settings: &Settings) -> Self {
        Self::new(card.sizes.iter().copied(), Judge::of_case(settings, card))
    }

    /// Says that no further block can be had at this size, because it fails or takes too long:
    /// the finder goes on with what there is.
    pub(crate) fn exhaust(&mut self, n: usize) {
        self.exhausted.insert(n);
    }
}

fn values(ratios: &[Ratio]) -> Vec<f64> {
    ratios.iter().map(|ratio| ratio.value).collect()
}
