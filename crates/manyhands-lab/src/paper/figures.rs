//! The published figures, read from the file that comes with the laboratory.

use super::Figure;
use std::sync::LazyLock;

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
