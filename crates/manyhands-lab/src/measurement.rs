//! What was measured: blocks of one case at one size. Plain values, no judgement.

use crate::stats::{self, Estimate};

/// Every arm timed once, one after the other: the unit of replication.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Calls each arm was timed over.
    pub calls: u32,
    /// Arms in the order they ran.
    pub order: Vec<usize>,
    /// Nanoseconds per call, by arm.
    pub nanos: Vec<f64>,
    /// Checksum that all arms agreed on.
    pub checksum: u64,
}

/// All blocks of one case at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Id of the experiment.
    pub experiment: String,
    /// Name of the case.
    pub case: String,
    /// Size.
    pub n: usize,
    /// Names of the arms; the first is the baseline.
    pub arms: Vec<String>,
    /// Blocks in the order they ran.
    pub blocks: Vec<Block>,
}

impl Measurement {
    /// Median time of one call of an arm in nanoseconds, or `None` without blocks.
    #[must_use]
    pub fn median_nanos(&self, arm: usize) -> Option<f64> {
        let nanos: Vec<f64> = self.blocks.iter().map(|block| block.nanos[arm]).collect();
        stats::median(&nanos)
    }

    /// Baseline time over the arm's time, block by block: above 1 the arm is faster.
    #[must_use]
    pub fn ratios(&self, arm: usize) -> Vec<f64> {
        let ratio = |block: &Block| block.nanos[0] / block.nanos[arm];
        self.blocks.iter().map(ratio).collect()
    }

    /// Median of the ratios with its bootstrap interval, or `None` without blocks.
    #[must_use]
    pub fn speed_up(&self, arm: usize, seed: u64) -> Option<Estimate> {
        stats::median_of_ratios(&self.ratios(arm), seed)
    }
}
