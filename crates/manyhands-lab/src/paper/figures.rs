//! The published figures and what must be known of them, read from the files that come with the laboratory.

use super::Figure;
use serde::de::DeserializeOwned;
use std::sync::LazyLock;

/// All figures, by experiment.
#[must_use]
pub fn figures() -> &'static [Figure] {
    static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| read(FILE));
    &FIGURES
}

/// What a reader of an experiment's figures must know, as sentences.
pub(super) fn notes(experiment_id: &str) -> Vec<String> {
    static ALL: LazyLock<Vec<(String, String)>> = LazyLock::new(|| read(NOTES));
    let of_experiment = ALL.iter().filter(|(id, _)| id == experiment_id);
    of_experiment.map(|(_, note)| note.clone()).collect()
}

fn read<Row: DeserializeOwned>(file: &str) -> Vec<Row> {
    csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(file.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("the file that comes with the laboratory is in order")
}

/// Its first lines say where the figures come from.
const FILE: &str = include_str!("../../assets/published-figures.csv");
const NOTES: &str = include_str!("../../assets/published-notes.csv");

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

    #[test]
    fn notes_are_whole_sentences_about_experiments_with_figures() {
        let all = read::<(String, String)>(NOTES);
        for (id, note) in &all {
            assert!(
                figures().iter().any(|figure| figure.experiment == *id),
                "{id}"
            );
            assert!(
                note.ends_with('.') && !note.contains('\n') && !note.contains("  "),
                "{note}"
            );
        }
        assert!(notes("E1b")[1].contains("5.841, printed as 4.957"));
        assert!(notes("E99").is_empty());
    }
}
