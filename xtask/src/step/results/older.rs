//! Which sections of the page of results are older than the code that they measure: the library's, and that of their
//! problem among the comparison programs. Not here: code that nothing measures, such as tests and models.
//!
//! The library changes with nearly every commit, and [`print()`] says how much. A section whose own program is another
//! one now says so itself, because what it measured can no longer be read there.

use std::process::Command;

use anyhow::Result;

use crate::workspace;

/// A section of the page, by problem and processor, the revision that it measured, and the line that says so.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section<'page> {
    name: &'page str,
    revision: &'page str,
    line: &'page str,
}

/// Prints a line for each that is older.
pub(super) fn print() -> Result<()> {
    let page = workspace::read(PAGE)?;
    println!("{PAGE}, sections that are older than the code that they measure:");
    for section in sections(&page) {
        let since = match changes(&section, &["crates/manyhands/src"]) {
            Some(0) => continue,
            Some(count) => format!("{count} files have changed"),
            None => "unknown here".to_owned(),
        };
        println!("  {}: {since} since {}", section.name, section.revision);
    }
    Ok(())
}

/// The page on which each section whose program has changed says so. One whose revision is not here stays as it is.
pub(crate) fn marked(page: &str, changes: impl Fn(&Section<'_>) -> Option<usize>) -> String {
    let mut marked = page.to_owned();
    for section in sections(page) {
        let unmarked = section.line.trim_end_matches(MARK);
        if let Some(count) = changes(&section) {
            let mark = if count == 0 { "" } else { MARK };
            marked = marked.replace(section.line, &format!("{unmarked}{mark}"));
        }
    }
    marked
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
        let section = measured.and_then(|revision| {
            let name = name.take()?;
            Some(Section {
                name,
                revision,
                line,
            })
        });
        sections.extend(section);
    }
    sections
}

fn revision_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(" Revision: ")?;
    rest.split(' ').next()?.strip_suffix('.')
}

/// How many files of its program, and of these folders, differ from what it measured; `None` if this clone does not have
/// its revision.
pub(crate) fn changes(section: &Section<'_>, folders: &[&str]) -> Option<usize> {
    let problem = section.name.split(' ').next()?;
    // What was changed then was committed later, or never.
    let revision = section.revision.trim_end_matches("-dirty");
    let mut git = Command::new("git");
    git.args(["diff", "--name-only", "--end-of-options", revision, "--"])
        .arg(format!("peers/src/{problem}"))
        .args(folders)
        .args(NOT_MEASURED.split(' '));
    let names = git.current_dir(workspace::root()).output().ok()?;
    let count = || String::from_utf8_lossy(&names.stdout).lines().count();
    names.status.success().then(count)
}

pub(crate) const PAGE: &str = "peers/RESULTS.md";
const MARK: &str = " **Its program has changed since that revision.**";
const NOT_MEASURED: &str = ":(exclude,glob)**/*.md :(exclude,glob)**/tests.rs :(exclude,glob)**/tests/** \
                            :(exclude)crates/manyhands/src/models :(exclude)crates/manyhands/src/explore";

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "<!-- begin cores -->\n<!-- end cores -->\n<!-- begin joins on Chip, Zen 3 -->\n## Joins\n\n\
        Machine: Chip, Zen 3. Revision: abc-dirty. Command: `x`.\n<!-- end joins on Chip, Zen 3 -->\n";

    #[test]
    fn a_section_says_what_it_measured_and_one_without_a_machine_does_not() {
        let found = sections(MEASURED);
        assert_eq!((found.len(), found[0].name), (1, "joins on Chip, Zen 3"));
        assert_eq!(found[0].revision, "abc-dirty");
        let page = workspace::read(PAGE).unwrap();
        assert_eq!(sections(&page).len(), page.matches("\nMachine: ").count());
    }

    #[test]
    fn what_differs_from_a_revision_is_counted() {
        let since = |revision| Section {
            revision,
            ..sections(MEASURED).remove(0)
        };
        // Git's name of the tree in which there is nothing.
        let nothing = since("4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert!(changes(&nothing, &[]) > Some(0));
        assert_eq!(changes(&since("no-such-revision"), &[]), None);
    }

    #[test]
    fn a_table_whose_program_has_changed_says_so_until_it_is_made_again() {
        let mark = |page: &str, changes| marked(page, |_| changes);
        let new = mark(MEASURED, Some(2));
        assert_eq!(new, MEASURED.replace("`x`.", &format!("`x`.{MARK}")));
        assert_eq!(
            [Some(1), None].map(|changes| mark(&new, changes)),
            [new.as_str(); 2]
        );
        assert_eq!(
            [Some(0), None].map(|changes| mark(MEASURED, changes)),
            [MEASURED; 2]
        );
        assert_eq!(mark(&new, Some(0)), MEASURED);
    }
}
