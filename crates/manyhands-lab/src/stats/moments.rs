//! Means and the standard deviation: for tables that other tools read, and for averages of ratios. Verdicts use medians.

/// Arithmetic mean; `None` if there are no values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Standard deviation with n − 1 in the denominator; 0 for fewer than two values.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> f64 {
    variance(values).unwrap_or(0.0).sqrt()
}

/// Variance with n − 1 in the denominator; `None` for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> Option<f64> {
    let freedom = values.len().checked_sub(1).filter(|free| *free > 0)?;
    let center = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    Some(squares / freedom as f64)
}

/// Geometric mean of positive values, the right average for speed-ups: twice as fast and half as
/// fast average to "equally fast". `None` if there are no values.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logs).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(standard_deviation(&[5.0]), 0.0);
        let eight = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert!((standard_deviation(&eight) - 2.138).abs() < 1e-3);
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_geometric_mean_of_inverses_is_the_inverse(
            values in prop::collection::vec(0.01..100.0_f64, 1..20),
        ) {
            let inverses: Vec<f64> = values.iter().map(|value| value.recip()).collect();
            let product = geometric_mean(&values).unwrap() * geometric_mean(&inverses).unwrap();
            prop_assert!((product - 1.0).abs() < 1e-9);
            prop_assert!(geometric_mean(&values).unwrap() <= mean(&values).unwrap() + 1e-9);
        }

        #[test]
        fn the_deviation_ignores_shifts_and_follows_scales(
            values in prop::collection::vec(-100.0..100.0_f64, 2..20),
            shift in -100.0..100.0_f64,
            factor in 0.1..10.0_f64,
        ) {
            let moved: Vec<f64> = values.iter().map(|value| value * factor + shift).collect();
            let expected = standard_deviation(&values) * factor;
            prop_assert!((standard_deviation(&moved) - expected).abs() < 1e-6);
        }
    }
}
