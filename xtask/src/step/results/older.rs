//! Which sections of the page of results are older than the code that they measure: the library's, and that of their
//! problem among the comparison programs. Not here: code that nothing measures, such as tests and models.

use anyhow::Result;

use crate::command::Invocation;
use crate::workspace;

/// A section of the page, by problem and processor, and the revision that it measured.
#[derive(Debug, PartialEq, Eq)]
struct Section<'page> {
    name: &'page str,
    revision: &'page str,
}

/// Prints a line for each that is older.
pub(super) fn print() -> Result<()> {
    let page = workspace::read(PAGE)?;
    println!("{PAGE}, sections that are older than the code that they measure:");
    for section in sections(&page) {
        let since = match commits_since(&section) {
            Some(0) => continue,
            Some(count) => format!("{count} commits"),
            None => "unknown here".to_owned(),
        };
        println!("  {}: {since} since {}", section.name, section.revision);
    }
    Ok(())
}

/// The sections that name a revision, in their order.
fn sections(page: &str) -> Vec<Section<'_>> {
    let mut name = None;
    let mut sections = Vec::new();
    for line in page.lines() {
        if let Some(begun) = line.strip_prefix("<!-- begin ") {
            name = begun.strip_suffix(" -->");
        }
        let measured = line.strip_prefix("Machine: ").and_then(revision_in);
        sections.extend(
            measured.and_then(|revision| name.take().map(|name| Section { name, revision })),
        );
    }
    sections
}

fn revision_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(" Revision: ")?;
    rest.split(' ').next()?.strip_suffix('.')
}

/// How many commits have changed its code; `None` if this clone does not have its revision.
fn commits_since(section: &Section<'_>) -> Option<usize> {
    let problem = section.name.split(' ').next()?;
    // What was changed then was committed later, or never.
    let revision = section.revision.trim_end_matches("-dirty");
    let count = Invocation::new("git rev-list --count")
        .arg(format!("{revision}..HEAD"))
        .words("-- crates/manyhands/src")
        .arg(format!("peers/src/{problem}"));
    count.words(NOT_MEASURED).stdout().ok()?.trim().parse().ok()
}

const PAGE: &str = "peers/RESULTS.md";
const NOT_MEASURED: &str = ":(exclude,glob)**/*.md :(exclude,glob)**/tests.rs :(exclude,glob)**/tests/** \
                            :(exclude)crates/manyhands/src/models :(exclude)crates/manyhands/src/explore";

#[cfg(test)]
mod tests {
    use super::*;

    fn section(revision: &str) -> Section<'_> {
        let name = "joins on Chip, Zen 3";
        Section { name, revision }
    }

    #[test]
    fn a_section_says_what_it_measured_and_one_without_a_machine_does_not() {
        let page = "<!-- begin cores -->\n<!-- end cores -->\n<!-- begin joins on Chip, Zen 3 -->\n## Joins\n\n\
                    Machine: Chip, Zen 3. Revision: abc-dirty. Command: `x`.\n<!-- end joins on Chip, Zen 3 -->\n";
        assert_eq!(sections(page), [section("abc-dirty")]);
        let page = workspace::read(PAGE).unwrap();
        assert_eq!(sections(&page).len(), page.matches("\nMachine: ").count());
    }

    #[test]
    fn the_commits_since_a_revision_are_counted() {
        assert_eq!(commits_since(&section("HEAD-dirty")), Some(0));
        assert_eq!(commits_since(&section("no-such-revision")), None);
    }
}
