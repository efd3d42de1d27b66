//! What the director asks of statistics. It schedules; what blocks mean is not its business.

use crate::{
    break_even::Probe,
    record::{Block, CaseCard},
};
use std::collections::{BTreeMap, BTreeSet};

/// Judges blocks while a run goes on. A pure function of its arguments: the same blocks give the
/// same answer, or a run that is resumed would go another way.
pub trait Analyst {
    /// How many of the blocks of one size count, undisturbed.
    fn clean(&self, card: &CaseCard, blocks: &[Block]) -> usize;

    /// Whether every arm's comparison with the baseline is decided at one size.
    fn is_decided(&self, card: &CaseCard, n: usize, blocks: &[Block]) -> bool;

    /// What the search for the break-even wants to know next; `None` when it has its answer or
    /// cannot improve it. Of the exhausted sizes it gets no more blocks.
    fn probe(&self, card: &CaseCard, measured: Measured<'_>) -> Option<Probe>;
}

/// What was measured of a case.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'run> {
    /// Blocks by size, disturbed ones among them.
    pub blocks: &'run BTreeMap<usize, Vec<Block>>,
    /// Sizes that fail or take too long.
    pub exhausted: &'run BTreeSet<usize>,
}
