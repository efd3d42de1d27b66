//! A whole run as one page that needs nothing but itself.

use super::{
    claim::{CLAIMS, claim_sentences, claims},
    conditions::{clock_sentence, disturbance, method, not_quiet_sentence},
    grid::Grid,
    paper,
    published::Published,
    results::{Sizes, groups, meters, results},
    scaling::{self, Titled},
    terminal::{group_sentences, not_measured},
};
use crate::{
    chart::{self, Named},
    findings::{ExperimentFindings, Findings},
    paper::Paper,
};
use askama::Template;
use serde_json::Value;

/// The page, with all charts drawn in it and what was published beside what was found.
/// In place of a chart that cannot be drawn it says why.
///
/// # Panics
/// Never: the template only joins strings.
#[must_use]
pub fn html(findings: &Findings, published: &Published) -> String {
    let (mut drawn, mut missing) = (Vec::new(), Vec::new());
    for named in published.beside(chart::all(findings)) {
        match chart::svg(&named.chart) {
            Ok(svg) => drawn.push((named, svg)),
            Err(error) => missing.push((named, error)),
        }
    }
    let sections = findings.experiments.iter().map(|one| {
        let mut section = section(findings, one, published.papers_of(&one.id), &drawn);
        let of_it = missing
            .iter()
            .filter(|(named, _)| named.experiment == one.id);
        let sentences = of_it.map(|(named, error)| format!("No chart '{}': {error}.", named.name));
        section.missing.extend(sentences);
        section
    });
    let page = Page {
        version: &findings.head.version,
        started: &findings.head.started,
        machine: findings.head.machine.line(),
        not_quiet: not_quiet_sentence(findings),
        claims: claims(findings),
        sections: sections.collect(),
        method: method(findings),
        clock: clock_sentence(findings),
        disturbance: disturbance(findings),
        card: machine_card(findings),
    };
    page.render().expect("the template only joins strings")
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'run> {
    version: &'run str,
    started: &'run str,
    machine: String,
    not_quiet: Option<String>,
    claims: Grid,
    sections: Vec<Section<'run>>,
    method: String,
    clock: Option<String>,
    disturbance: String,
    card: Vec<(String, String)>,
}

struct Section<'run> {
    id: &'run str,
    title: &'run str,
    groups: Vec<GroupOut<'run>>,
    scaling: Vec<Titled>,
    claimed: Vec<String>,
    papers: Vec<PaperOut>,
    missing: Vec<String>,
}

struct GroupOut<'run> {
    name: Option<&'run str>,
    results: Grid,
    sentences: Vec<String>,
    meters: Vec<Grid>,
    charts: Vec<&'run str>,
}

struct PaperOut {
    tables: Vec<(String, Grid)>,
    remarks: Vec<String>,
}

fn section<'run>(
    findings: &Findings,
    experiment: &'run ExperimentFindings,
    papers: &[Paper],
    drawn: &'run [(Named, String)],
) -> Section<'run> {
    let groups = groups(experiment).into_iter().map(|group| {
        let of_group =
            |(named, _): &&(Named, String)| named.experiment == experiment.id && group.owns(named);
        let charts = drawn.iter().filter(of_group);
        GroupOut {
            name: group.name,
            results: results(findings, &group),
            sentences: group_sentences(findings, &group),
            meters: meters(&group, Sizes::All),
            charts: charts.map(|(_, svg)| svg.as_str()).collect(),
        }
    });
    Section {
        id: &experiment.id,
        title: &experiment.title,
        groups: groups.collect(),
        scaling: scaling::tables(experiment),
        claimed: claim_sentences(experiment),
        papers: papers
            .iter()
            .map(|paper| PaperOut {
                tables: paper::titled(experiment, paper),
                remarks: paper::remarks(experiment, paper),
            })
            .collect(),
        missing: not_measured(findings, &experiment.id),
    }
}

/// Everything recorded about the machine, by its field's name in words.
fn machine_card(findings: &Findings) -> Vec<(String, String)> {
    let value = serde_json::to_value(&findings.head.machine).unwrap_or_default();
    let mut lines = Vec::new();
    flatten("", &value, &mut lines);
    lines
}

fn flatten(name: &str, value: &Value, lines: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = format!("{name} {}", field.replace('_', " "));
                flatten(name.trim_start(), value, lines);
            }
        }
        Value::Null => lines.push((name.to_owned(), UNKNOWN.to_owned())),
        Value::Bool(yes) => {
            let word = if *yes { "yes" } else { "no" };
            lines.push((name.to_owned(), word.to_owned()));
        }
        Value::String(text) => lines.push((name.to_owned(), text.clone())),
        Value::Array(values) => {
            let parts: Vec<String> = values.iter().map(in_one_line).collect();
            let known = if parts.is_empty() {
                UNKNOWN.to_owned()
            } else {
                parts.join("; ")
            };
            lines.push((name.to_owned(), known));
        }
        Value::Number(number) => lines.push((name.to_owned(), number.to_string())),
    }
}

/// An element of a list, all its fields in a line.
fn in_one_line(value: &Value) -> String {
    let mut lines = Vec::new();
    flatten("", value, &mut lines);
    let named = lines.iter().map(|(name, value)| format!("{name} {value}"));
    named.collect::<Vec<_>>().join(", ").trim_start().to_owned()
}

/// Said of what the system does not tell.
const UNKNOWN: &str = "unknown";
