//! What is still to come, in time.

use crate::record::{Block, Sample};
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

/// Time of one block whose calls take `factor` times as long as those of these blocks, which took `spent` in all.
pub(super) fn block_cost(blocks: &[Block], spent: Duration, factor: f64) -> Option<Duration> {
    let last = blocks.last()?;
    let walls = last.samples.iter().map(|sample| sample.wall_nanos as f64);
    let timed: f64 = walls.sum();
    let all = spent.as_nanos() as f64 / blocks.len() as f64;
    let overhead = (all - timed).max(0.0) / 1e9;
    let nanos: Vec<f64> = last.samples.iter().map(Sample::nanos).collect();
    Some(Duration::from_secs_f64(scaled(&nanos, factor)? + overhead))
}

/// Seconds of one block, from the time of one call of each arm, at `factor` times the size. What an arm takes
/// beyond the baseline at a small size is what it costs to start, and does not grow.
pub(super) fn scaled(nanos: &[f64], factor: f64) -> Option<f64> {
    let baseline = nanos.first()?;
    let longer = |nanos: &f64| {
        let call = if factor > 1.0 {
            nanos + nanos.min(*baseline) * (factor - 1.0)
        } else {
            nanos * factor
        };
        call.max(SAMPLE_NANOS_MIN)
    };
    Some(nanos.iter().map(longer).sum::<f64>() / 1e9)
}

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
            let cost = block_cost(&[block], spent, factor).unwrap();
            let expected = Duration::from_millis(millis);
            assert_eq!(cost, expected, "{calls} calls, times {factor}");
        }
        check(1, 1.0, 9);
        check(1, 10.0, 81);
        check(4_000, 10.0, 3);
        check(4_000, 10_000.0, 21);
        assert_eq!(block_cost(&[], Duration::ZERO, 1.0), None);
    }

    #[test]
    fn an_arm_that_is_faster_stays_so_and_what_one_takes_to_start_does_not_grow() {
        // The last arm takes 50 ms to start and is no slower than its baseline beyond that.
        for (nanos, expected) in [([10e6, 4e6], 1.4), ([1e6, 51e6], 0.25)] {
            let seconds = scaled(&nanos, 100.0).unwrap();
            assert!((seconds - expected).abs() < 1e-9, "{seconds}");
        }
    }
}
