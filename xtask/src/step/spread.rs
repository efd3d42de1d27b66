//! A median with the interval in which it lies.

/// A median, and where it lies with at least 95 % confidence by the sign test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::step) struct Spread {
    pub(in crate::step) low: f64,
    pub(in crate::step) median: f64,
    pub(in crate::step) high: f64,
}

impl Spread {
    pub(in crate::step) fn of(mut values: Vec<f64>) -> Self {
        let median = median(&mut values);
        let cut = cut_off(values.len());
        let at = |idx: usize| values.get(idx).copied().unwrap_or(f64::NAN);
        Self {
            low: at(cut),
            median,
            high: at(values.len().wrapping_sub(cut + 1)),
        }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, median, high } = self;
        write!(f, "{median:.2} ({low:.2} … {high:.2})")
    }
}

/// How many of the smallest and of the largest of `count` values may be cut off: the chance that more lie on one side of
/// the median by luck is at most 2.5 %.
fn cut_off(count: usize) -> usize {
    let mut term = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut chance = 0.0;
    for below in 0..count {
        chance += term;
        if chance > 0.025 {
            return below.saturating_sub(1);
        }
        term *= (count - below) as f64 / (below + 1) as f64;
    }
    0
}

/// Sorts, too.
pub(in crate::step) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::cut_off;

    #[test]
    fn the_interval_leaves_out_what_the_sign_test_allows() {
        let cuts = [1, 5, 6, 8, 9, 11, 12, 15].map(cut_off);
        assert_eq!(cuts, [0, 0, 0, 0, 1, 1, 2, 3]);
    }
}
