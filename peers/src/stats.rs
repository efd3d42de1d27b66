//! Medians, alone and of ratios and differences paired within a round.

/// The median; the mean of the two middle values for an even count.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        None
    } else if sorted.len() % 2 == 1 {
        Some(sorted[middle])
    } else {
        Some(f64::midpoint(sorted[middle - 1], sorted[middle]))
    }
}

/// The median over rounds of `combine(ours, theirs)`, both of the same round.
pub(crate) fn paired_median(
    ours: &[f64],
    theirs: &[f64],
    combine: impl Fn(f64, f64) -> f64,
) -> Option<f64> {
    median(
        ours.iter()
            .zip(theirs)
            .map(|(&ours, &theirs)| combine(ours, theirs)),
    )
}

/// The median over rounds of the ratio within the round.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    paired_median(ours, theirs, |ours, theirs| ours / theirs)
}

#[cfg(test)]
mod tests {
    use super::{median, ratio};

    #[test]
    fn median_of_odd_even_and_no_values() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([]), None);
    }

    #[test]
    fn ratio_is_paired_within_the_round() {
        assert_eq!(ratio(&[2.0, 40.0, 6.0], &[1.0, 20.0, 2.0]), Some(2.0));
    }
}
