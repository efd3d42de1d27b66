//! Statistics of order: the median, other quantiles, the median absolute deviation.

/// Median of some values; the mean of the middle two if their number is even, `None` if there
/// are none. Values must not be NaN.
///
/// # Examples
/// ```
/// use manyhands_lab::stats::{median, quantile};
/// assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[])), (Some(2.0), None));
/// assert_eq!(quantile(&[4.0, 1.0, 2.0, 3.0, 5.0], 0.75), Some(4.0));
/// ```
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// Like [`median`], and reorders its argument.
fn median_in_place(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return Some(*upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(f64::midpoint(lower, *upper))
}

/// The value below which this share of the values lies, interpolated between neighbours; `None` if there are no values.
///
/// # Panics
/// If `share` is not between 0 and 1.
///
/// Example: see [`median`].
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

/// Like [`quantile`], of values that ascend.
pub(crate) fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    assert!((0.0..=1.0).contains(&share), "a share lies between 0 and 1");
    let position = share * sorted.len().checked_sub(1)? as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the position lies between 0 and the length of the list"
    )]
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = position - below as f64;
    if weight == 0.0 || sorted[below] == sorted[above] || sorted[below].is_infinite() {
        return Some(sorted[below]);
    }
    Some(sorted[below] + weight * (sorted[above] - sorted[below]))
}

/// Median of the distances from the median; `None` if there are no values.
#[must_use]
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let mut distances: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    median_in_place(&mut distances)
}

/// What a median absolute deviation is multiplied by to estimate the standard deviation of
/// normally distributed values: the inverse of the normal quantile of 3/4.
pub(crate) const DEVIATION_TO_SIGMA: f64 = 1.482_602_218_505_602;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn median_of_small_lists() {
        fn check(values: &[f64], expected: Option<f64>) {
            assert_eq!(median(values), expected, "{values:?}");
        }
        check(&[], None);
        check(&[5.0], Some(5.0));
        check(&[1.0, 3.0], Some(2.0));
        check(&[9.0, 1.0, 5.0], Some(5.0));
        check(&[4.0, 1.0, 3.0, 2.0], Some(2.5));
        check(&[1.0, 1.0, 1.0, 100.0], Some(1.0));
    }

    #[test]
    fn quantiles_of_small_lists() {
        let values = [30.0, 10.0, 20.0];
        for (share, expected) in [(0.0, 10.0), (0.25, 15.0), (0.5, 20.0), (1.0, 30.0)] {
            assert_eq!(quantile(&values, share), Some(expected));
        }
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[f64::INFINITY; 2], 0.3), Some(f64::INFINITY));
        assert_eq!(quantile(&[1.0, f64::INFINITY], 0.3), Some(f64::INFINITY));
        let lowest = f64::NEG_INFINITY;
        assert_eq!(quantile(&[lowest, 1.0], 0.3), Some(lowest));
    }

    #[test]
    fn a_few_spikes_do_not_move_the_deviation() {
        let values = [1.0, 2.0, 3.0, 4.0, 1_000.0];
        assert_eq!(median_absolute_deviation(&values), Some(1.0));
    }

    proptest! {
        #[test]
        fn order_does_not_matter_and_quantiles_ascend_within_the_values(
            values in prop::collection::vec(-1e6..1e6_f64, 1..40),
            shares in (0.0..1.0_f64, 0.0..1.0_f64),
        ) {
            let mut reversed = values.clone();
            reversed.reverse();
            for statistic in [median, median_absolute_deviation] {
                prop_assert_eq!(statistic(&values), statistic(&reversed));
            }
            let (one, other) = (shares.0.min(shares.1), shares.0.max(shares.1));
            let low = quantile(&values, one).unwrap();
            let high = quantile(&values, other).unwrap();
            prop_assert!(low <= high);
            prop_assert!(values.iter().any(|value| *value <= low));
            prop_assert!(values.iter().any(|value| *value >= high));
        }

        #[test]
        fn median_and_deviation_scale_with_the_values(
            values in prop::collection::vec(-1e3..1e3_f64, 1..40),
            factor in 0.1..10.0_f64,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            for statistic in [median, median_absolute_deviation] {
                let expected = statistic(&values).unwrap() * factor;
                prop_assert!((statistic(&scaled).unwrap() - expected).abs() < 1e-6);
            }
        }

        #[test]
        fn the_middle_quantile_is_the_median(
            values in prop::collection::vec(-1e3..1e3_f64, 1..40),
        ) {
            let difference = quantile(&values, 0.5).unwrap() - median(&values).unwrap();
            prop_assert!(difference.abs() < 1e-9);
        }
    }
}
