//! A whole run as Markdown.

use super::{
    claim::{CLAIMS, claim_sentences, claims},
    conditions::{clock_sentence, disturbance, method, not_quiet_sentence},
    grid::escaped,
    paper,
    published::Published,
    results::{Sizes, groups, meters, results},
    scaling,
    terminal::{group_sentences, not_measured},
};
use crate::{
    chart::{self, Named},
    findings::{ExperimentFindings, Findings},
    paper::Paper,
};

/// The whole run, with what was published beside what was found. Charts are linked by name, as
/// `charts/NAME.svg`.
#[must_use]
pub fn markdown(findings: &Findings, published: &Published) -> String {
    let mut text = format!(
        "# Measured by manyhands {}\n\n{}  \nStarted {}.\n\n",
        findings.head.version,
        escaped(&findings.head.machine.line()),
        findings.head.started
    );
    if let Some(sentence) = not_quiet_sentence(findings) {
        text += &format!("> **{}**\n\n", escaped(&sentence));
    }
    let claims = claims(findings);
    if !claims.rows.is_empty() {
        text += &format!("## {CLAIMS}\n\n{}\n", claims.markdown());
    }
    let charts = published.beside(chart::all(findings));
    for experiment in &findings.experiments {
        text += &section(
            findings,
            experiment,
            published.papers_of(&experiment.id),
            &charts,
        );
    }
    text += &format!(
        "## How it was measured\n\n{} {}\n\n{}\n",
        escaped(&method(findings)),
        escaped(&clock_sentence(findings).unwrap_or_default()),
        escaped(&disturbance(findings))
    );
    text
}

fn section(
    findings: &Findings,
    experiment: &ExperimentFindings,
    papers: &[Paper],
    charts: &[Named],
) -> String {
    let mut text = format!(
        "## {}: {}\n\n",
        escaped(&experiment.id),
        escaped(&experiment.title)
    );
    for group in groups(experiment) {
        if let Some(name) = group.name {
            text += &format!("### {}\n\n", escaped(name));
        }
        text += &results(findings, &group).markdown();
        text += &list(&group_sentences(findings, &group));
        let charts = charts.iter().filter(|one| one.experiment == experiment.id);
        for chart in charts.filter(|one| group.owns(one)) {
            let title = escaped(&chart.chart.title);
            text += &format!("![{title}](charts/{}.svg)\n\n", chart.name);
        }
        for grid in meters(&group, Sizes::All) {
            text += &format!("Per call:\n\n{}\n", grid.markdown());
        }
    }
    for table in scaling::tables(experiment) {
        let title = escaped(&table.title);
        text += &format!("### {title}\n\n{}", table.grid.markdown());
        text += &list(&table.sentences);
    }
    let claimed = claim_sentences(experiment);
    if !claimed.is_empty() {
        text += &list(&claimed);
    }
    for paper in papers {
        for (title, grid) in paper::titled(experiment, paper) {
            text += &format!("### {}\n\n{}\n", escaped(&title), grid.markdown());
        }
        text += &list(&paper::remarks(experiment, paper));
    }
    let missing = not_measured(findings, &experiment.id);
    if !missing.is_empty() {
        text += &list(&missing);
    }
    text
}

fn list(sentences: &[String]) -> String {
    let items: Vec<String> = sentences
        .iter()
        .map(|sentence| format!("- {}\n", escaped(sentence)))
        .collect();
    format!("\n{}\n", items.concat())
}
