//! All files of a run's folder, as names and bytes.

use super::{Published, html, markdown, measurements_csv, results_csv, summary_json};
use crate::{LabError, chart, findings::Findings, record::Event};

/// A file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Path within the folder of the run, with slashes.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The page, the Markdown report, both tables, the summary, and every chart as SVG and as PNG. A
/// chart that cannot be drawn is missing; the page says so.
pub fn files(findings: &Findings, events: &[Event], published: &Published) -> Vec<ReportFile> {
    let measurements = measurements_csv(&findings.head, events);
    let mut files = vec![
        file(FILES[0], html(findings, published)),
        file(FILES[1], markdown(findings, published)),
        file(FILES[2], results_csv(findings)),
        file(FILES[3], measurements),
        file(FILES[4], summary_json(findings, published)),
    ];
    for named in published.beside(chart::all(findings)) {
        if let Ok(drawn) = drawn(&named) {
            files.extend(drawn);
        }
    }
    files
}

/// A chart as SVG, and as PNG where this build makes those.
fn drawn(named: &chart::Named) -> Result<Vec<ReportFile>, LabError> {
    let svg = chart::svg(&named.chart)?;
    #[cfg(feature = "png")]
    let png = file(&path(&named.name, "png"), chart::png(&svg)?);
    Ok(vec![
        file(&path(&named.name, "svg"), svg),
        #[cfg(feature = "png")]
        png,
    ])
}

/// Where the picture of a chart is in the folder of its run.
pub(crate) fn chart_path(name: &str) -> String {
    path(name, if cfg!(feature = "png") { "png" } else { "svg" })
}

fn path(name: &str, extension: &str) -> String {
    format!("{CHARTS}/{name}.{extension}")
}

fn file(path: &str, bytes: impl Into<Vec<u8>>) -> ReportFile {
    ReportFile {
        path: path.to_owned(),
        bytes: bytes.into(),
    }
}

/// Names of the files beside the charts.
pub(crate) const FILES: [&str; 5] = [
    "report.html",
    "report.md",
    "results.csv",
    "results-measurements.csv",
    "summary.json",
];
/// Folder of the charts.
const CHARTS: &str = "charts";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_chart_that_cannot_be_drawn_costs_that_chart_only() {
        let names = |findings: &Findings| -> Vec<String> {
            let files = files(findings, &[], &Published::default());
            files.into_iter().map(|file| file.path).collect()
        };
        let mut findings = fixture::findings();
        // Every picture takes long in a build without optimisation.
        findings.experiments.truncate(2);
        let cases = findings.experiments.iter_mut().map(|one| &mut one.cases);
        cases.for_each(|cases| cases.truncate(1));
        let all = names(&findings);
        // No XML file may hold this, so no picture can be made of it.
        let experiment = &mut findings.experiments[0];
        experiment.title.push('\u{1}');
        let id = experiment.id.to_lowercase();
        let is_of_it = |name: &&String| name.starts_with(&format!("{CHARTS}/{id}-"));
        let (lost, left): (Vec<_>, Vec<_>) = all.iter().partition(is_of_it);
        assert!(!lost.is_empty() && left.len() > FILES.len());
        assert_eq!(names(&findings).iter().collect::<Vec<_>>(), left);
    }
}
