//! Percentile bootstrap of the median of paired ratios.
//!
//! The block is what is resampled, because the block is what repeats; calls within a block do not.
//! One launch only, so the spread between processes is not in the interval.

use super::median::median_in_place;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A median with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// Median of positive ratios with a bootstrap 95 % interval; `None` if there are no ratios.
///
/// Works on logarithms, so that a ratio and its inverse weigh the same. The same ratios and seed
/// give the same interval.
///
/// # Cost
/// 2,000 resamples, each as long as the input.
#[must_use]
pub fn median_of_ratios(ratios: &[f64], seed: u64) -> Option<Estimate> {
    let mut logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let median = median_in_place(&mut logs)?;
    // Selection left an order that depends on the input's; sorted, the interval does not.
    logs.sort_by(f64::total_cmp);

    let mut rng = StdRng::seed_from_u64(seed);
    let mut resample = vec![0.0; logs.len()];
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for slot in &mut resample {
            *slot = logs[rng.random_range(0..logs.len())];
        }
        medians.extend(median_in_place(&mut resample));
    }
    medians.sort_by(f64::total_cmp);

    Some(Estimate {
        median: median.exp(),
        low: medians[TAIL].exp(),
        high: medians[RESAMPLES - 1 - TAIL].exp(),
    })
}

const RESAMPLES: usize = 2_000;
/// Resamples left out at each end: 2.5 % of them.
const TAIL: usize = RESAMPLES / 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ratios_no_estimate() {
        assert_eq!(median_of_ratios(&[], 1), None);
    }

    #[test]
    fn equal_ratios_have_an_interval_without_width() {
        let estimate = median_of_ratios(&[2.0; 9], 1).unwrap();
        for value in [estimate.median, estimate.low, estimate.high] {
            assert!((value - 2.0).abs() < 1e-12);
        }
    }

    #[test]
    fn order_of_blocks_does_not_matter() {
        let ratios = [1.1, 0.9, 1.7, 1.2, 1.3, 1.05];
        let mut reversed = ratios;
        reversed.reverse();
        assert_eq!(median_of_ratios(&ratios, 5), median_of_ratios(&reversed, 5));
    }

    #[test]
    fn inverse_ratios_give_the_inverse_median() {
        let ratios = [1.1, 0.9, 1.7, 1.2];
        let inverse = ratios.map(f64::recip);
        let one = median_of_ratios(&ratios, 5).unwrap();
        let other = median_of_ratios(&inverse, 5).unwrap();
        assert!((one.median * other.median - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let mut rng = StdRng::seed_from_u64(11);
        let truth = 1.8_f64;
        let runs = 200;
        let mut covered = 0;
        for run in 0..runs {
            let ratios: Vec<f64> = (0..15)
                .map(|_| {
                    let noise: f64 = (0..6).map(|_| rng.random_range(-0.05..0.05)).sum();
                    truth * noise.exp()
                })
                .collect();
            let estimate = median_of_ratios(&ratios, run).unwrap();
            covered += usize::from(estimate.low <= truth && truth <= estimate.high);
        }
        assert!(covered >= 180, "only {covered} of {runs}");
    }
}
