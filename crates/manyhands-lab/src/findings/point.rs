//! From the blocks of one size to its times and comparisons.

use super::{Cause, Comparison, Point, Times};
use crate::{
    break_even::{Judged, Ratio},
    gate::{Capacity, Gate},
    record::{Block, CaseCard, PoolMeters, Sample, Settings},
    stats::{
        Estimate, by_launch, estimate_median, mean, median, median_absolute_deviation, quantile,
        spread, standard_deviation,
    },
    verdict::{Judge, Verdict, p_value},
};
use std::collections::BTreeMap;

/// Analyses the blocks of one size while a run goes on, to see whether they decide.
pub(crate) fn point(
    n: usize,
    blocks: &[&Block],
    card: &CaseCard,
    capacity: Capacity,
    settings: &Settings,
) -> Point {
    Observed::new(n, blocks, card, capacity, settings).analyse()
}

/// The blocks of one size, after the gate.
pub(super) struct Observed<'run> {
    pub(super) n: usize,
    all: &'run [&'run Block],
    clean: Vec<&'run Block>,
    dropped: BTreeMap<Cause, usize>,
    /// Arms with the baseline and without its twin.
    arms: usize,
    judge: Judge,
    seed: u64,
}

impl<'run> Observed<'run> {
    pub(super) fn new(
        n: usize,
        all: &'run [&'run Block],
        card: &CaseCard,
        capacity: Capacity,
        settings: &Settings,
    ) -> Self {
        let mut clean = Vec::new();
        let mut dropped = BTreeMap::new();
        let gate = Gate::of(all, capacity, settings.thresholds);
        for block in all {
            let causes = gate.causes(block);
            if causes.is_empty() {
                clean.push(*block);
            }
            for cause in causes {
                *dropped.entry(cause).or_default() += 1;
            }
        }
        Self {
            n,
            all,
            clean,
            dropped,
            arms: card.arms.len(),
            judge: Judge::of_case(settings, card),
            seed: settings.seed,
        }
    }

    /// The clean blocks, or all if none is clean.
    fn best(&self) -> &[&'run Block] {
        if self.clean.is_empty() {
            self.all
        } else {
            &self.clean
        }
    }

    /// One arm's ratios in the clean blocks.
    pub(super) fn ratios(&self, arm: usize) -> Vec<Ratio> {
        let clean = self.clean.iter();
        clean.filter_map(|block| Ratio::of(block, arm)).collect()
    }

    /// What the clean blocks say about an arm of this point.
    pub(super) fn judged(&self, comparison: &Comparison) -> Judged {
        Judged {
            verdict: comparison.verdict,
            speed_up: comparison.clean,
            is_enough: self.clean.len() >= self.judge.blocks_min() as usize,
        }
    }

    /// Computes the point.
    pub(super) fn analyse(&self) -> Point {
        let arms = self.arms;
        // The twin's sample follows those of the arms, where there is one.
        let floor = self.estimate(&ratios(self.best(), arms));
        let comparisons = (1..arms).filter_map(|arm| self.compare(arm, floor));
        let dropped = self.dropped.iter();
        Point {
            n: self.n,
            blocks: self.all.len(),
            dropped: dropped.map(|(cause, count)| (*cause, *count)).collect(),
            disturbed: self.all.len() - self.clean.len(),
            times: (0..arms).filter_map(|arm| self.times(arm)).collect(),
            comparisons: comparisons.collect(),
            floor,
        }
    }

    fn compare(&self, arm: usize, floor: Option<Estimate>) -> Option<Comparison> {
        let clean = ratios(&self.clean, arm);
        let speed_up = self.estimate(&clean);
        let as_found = match speed_up {
            Some(found) if self.clean.len() == self.all.len() => found,
            _ => self.estimate(&ratios(self.all, arm))?,
        };
        let values: Vec<f64> = clean.iter().map(|(_, ratio)| *ratio).collect();
        let verdict = |found| self.judge.verdict(&values, found, floor);
        Some(Comparison {
            clean: speed_up,
            as_found,
            verdict: speed_up.map_or(Verdict::Undecided, verdict),
            doubt: self.judge.doubt(&values, speed_up, floor),
            p_value: p_value(&values),
            q_value: None,
            spread: spread(&by_launch(ratios(self.best(), arm))),
        })
    }

    fn times(&self, arm: usize) -> Option<Times> {
        let nanos = |block: &&Block| (block.launch, block.samples[arm].nanos());
        let nanos: Vec<(u32, f64)> = self.best().iter().map(nanos).collect();
        let values: Vec<f64> = nanos.iter().map(|(_, nanos)| *nanos).collect();
        let samples = self.best().iter().map(|block| &block.samples[arm]);
        let samples: Vec<&Sample> = samples.collect();
        Some(Times {
            median: self.estimate(&nanos)?,
            mean: mean(&values)?,
            standard_deviation: standard_deviation(&values),
            minimum: quantile(&values, 0.0)?,
            percentile_95: quantile(&values, 0.95)?,
            deviation: median_absolute_deviation(&values)?,
            cpu: per_call(&samples, |sample| sample.meters.cpu_nanos),
            allocations: per_call(&samples, |sample| sample.meters.allocations)
                .zip(per_call(&samples, |sample| sample.meters.allocated_bytes)),
            pool: pool_per_call(&samples),
        })
    }

    fn estimate(&self, values: &[(u32, f64)]) -> Option<Estimate> {
        estimate_median(values, self.seed)
    }
}

/// Ratios of one arm, or of the twin behind the last one, with their launches.
fn ratios(blocks: &[&Block], arm: usize) -> Vec<(u32, f64)> {
    let ratio = |block: &&Block| Ratio::of(block, arm).map(|ratio| (ratio.launch, ratio.value));
    blocks.iter().filter_map(ratio).collect()
}

/// Median of a counter per call, over the samples that have it.
fn per_call(samples: &[&Sample], counter: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
    let counts = samples.iter().filter_map(|sample| {
        counter(sample).map(|count| count as f64 / f64::from(sample.calls.max(1)))
    });
    median(&counts.collect::<Vec<_>>())
}

/// Means of the pool's counters per call, over the samples that have them.
fn pool_per_call(samples: &[&Sample]) -> Option<[f64; 4]> {
    let counted = |sample: &&Sample| Some((sample.meters.pool?, sample.calls));
    let counted: Vec<(PoolMeters, u32)> = samples.iter().filter_map(counted).collect();
    let calls: f64 = counted.iter().map(|(_, calls)| f64::from(*calls)).sum();
    let per_call = |counter: fn(&PoolMeters) -> u64| {
        let all: f64 = counted.iter().map(|(pool, _)| counter(pool) as f64).sum();
        all / calls
    };
    (calls > 0.0).then(|| {
        [
            per_call(|pool| pool.steals),
            per_call(|pool| pool.parks),
            per_call(|pool| pool.threads_added),
            per_call(|pool| pool.contentions),
        ]
    })
}
