//! Which charts a run has, and the names of their files.

use super::{cores, items, over_cpus, over_sizes, spec::ChartSpec, speed_ups_by_case};
use crate::findings::{CaseFindings, ExperimentFindings, Findings};

/// A chart of a run with the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// Lower-case letters, digits and dashes; unique in a run, without an ending.
    pub name: String,
    /// The experiment it belongs to.
    pub experiment: String,
    /// The case it belongs to; `None` if it shows all of them.
    pub case: Option<String>,
    /// What it shows.
    pub chart: ChartSpec,
}

/// All charts of a run in the order of its experiments: times and speed-ups over sizes for every
/// case with several sizes, times and speed-ups by case for experiments with several cases, or with one size
/// only, times over CPUs where there are several numbers of them, what the items of a call took
/// where its memory was read, and the pictures of the cores. None if the laboratory was built without the feature `charts`.
#[must_use]
pub fn all(findings: &Findings) -> Vec<Named> {
    if !cfg!(feature = "charts") {
        return Vec::new();
    }
    let all = findings.experiments.iter();
    all.flat_map(|one| of_experiment(findings, one)).collect()
}

fn of_experiment(findings: &Findings, experiment: &ExperimentFindings) -> Vec<Named> {
    let named = |case: Option<&CaseFindings>, kind: &str, chart: ChartSpec| {
        let case = case.map(|case| case.card.name.clone());
        let parts = [&experiment.id, case.as_deref().unwrap_or_default(), kind];
        Named {
            name: file_name(&parts),
            experiment: experiment.id.clone(),
            case,
            chart,
        }
    };
    let mut charts = vec![
        (None, "cases", speed_ups_by_case(findings, experiment)),
        (None, "cpus", over_cpus(findings, experiment)),
    ];
    for case in &experiment.cases {
        charts.extend([
            (Some(case), "sizes", over_sizes(findings, experiment, case)),
            (Some(case), "items", items(findings, experiment, case)),
            (Some(case), "cores", cores(findings, experiment, case)),
        ]);
    }
    let drawn = charts.into_iter();
    let drawn = drawn.filter_map(|(case, kind, chart)| Some(named(case, kind, chart?)));
    drawn.collect()
}

/// Joins words with dashes; everything but letters and digits becomes one dash.
fn file_name(parts: &[&str]) -> String {
    let joined = parts.join("-").to_lowercase();
    let words = joined.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_case_cut_to_one_size_still_has_a_chart() {
        let mut findings = fixture::findings();
        let has_sizes =
            |one: &ExperimentFindings| one.cases.len() == 1 && one.cases[0].points.len() > 1;
        let several = findings.experiments.iter().position(has_sizes).unwrap();
        let charts = |findings: &Findings| -> Vec<String> {
            let id = &findings.experiments[several].id;
            let all = all(findings).into_iter();
            let of_it = all.filter(|chart| chart.experiment == *id);
            of_it.map(|chart| chart.name).collect()
        };
        let whole = charts(&findings);
        findings.experiments[several].cases[0].points.truncate(1);
        let cut = charts(&findings);
        assert!(whole.iter().any(|name| name.ends_with("-sizes")));
        assert!(!cut.iter().any(|name| name.ends_with("-sizes")));
        let by_case = |names: &[String]| names.iter().any(|name| name.ends_with("-cases"));
        assert!(by_case(&cut) && !by_case(&whole), "{whole:?} {cut:?}");
    }

    #[test]
    fn names_of_files_are_plain() {
        let name = file_name(&["E10", "Two tasks / in \"series\"", "sizes"]);
        assert_eq!(name, "e10-two-tasks-in-series-sizes");
        assert_eq!(file_name(&["../..", "é"]), "");
    }
}
