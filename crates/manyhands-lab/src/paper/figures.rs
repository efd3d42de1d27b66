//! The published figures, read from the file that comes with the laboratory.

use super::PaperCell;
use serde::Deserialize;
use std::sync::LazyLock;

/// One line of the file: an arm at one size, on one machine under one runtime.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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

    /// The figure without its machine.
    #[must_use]
    pub fn cell(&self) -> PaperCell {
        PaperCell {
            case: self.case.clone(),
            n: self.n,
            arm: self.arm.clone(),
            mean_nanos: self.mean_nanos,
            median_nanos: self.median_nanos,
            standard_deviation_nanos: self.standard_deviation_nanos,
            allocated_bytes: self.allocated_bytes,
        }
    }

    /// Standard deviation over mean, where it was published.
    #[must_use]
    pub fn relative_deviation(&self) -> Option<f64> {
        Some(self.standard_deviation_nanos? / self.mean_nanos)
    }
}

/// All figures, by experiment.
#[must_use]
pub fn figures() -> &'static [Figure] {
    static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
        csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(FILE.as_bytes())
            .deserialize()
            .collect::<Result<_, _>>()
            .expect("the file that comes with the laboratory is in order")
    });
    &FIGURES
}

/// Its first lines say where the figures come from.
const FILE: &str = include_str!("../../assets/published-figures.csv");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_whole() {
        let lines = FILE.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(figures().len(), lines.count() - 1);
        assert_eq!(figures().len(), 826);
    }

    #[test]
    fn every_figure_is_a_positive_time_of_a_named_arm() {
        for figure in figures() {
            assert!(figure.mean_nanos > 0.0 && figure.n > 0);
            assert!(
                figure
                    .standard_deviation_nanos
                    .is_none_or(|nanos| nanos >= 0.0)
            );
            assert!(!figure.arm.is_empty() && !figure.case.is_empty());
        }
    }
}
