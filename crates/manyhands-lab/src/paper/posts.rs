//! What the posts published about the registry's experiments.
//!
//! The published parallel `foreach` of E9 appends to one list from all threads. Here it does not compile:
//! ```compile_fail,E0596
//! let mut hashes = Vec::new();
//! manyhands::parallel::for_each(0..300, |index| hashes.push(index));
//! ```
//! What was meant compiles, and keeps the order:
//! ```
//! let hashes = manyhands::parallel::map(0..300, |index| index);
//! assert_eq!(hashes.len(), 300);
//! ```

use super::{
    Figure, PLAIN, Paper, RANGES,
    figures::{figures, notes},
};
use std::collections::BTreeMap;

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
    let sources = sources(experiment_id);
    let usual = sources
        .iter()
        .filter(|one| !OTHER_RUNTIMES.contains(&one.runtime.as_str()));
    let usual = usual.min_by_key(|one| one.cpus)?;
    Some(Paper {
        break_even_claimed: break_even_claimed(&usual.experiment),
        ranges: ranges(usual),
        notes: notes(&usual.experiment),
        ..bare(usual)
    })
}

/// What was published about an experiment on every machine and under every runtime, the one of [`of`] first.
///
/// Example: see [`matching`].
#[must_use]
pub fn all(experiment_id: &str) -> Vec<Paper> {
    let usual = of(experiment_id);
    let is_other = |paper: &Paper| {
        usual
            .as_ref()
            .is_none_or(|usual| usual.source != paper.source)
    };
    let others = sources(experiment_id)
        .into_iter()
        .map(bare)
        .filter(is_other);
    usual.clone().into_iter().chain(others).collect()
}

/// Of [`all`] those whose machine, CPUs or runtime have this text, which begins at the beginning of a
/// word; upper and lower case are the same. "all" is all of them.
///
/// # Examples
/// ```
/// use manyhands_lab::paper;
/// let native = paper::matching("E3", "nativeaot");
/// assert!(native.len() == 1 && native[0].source.ends_with("NativeAOT 8.0"));
/// // Not those with 32 or 192 CPUs.
/// assert_eq!(paper::matching("E9", "2 CPUs").len(), 1);
/// assert_eq!(paper::matching("E9", "all"), paper::all("E9"));
/// assert_eq!(paper::matching("E9", "abacus"), []);
/// ```
#[must_use]
pub fn matching(experiment_id: &str, text: &str) -> Vec<Paper> {
    let mut papers = all(experiment_id);
    if !text.eq_ignore_ascii_case("all") {
        papers.retain(|paper| has_word_from(&paper.source, text));
    }
    papers
}

fn has_word_from(source: &str, text: &str) -> bool {
    let (source, text) = (source.to_lowercase(), text.trim().to_lowercase());
    let begins = |(at, _): (usize, &str)| at == 0 || source[..at].ends_with(' ');
    !text.is_empty() && source.match_indices(text.as_str()).any(begins)
}

/// A figure of each machine and runtime, in the order of the file.
fn sources(experiment_id: &str) -> Vec<&'static Figure> {
    let mut sources: Vec<&Figure> = Vec::new();
    for figure in figures() {
        let is_known = sources.iter().any(|one| is_same_source(one, figure));
        if figure.experiment.eq_ignore_ascii_case(experiment_id) && !is_known {
            sources.push(figure);
        }
    }
    sources
}

fn is_same_source(one: &Figure, other: &Figure) -> bool {
    let is_same = |part: fn(&Figure) -> &String| part(one) == part(other);
    one.cpus == other.cpus
        && is_same(|figure| &figure.experiment)
        && is_same(|figure| &figure.machine)
        && is_same(|figure| &figure.runtime)
}

/// The figures of the same experiment, machine and runtime as this one.
fn bare(figure: &Figure) -> Paper {
    let same = figures().iter().filter(|one| is_same_source(one, figure));
    Paper {
        source: figure.source(),
        cells: same.cloned().collect(),
        ..Paper::default()
    }
}

/// Of all machines on which the figure's experiment was published under its runtime.
fn ranges(figure: &Figure) -> BTreeMap<(String, usize), f64> {
    let papers = sources(&figure.experiment).into_iter().map(bare);
    let papers = papers.filter(|paper| paper.cells[0].runtime == figure.runtime);
    let papers: Vec<Paper> = papers.collect();
    let mut ranges = BTreeMap::new();
    for paper in papers.iter().filter(|_| papers.len() > 1) {
        for one in paper.cells.iter().filter(|one| one.arm == RANGES) {
            let plain = paper.cell(&one.case, one.n, PLAIN);
            let ratio = plain.map(|plain| plain.mean_nanos / one.mean_nanos);
            ranges.extend(ratio.map(|ratio| ((one.case.clone(), one.cpus), ratio)));
        }
    }
    ranges
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
    fn every_published_figure_is_in_a_paper_of_its_machine_and_runtime() {
        let mut ids: Vec<&str> = figures()
            .iter()
            .map(|one| one.experiment.as_str())
            .collect();
        ids.dedup();
        let papers: Vec<Paper> = ids.iter().flat_map(|id| all(id)).collect();
        let cells: usize = papers.iter().map(|paper| paper.cells.len()).sum();
        assert_eq!(cells, figures().len());
        let machines = |id: &str| all(id).len();
        assert_eq!((machines("E9"), machines("E3"), machines("E14")), (8, 3, 1));
        assert_eq!(of("E3").as_ref(), all("E3").first());
    }

    #[test]
    fn what_ranges_gain_is_what_the_post_says_they_do() {
        let ranges = of("E8").unwrap().ranges;
        assert_eq!(ranges.len(), 16);
        let said = [
            (64, [0.3567, 0.4102, 0.4549, 0.4635]),
            (96, [0.2897, 0.2153, 0.1425, 0.4164]),
        ];
        for (cpus, gains) in said {
            for (cost, gain) in [4, 6, 8, 10].into_iter().zip(gains) {
                let found = ranges[&(format!("BCrypt cost {cost}"), cpus)] - 1.0;
                assert!((found - gain).abs() < 2e-4, "{cost} on {cpus}: {found}");
            }
        }
        assert!(of("E3").unwrap().ranges.is_empty());
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
