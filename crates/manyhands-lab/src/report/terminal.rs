//! An experiment as text for a terminal, as wide as that is.

use super::{
    conditions::{disturbance, not_quiet_sentence},
    grid::Grid,
    results::{Group, Sizes, groups, meters},
    section::Section,
    width::Width,
};
use crate::{
    findings::{ExperimentFindings, Findings},
    paper::Paper,
};

/// One experiment: tables, noise floor, verdicts, break-evens, and the paper's numbers if any.
#[must_use]
pub fn experiment_text(
    findings: &Findings,
    experiment: &ExperimentFindings,
    papers: &[Paper],
    width: Width,
) -> String {
    let section = Section::of(findings, experiment, papers, &[], &Grid::default());
    let wrapped = |sentences: &[String]| -> String {
        let each = sentences.iter();
        each.map(|sentence| width.wrapped(sentence)).collect()
    };
    let mut text = width.wrapped(&format!("{}  {}", section.id, section.title));
    if section.parts.is_empty() {
        text += "Nothing was measured.\n";
    }
    for part in &section.parts {
        if let Some(name) = part.name {
            text += &format!("\n{}", width.wrapped(name));
        }
        text += &(part.results.terminal(width) + "\n" + &wrapped(&part.sentences));
    }
    for table in &section.scaling {
        text += &(titled(&table.title, &table.grid, width) + &wrapped(&table.sentences));
    }
    if !section.claimed.is_empty() {
        text.push('\n');
    }
    let claimed = section.claimed.iter();
    text.extend(claimed.map(|sentence| width.hanging(sentence)));
    for paper in &section.papers {
        for (title, grid) in &paper.tables {
            text += &titled(title, grid, width);
        }
        text += &wrapped(&paper.remarks);
    }
    text + &wrapped(&section.missing)
}

/// CPU time, memory and what the pool did, for an experiment at its largest sizes; empty if none of it
/// was metered. The other reports have all sizes.
#[must_use]
pub fn meters_text(experiment: &ExperimentFindings, width: Width) -> String {
    let of_group = |group: &Group<'_>| -> String {
        let name = group.name.unwrap_or(&experiment.title);
        let title = format!("{name}, per call at the largest size");
        let tables = meters(group, Sizes::Largest).into_iter();
        tables.map(|grid| titled(&title, &grid, width)).collect()
    };
    groups(experiment).iter().map(of_group).collect()
}

/// What is to be said once, after all experiments: disturbed blocks, and whether the machine was quiet enough.
#[must_use]
pub fn closing(findings: &Findings, width: Width) -> String {
    let mut text = width.wrapped(&disturbance(findings));
    if let Some(sentence) = not_quiet_sentence(findings) {
        text += &width.wrapped(&sentence);
    }
    text
}

fn titled(title: &str, grid: &Grid, width: Width) -> String {
    format!("\n{}{}\n", width.wrapped(title), grid.terminal(width))
}
