//! A whole run as Markdown.

use super::{
    claim::{CLAIMS, claims},
    conditions::{clock_sentence, disturbance, method, not_quiet_sentence},
    grid::{Grid, escaped},
    published::Published,
    section::Section,
};
use crate::{
    chart::{self, Named},
    findings::Findings,
};

/// The whole run, with what was published beside what was found. Charts are linked by name, as `charts/NAME.svg`.
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
    let link = |named: Named| {
        let title = escaped(&named.chart.title);
        let link = format!("![{title}](charts/{}.svg)\n\n", named.name);
        (named, link)
    };
    let charts = published.beside(chart::all(findings));
    let charts: Vec<(Named, String)> = charts.into_iter().map(link).collect();
    for one in &findings.experiments {
        let papers = published.papers_of(&one.id);
        text += &section(&Section::of(findings, one, papers, &charts, &claims));
    }
    text += &format!(
        "## How it was measured\n\n{} {}\n\n{}\n",
        escaped(&method(findings)),
        escaped(&clock_sentence(findings).unwrap_or_default()),
        escaped(&disturbance(findings))
    );
    text
}

fn section(section: &Section<'_>) -> String {
    let mut text = format!("## {}: {}\n\n", escaped(section.id), escaped(section.title));
    for part in &section.parts {
        let name = part.name.map(escaped);
        text += &name.map_or_else(String::new, |name| format!("### {name}\n\n"));
        text += &(part.results.markdown() + &list(&part.sentences));
        text.extend(part.charts.iter().copied());
        let meters = part.meters.iter();
        text.extend(meters.map(|grid| format!("Per call:\n\n{}\n", grid.markdown())));
    }
    for table in &section.scaling {
        text += &(titled(&table.title, &table.grid) + &list(&table.sentences));
    }
    text += &list(&section.claimed);
    for paper in &section.papers {
        let tables = paper.tables.iter();
        text.extend(tables.map(|(title, grid)| titled(title, grid) + "\n"));
        text += &list(&paper.remarks);
    }
    text + &list(&section.missing)
}

fn titled(title: &str, grid: &Grid) -> String {
    format!("### {}\n\n{}", escaped(title), grid.markdown())
}

/// Nothing of no sentences.
fn list(sentences: &[String]) -> String {
    let item = |sentence: &String| format!("- {}\n", escaped(sentence));
    let items: String = sentences.iter().map(item).collect();
    if items.is_empty() {
        return items;
    }
    format!("\n{items}\n")
}
