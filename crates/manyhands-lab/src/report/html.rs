//! A whole run as one page that needs nothing but itself.

use super::{
    claim::{CLAIMS, claims},
    conditions::{clock_sentence, disturbance, method, not_quiet_sentence},
    grid::Grid,
    published::Published,
    section::Section,
};
use crate::{chart, findings::Findings};
use askama::Template;

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
    let claims = claims(findings);
    let sections = findings.experiments.iter().map(|one| {
        let papers = published.papers_of(&one.id);
        let mut section = Section::of(findings, one, papers, &drawn, &claims);
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
        sections: sections.collect(),
        claims,
        method: method(findings),
        clock: clock_sentence(findings),
        disturbance: disturbance(findings),
        card: findings.head.machine.lines(),
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
    card: Vec<String>,
}
