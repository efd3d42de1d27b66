//! Where the spread of paired ratios comes from: launches, or blocks within one.

use super::{
    median, median_absolute_deviation, moments::standard_deviation, order::DEVIATION_TO_SIGMA,
};

/// Two standard deviations of the logarithm of positive values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Of the launches' medians; 0 with fewer than two launches.
    pub between_launches: f64,
    /// Of the blocks of one launch, pooled. Estimated from their median absolute deviation, so
    /// that a few spikes do not decide it.
    pub within_launches: f64,
}

/// Spread of positive values; zero without any.
#[must_use]
pub fn spread(launches: &[Vec<f64>]) -> Spread {
    let mut medians = Vec::new();
    let mut rests = Vec::new();
    for values in launches {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let Some(center) = median(&logs) else {
            continue;
        };
        medians.push(center);
        rests.extend(logs.iter().map(|log| log - center));
    }
    Spread {
        between_launches: standard_deviation(&medians),
        within_launches: median_absolute_deviation(&rests).unwrap_or(0.0) * DEVIATION_TO_SIGMA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::noise::Noise;

    #[test]
    fn nothing_and_single_values_do_not_spread() {
        let none = Spread {
            between_launches: 0.0,
            within_launches: 0.0,
        };
        assert_eq!(spread(&[]), none);
        assert_eq!(spread(&[vec![2.0]]), none);
    }

    #[test]
    fn both_parts_are_found() {
        let mut noise = Noise::new(1);
        let launches: Vec<Vec<f64>> = (0..200)
            .map(|_| {
                let shift = 0.10 * noise.normal();
                (0..50)
                    .map(|_| (shift + 0.03 * noise.normal()).exp())
                    .collect()
            })
            .collect();
        let found = spread(&launches);
        let (between, within) = (found.between_launches, found.within_launches);
        assert!((0.085..0.115).contains(&between), "{found:?}");
        assert!((0.028..0.032).contains(&within), "{found:?}");
    }
}
