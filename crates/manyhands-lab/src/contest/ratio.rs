//! A ratio of two arms: the median over rounds of the ratio within the round, with its interval.

use crate::{
    report,
    stats::{self, rank_interval},
};
use std::fmt;

/// Fewer rounds give no interval: they are a quick look. Seven is also the least with which
/// unanimous rounds decide anything at 5 %, by a sign test.
pub const MIN_ROUNDS: usize = 7;

/// The median of ratios with its 95 % interval. Printed as `0.55 (0.50 … 0.61)`, and without an interval as `0.55 (–)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The median.
    pub median: f64,
    /// Both ends of the interval; `None` for fewer than [`MIN_ROUNDS`] rounds.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// From the ratio within each round; `None` without rounds.
    #[must_use]
    pub fn of(ratios: &[f64]) -> Option<Self> {
        let estimate = rank_interval(ratios).filter(|_| ratios.len() >= MIN_ROUNDS);
        Some(Self {
            median: stats::median(ratios)?,
            interval: estimate.map(|estimate| (estimate.low, estimate.high)),
        })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.median.is_finite() {
            // Something was never reached; how it compares cannot be said.
            return formatter.write_str("·");
        }
        let end = |value: f64| match value.is_finite() {
            true => report::digits(value),
            false => "∞".to_owned(),
        };
        let median = report::digits(self.median);
        match self.interval {
            None => write!(formatter, "{median} (–)"),
            Some((low, high)) => write!(formatter, "{median} ({} … {})", end(low), end(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MIN_ROUNDS, Ratio};

    fn printed(ratios: &[f64]) -> Option<String> {
        Ratio::of(ratios).map(|ratio| ratio.to_string())
    }

    #[test]
    fn an_interval_takes_seven_rounds() {
        let ratios = [0.5, 0.507, 0.4, 0.6, 0.52, 0.45, 0.9];
        assert_eq!(ratios.len(), MIN_ROUNDS);
        assert_eq!(printed(&ratios).as_deref(), Some("0.51 (0.40 … 0.90)"));
        assert_eq!(printed(&ratios[..6]).as_deref(), Some("0.50 (–)"));
        assert_eq!(printed(&[]), None);
    }

    #[test]
    fn what_was_never_reached_has_no_ratio() {
        assert_eq!(printed(&[f64::INFINITY; 7]).as_deref(), Some("·"));
        assert_eq!(printed(&[f64::NAN; 7]).as_deref(), Some("·"));
        let mut ratios = [380.2; 7];
        ratios[0] = f64::INFINITY;
        assert_eq!(printed(&ratios).as_deref(), Some("380 (380 … ∞)"));
    }
}
