//! The median.

/// Median of some values; the mean of the middle two if their number is even, `None` if there
/// are none. Values must not be NaN.
///
/// # Examples
/// ```
/// use manyhands_lab::stats::median;
/// assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
/// assert_eq!(median(&[]), None);
/// ```
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    median_in_place(&mut sorted)
}

/// Like [`median`], and reorders its argument.
pub(super) fn median_in_place(values: &mut [f64]) -> Option<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
