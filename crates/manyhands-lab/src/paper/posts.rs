//! What the posts published about the registry's experiments.

use super::{Figure, Paper, figures};

/// What was published about an experiment; `None` if nothing was.
///
/// Of several runtimes this is .NET 8, of several machines the one with the fewest CPUs.
///
/// # Examples
/// ```
/// let paper = manyhands_lab::paper::of("E3").expect("E3 was published");
/// assert!(paper.source.contains("12 CPUs"));
/// assert_eq!(paper.break_even_claimed, Some((50.0, 50.0)));
/// ```
#[must_use]
pub fn of(experiment_id: &str) -> Option<Paper> {
    let is_wanted = |figure: &&Figure| {
        figure.experiment.eq_ignore_ascii_case(experiment_id)
            && !OTHER_RUNTIMES.contains(&figure.runtime.as_str())
    };
    let all: Vec<&Figure> = figures().iter().filter(is_wanted).collect();
    let first = all.iter().min_by_key(|figure| figure.cpus)?;
    let cells = all.iter().filter(|figure| figure.cpus == first.cpus);
    Some(Paper {
        source: first.source(),
        cells: cells.map(|figure| figure.cell()).collect(),
        break_even_claimed: break_even_claimed(&first.experiment),
        notes: notes(&first.experiment)
            .iter()
            .map(|note| (*note).to_owned())
            .collect(),
    })
}

/// Published beside .NET 8.
const OTHER_RUNTIMES: [&str; 2] = [".NET Framework 4.8.1", "NativeAOT 8.0"];

/// As said in the text; where it says nothing, neighbouring sizes whose figures change sides.
fn break_even_claimed(experiment: &str) -> Option<(f64, f64)> {
    match experiment {
        "E1a" => Some((10.0, 100.0)),
        "E3" => Some((50.0, 50.0)),
        "E4" => Some((1e3, 1e4)),
        "E10" => Some((1e6, 1e7)),
        _ => None,
    }
}

/// Of the post about a million tasks.
const NO_MACHINE: &str = "The post does not say on which machine and runtime it measured.";

fn notes(experiment: &str) -> &'static [&'static str] {
    match experiment {
        "E1a" | "E1b" | "E2" | "E3" | "E4" | "E5" | "E6" => {
            &["The laptop ran on battery and was in use; it has 6 cores with 2 threads each."]
        }
        "E7" | "E8" | "E9" => &[
            "Figures are those of the smallest machine; the larger ones are in the panels of the \
             partition model.",
            "Two CPUs of these machines are one core with two threads.",
        ],
        "E10" | "E11" | "E12" => &["Each figure is a single shot."],
        "E13" => &[
            "Means of five runs; the faster arm was the pool of .NET 4.",
            "On four cores the same took 19.39 s and 3.42 s.",
        ],
        "E14" => &[
            "Each figure is a single shot, and the post does not say on which machine.",
            "The process was published as having 8 threads before the first arm, and 19 after each.",
        ],
        "E15" => &[
            "Allocated memory was published as 428.44 MB (list grows) and 419.96 MB (list \
             preallocated).",
            NO_MACHINE,
        ],
        "E15b" => &[
            "Allocated memory was published as 16 MB (list grows) and 7.63 MB (list \
             preallocated).",
            NO_MACHINE,
        ],
        "E16" => &[
            "Allocated memory was published as 428.46 MB (a task each) and 183.86 MB (timers \
             alone).",
            NO_MACHINE,
        ],
        "E17" => &[
            "Allocated memory was published as 428.38 MB (a task each), 146.45 MB (one timer, a \
             task each) and 39.63 MB (one timer, awaited each).",
            NO_MACHINE,
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_experiment_here_has_its_paper_and_shares_cases_with_it() {
        for experiment in registry::experiments() {
            let paper = of(experiment.id()).unwrap();
            for case in experiment.cases() {
                let cells = paper.cells.iter().filter(|cell| cell.case == case.name());
                let arms: Vec<_> = cells.map(|cell| cell.arm.clone()).collect();
                let shared = case.arms().iter().filter(|arm| arms.contains(arm)).count();
                let is_published = case.name() != "switching in mid-chain";
                assert_eq!(
                    shared >= 2,
                    is_published,
                    "{experiment:?} {} {arms:?}",
                    case.name()
                );
            }
            assert_eq!(
                paper
                    .cells
                    .iter()
                    .find(|cell| experiment.find(&cell.case).is_none()),
                None
            );
        }
        assert_eq!(of("E99"), None);
    }

    #[test]
    fn sizes_of_full_runs_are_the_published_ones() {
        for experiment in registry::experiments() {
            let paper = of(experiment.id()).unwrap();
            for cell in &paper.cells {
                let case = experiment.find(&cell.case).unwrap();
                let sizes = case.sizes(crate::Scale::Full);
                assert!(sizes.contains(&cell.n), "{experiment:?} {cell:?}");
            }
        }
    }

    #[test]
    fn a_paper_is_of_one_machine_and_one_runtime() {
        for experiment in registry::experiments() {
            let mut cells = of(experiment.id()).unwrap().cells;
            let count = cells.len();
            cells.dedup_by_key(|cell| (cell.case.clone(), cell.n, cell.arm.clone()));
            assert_eq!(cells.len(), count, "{experiment:?}");
        }
    }

    #[test]
    fn known_cells_are_found() {
        let paper = of("e9").unwrap();
        assert_eq!(paper.source, "AWS c7i, Xeon 8488C, 2 CPUs, .NET 8.0");
        let cell = paper.cells.iter().find(|cell| {
            (cell.case.as_str(), cell.arm.as_str()) == ("BCrypt cost 4", "sequential")
        });
        assert_eq!(cell.unwrap().mean_nanos, 367_694_049.3);
        assert_eq!(of("E13").unwrap().cells[0].mean_nanos, 5.03e9);
        assert_eq!(of("E13").unwrap().cells[0].median_nanos, None);
    }
}
