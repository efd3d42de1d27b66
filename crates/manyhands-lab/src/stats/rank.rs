//! A median with an interval that holds for any distribution, from the ranks of the values alone.
//!
//! Each value lies below the true median with probability one half, so the number of values below it is binomial. Leaving
//! out k values at each end misses the median with the probability of at most k successes, twice. That is exact for
//! independent values, also for few of them, where resampling (`interval.rs`) would cover less than it says.
//!
//! Not here: values nested in launches. An interval of this file knows only the values it is given.

use super::{Estimate, median};
use statrs::distribution::{Binomial, DiscreteCDF};

/// The median of independent values with an interval that covers the true one with at least 95 %;
/// `None` for fewer than six values, for which there is no such interval.
///
/// Infinite values are allowed: they are the largest.
///
/// # Examples
/// ```
/// use manyhands_lab::stats::rank_interval;
///
/// let estimate = rank_interval(&[4.0, 1.0, 3.0, 9.0, 2.0, 5.0, 6.0]).unwrap();
/// assert_eq!((estimate.low, estimate.median, estimate.high), (1.0, 4.0, 9.0));
/// assert!(rank_interval(&[1.0; 5]).is_none());
/// ```
#[must_use]
pub fn rank_interval(values: &[f64]) -> Option<Estimate> {
    let below_median = Binomial::new(0.5, values.len() as u64).ok()?;
    let left_out = (0..values.len() / 2)
        .take_while(|left_out| below_median.cdf(*left_out as u64) <= TAIL)
        .last()?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted[left_out], sorted[sorted.len() - 1 - left_out]);
    Some(Estimate::new(median(values)?, low, high))
}

/// What the interval may miss at each end.
const TAIL: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    #[test]
    fn few_values_have_no_interval_and_many_leave_out_the_ends() {
        fn check(len: u32, expected: Option<(f64, f64)>) {
            let values: Vec<f64> = (0..len).map(f64::from).collect();
            let ends = rank_interval(&values).map(|estimate| (estimate.low, estimate.high));
            assert_eq!(ends, expected, "{len} values");
        }
        check(0, None);
        check(5, None);
        check(6, Some((0.0, 5.0)));
        check(7, Some((0.0, 6.0)));
        check(8, Some((0.0, 7.0)));
        check(9, Some((1.0, 7.0)));
        check(25, Some((7.0, 17.0)));
        check(1_000, Some((468.0, 531.0)));
    }

    #[test]
    fn an_infinite_value_is_the_largest() {
        let estimate = rank_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f64::INFINITY]).unwrap();
        assert_eq!((estimate.median, estimate.high), (4.0, f64::INFINITY));
    }

    #[test]
    fn the_interval_covers_the_median_as_often_as_it_says() {
        for len in [7, 9, 25] {
            let covers = |run: &u64| {
                let mut noise = Noise::new(*run);
                let values: Vec<f64> = (0..len).map(|_| noise.normal()).collect();
                let estimate = rank_interval(&values).unwrap();
                estimate.low <= 0.0 && 0.0 <= estimate.high
            };
            let covered = (0..2_000).filter(covers).count();
            // 95 % of them less three standard deviations.
            assert!(covered >= 1_871, "{len} values: {covered} of 2000");
        }
    }
}
