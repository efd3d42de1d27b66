//! What was published about the experiments: times, and from where on parallel was said to pay.
//!
//! The figures are facts from the authors' result files and stand beside what is measured here. Times do
//! not compare between machines, only ratios do; nothing here is an expected value.

#[cfg(feature = "experiments")]
mod figures;
#[cfg(feature = "experiments")]
mod here;
#[cfg(feature = "experiments")]
mod posts;

#[cfg(feature = "experiments")]
pub use figures::figures;
#[cfg(feature = "experiments")]
pub use here::here;
#[cfg(feature = "experiments")]
pub use posts::{all, matching, of};

use serde::Deserialize;
use std::collections::BTreeMap;

/// The published side of one experiment, on one machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paper {
    /// Machine and runtime.
    pub source: String,
    /// The figures, with cases and arms under their names here. An arm that is not here is named, too.
    pub cells: Vec<Figure>,
    /// Sizes between which the break-even was said to lie.
    pub break_even_claimed: Option<(f64, f64)>,
    /// The mean time of the plain loop over that of the one over ranges, by case and number of CPUs; empty unless it was
    /// published for several of these.
    pub ranges: BTreeMap<(String, usize), f64>,
    /// What a reader of the figures must know, as sentences.
    pub notes: Vec<String>,
}

/// A published figure: an arm at one size, on one machine under one runtime.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Figure {
    /// Id of the experiment.
    pub experiment: String,
    /// Machine, without its number of CPUs.
    pub machine: String,
    /// CPUs the program could use; 0 if it was not said.
    pub cpus: usize,
    /// Runtime and its version.
    pub runtime: String,
    /// Name of the case.
    pub case: String,
    /// Size.
    pub n: usize,
    /// Name of the arm.
    pub arm: String,
    /// Mean time of a call.
    pub mean_nanos: f64,
    /// Median time of a call.
    pub median_nanos: Option<f64>,
    /// Standard deviation of one call.
    pub standard_deviation_nanos: Option<f64>,
    /// Bytes that a call allocated.
    pub allocated_bytes: Option<f64>,
}

impl Figure {
    /// Machine and runtime, for people.
    #[must_use]
    pub fn source(&self) -> String {
        let cpus = match self.cpus {
            0 => "CPUs not said".to_owned(),
            1 => "1 CPU".to_owned(),
            cpus => format!("{cpus} CPUs"),
        };
        format!("{}, {cpus}, {}", self.machine, self.runtime)
    }

    /// The published time: the median where there is one.
    #[must_use]
    pub fn nanos(&self) -> f64 {
        self.median_nanos.unwrap_or(self.mean_nanos)
    }

    /// Standard deviation over mean; zero where it was not published.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.standard_deviation_nanos.unwrap_or(0.0) / self.mean_nanos
    }

    /// Whether the published standard deviation is more than 5 % of the mean: it had not settled
    /// when the measurement ended.
    #[must_use]
    pub fn is_unconverged(&self) -> bool {
        self.deviation() > CONVERGED
    }
}

impl Paper {
    /// The figure of an arm at one size.
    #[must_use]
    pub fn cell(&self, case: &str, n: usize, arm: &str) -> Option<&Figure> {
        let matches = |cell: &&Figure| cell.case == case && cell.n == n && cell.arm == arm;
        self.cells.iter().find(matches)
    }
}

/// The arm that is a plain loop.
pub(crate) const PLAIN: &str = "for";
/// The arm that is a loop over ranges.
pub(crate) const RANGES: &str = "ranges";
/// Largest share of the mean that the standard deviation of a settled figure has.
const CONVERGED: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_above_five_percent_is_unconverged() {
        let cell = |deviation| Figure {
            mean_nanos: 100.0,
            standard_deviation_nanos: deviation,
            ..Figure::default()
        };
        assert!(cell(Some(5.1)).is_unconverged());
        assert!(!cell(Some(5.0)).is_unconverged());
        assert!(!cell(None).is_unconverged());
    }
}
