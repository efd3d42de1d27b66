//! How alike neighbouring blocks are: how many of them tell as much as one that stands alone.
//!
//! A disturbance that lasts for several blocks moves them together. The variance of a median, and of a count of wins, is
//! then τ times what as many independent blocks have, with τ = 1 + 2·Σ ρ(k) over the autocorrelations of the signs about
//! the median. The sum ends where two neighbouring autocorrelations add up to nothing: the initial positive sequence of
//! Geyer, "Practical Markov chain Monte Carlo", Statistical Science 7 (1992), doi:10.1214/ss/1177011137.
//!
//! A disturbance that lasts for a fifth of all blocks or longer looks like the truth to any such sum.

use super::median;
use std::cmp::Ordering;

/// τ of values in the order in which they were measured: from 1, if they are independent, to their number.
pub(crate) fn correlation_time(values: &[f64]) -> f64 {
    let Some(center) = median(values) else {
        return 1.0;
    };
    let sign = |value: &f64| match value.total_cmp(&center) {
        Ordering::Less => -1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0,
    };
    let signs: Vec<f64> = values.iter().map(sign).collect();
    let products = |lag: usize| -> f64 {
        let later = signs.iter().skip(lag);
        signs
            .iter()
            .zip(later)
            .map(|(one, other)| one * other)
            .sum()
    };
    let variance = products(0);
    let pairs = (0..signs.len()).step_by(2);
    let sum: f64 = pairs
        .map(|lag| products(lag) + products(lag + 1))
        .take_while(|pair| *pair > 0.0)
        .sum();
    let time = 2.0 * sum / variance - 1.0;
    // Values that are all alike have no signs.
    if variance > 0.0 { time.max(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{mean, noise::Noise};

    #[test]
    fn few_or_equal_values_count_one_by_one() {
        for values in [&[][..], &[3.0], &[3.0, 3.0, 3.0], &[1.0, 2.0]] {
            assert_eq!(correlation_time(values), 1.0, "{values:?}");
        }
        assert_eq!(correlation_time(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0]), 1.0);
        assert!(correlation_time(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]) > 1.5);
    }

    #[test]
    fn it_does_not_depend_on_the_scale_nor_on_the_direction_of_time() {
        let mut noise = Noise::new(3).in_bursts();
        let values: Vec<f64> = (0..60).map(|_| noise.ratio(0.05)).collect();
        let scaled: Vec<f64> = values.iter().rev().map(|value| value.powi(3)).collect();
        let (one, other) = (correlation_time(&values), correlation_time(&scaled));
        assert!((one - other).abs() < 1e-9, "{one} {other}");
    }

    #[test]
    fn independent_values_count_as_almost_as_many_and_bursts_as_few() {
        let found = |bursts: bool| {
            let times = (0..100).map(|seed| {
                let noise = Noise::new(seed);
                let mut noise = if bursts { noise.in_bursts() } else { noise };
                let values: Vec<f64> = (0..144).map(|_| noise.ratio(0.05)).collect();
                correlation_time(&values)
            });
            mean(&times.collect::<Vec<_>>()).unwrap()
        };
        let (alone, bursts) = (found(false), found(true));
        assert!((1.0..1.3).contains(&alone), "{alone}");
        assert!((3.0..6.0).contains(&bursts), "{bursts}");
    }
}
