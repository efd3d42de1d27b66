//! What is still to come, in time.

use crate::{
    child::Batch,
    record::{Block, Sample},
};
use std::time::Duration;

/// Time until a run ends, as far as one can tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeLeft {
    /// Time of the points that are left. A point of a case of which nothing was measured yet
    /// counts as much as the others do on average.
    pub duration: Duration,
    /// How many points that average stands for: the more, the less the time is worth.
    pub points_unknown: usize,
}

/// What a block takes, in seconds.
#[derive(Debug, PartialEq)]
pub(super) struct BlockCost {
    /// A sample of each arm, the baseline's twin last.
    samples: Vec<f64>,
    /// What is not timed.
    rest: f64,
}

impl BlockCost {
    /// Of a block whose calls take `factor` times as long as those of these blocks, which took `spent` in all.
    pub(super) fn of(blocks: &[Block], spent: Duration, factor: f64) -> Option<Self> {
        let last = blocks.last()?;
        let walls = last.samples.iter().map(|sample| sample.wall_nanos as f64);
        let timed: f64 = walls.sum();
        let all = spent.as_nanos() as f64 / blocks.len() as f64;
        let rest = (all - timed).max(0.0) / 1e9;
        let nanos: Vec<f64> = last.samples.iter().map(Sample::nanos).collect();
        Self::scaled(&nanos, factor).map(|cost| Self { rest, ..cost })
    }

    /// From the time of one call of each arm, at `factor` times the size. What an arm takes beyond the
    /// baseline at a small size is what it costs to start, and does not grow.
    pub(super) fn scaled(nanos: &[f64], factor: f64) -> Option<Self> {
        let baseline = nanos.first()?;
        let longer = |nanos: &f64| {
            let call = if factor > 1.0 {
                nanos + nanos.min(*baseline) * (factor - 1.0)
            } else {
                nanos * factor
            };
            call.max(SAMPLE_NANOS_MIN) / 1e9
        };
        let samples = nanos.iter().map(longer).collect();
        Some(Self { samples, rest: 0.0 })
    }

    /// Time of the whole block.
    pub(super) fn whole(&self) -> Duration {
        Duration::from_secs_f64(self.samples.iter().sum::<f64>() + self.rest)
    }

    /// Time to open the size before: an arm is called three times, but for long calls once, or not at all, as the first
    /// call is then that of the first block.
    pub(super) fn opening(&self) -> Duration {
        let batch = Batch::default();
        let calls = |call: f64| match Duration::from_secs_f64(call) {
            long if long >= batch.first_counts => 0.0,
            long if long > batch.at_most => 1.0,
            _ => OPENING_CALLS,
        };
        let all = self.samples.iter().map(|call| call * calls(*call));
        Duration::from_secs_f64(all.sum())
    }
}

/// Calls of an arm whose calls are short, when a size is opened.
const OPENING_CALLS: f64 = 3.0;
/// Shorter calls are repeated until they take so long.
const SAMPLE_NANOS_MIN: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_calls_grow_with_the_size_and_short_ones_fill_a_batch() {
        fn check(calls: u32, factor: f64, millis: u64) {
            let sample = Sample {
                calls,
                wall_nanos: 4_000_000,
                ..Sample::default()
            };
            let block = Block {
                samples: vec![sample; 2],
                ..Block::default()
            };
            let spent = Duration::from_millis(9);
            let cost = BlockCost::of(&[block], spent, factor).unwrap();
            let expected = Duration::from_millis(millis);
            assert_eq!(cost.whole(), expected, "{calls} calls, times {factor}");
        }
        check(1, 1.0, 9);
        check(1, 10.0, 81);
        check(4_000, 10.0, 3);
        check(4_000, 10_000.0, 21);
        assert_eq!(BlockCost::of(&[], Duration::ZERO, 1.0), None);
    }

    #[test]
    fn each_arm_is_opened_as_its_own_calls_are_long() {
        fn check(nanos: [f64; 3], millis: u64) {
            let cost = BlockCost::scaled(&nanos, 1.0).unwrap();
            assert_eq!(cost.opening(), Duration::from_millis(millis), "{nanos:?}");
        }
        check([2e6; 3], 18);
        check([60e6; 3], 180);
        check([2e9; 3], 0);
        // The mean of these calls is longer than a second, and that of the arm is not.
        check([2e9, 10e6, 2e9], 30);
    }

    #[test]
    fn an_arm_that_is_faster_stays_so_and_what_one_takes_to_start_does_not_grow() {
        // The last arm takes 50 ms to start and is no slower than its baseline beyond that.
        for (nanos, expected) in [([10e6, 4e6], 1.4), ([1e6, 51e6], 0.25)] {
            let cost = BlockCost::scaled(&nanos, 100.0).unwrap().whole();
            assert_eq!(cost, Duration::from_secs_f64(expected));
        }
    }
}
