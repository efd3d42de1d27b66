//! All files of a run's folder, as names and bytes.

use super::{Published, html, markdown, measurements_csv, results_csv, summary_json};
use crate::{
    LabError, chart,
    findings::{Cause, Findings},
    record::{Block, Event, Key},
};

/// A file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFile {
    /// Path within the folder of the run, with slashes.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// The page, the Markdown report, both tables, the summary, and every chart as SVG and as PNG.
///
/// # Errors
/// [`LabError::Chart`] if a chart cannot be drawn.
pub fn files(
    findings: &Findings,
    events: &[Event],
    causes: impl Fn(&Key, &Block) -> Vec<Cause>,
    published: &Published,
) -> Result<Vec<ReportFile>, LabError> {
    let measurements = measurements_csv(&findings.head, events, causes);
    let mut files = vec![
        file(FILES[0], html(findings, published)?),
        file(FILES[1], markdown(findings, published)),
        file(FILES[2], results_csv(findings)),
        file(FILES[3], measurements),
        file(FILES[4], summary_json(findings)),
    ];
    for named in published.beside(chart::all(findings)) {
        let svg = chart::svg(&named.chart)?;
        let png = chart::png(&svg)?;
        files.push(file(&format!("{CHARTS}/{}.svg", named.name), svg));
        files.push(file(&format!("{CHARTS}/{}.png", named.name), png));
    }
    Ok(files)
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
