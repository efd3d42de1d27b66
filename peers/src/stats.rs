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

/// An interval that covers the median with at least 95 %, from the order of the values alone (binomial);
/// none for fewer than six values, which no such interval exists for.
pub(crate) fn interval(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let len = sorted.len();
    // The chance that fewer than `drop + 1` of `len` fair coins show heads, which is what one end misses.
    let (mut term, mut below, mut drop) = (0.5_f64.powi(i32::try_from(len).ok()?), 0.0, None);
    for heads in 0..len / 2 {
        below += term;
        if below > MISSED_AT_EACH_END {
            break;
        }
        drop = Some(heads);
        term *= (len - heads) as f64 / (heads + 1) as f64;
    }
    drop.map(|drop| (sorted[drop], sorted[len - 1 - drop]))
}

/// Half of what a 95 % interval may miss.
const MISSED_AT_EACH_END: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::{interval, median, ratio};

    #[test]
    fn an_interval_of_few_values_is_none_and_of_more_leaves_out_the_ends() {
        let values = |len: u32| (0..len).map(f64::from);
        assert_eq!(interval(values(5)), None);
        assert_eq!(interval(values(6)), Some((0.0, 5.0)));
        assert_eq!(interval(values(9)), Some((1.0, 7.0)));
        assert_eq!(interval(values(25)), Some((7.0, 17.0)));
    }

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
