//! Rule: a table that names its revision says so when what it measured is another thing now, until it is made again: its
//! program has changed, or much of the library. `cargo xtask tidy --write` has it say so. Nearly every commit changes some
//! lines of the library, so a table that said so at each would say nothing. A program is that of the problem among the peers;
//! of the laboratory's pages it is what the arms of all experiments do. How the laboratory times, judges and words it makes no
//! table older. Not here: code that nothing measures, such as models; and the README's table, which says it of each row
//! (`headlines.rs`).

use std::process::Command;

use super::finding::Finding;
use super::tree::{LIBRARY, Tree};
use crate::{step::lab_results, workspace};

pub(crate) const RESULTS: &str = "peers/RESULTS.md";
pub(crate) const PAGES: [&str; 5] = [
    RESULTS,
    "compat/rayon-core/README.md",
    "crates/manyhands-cluster/README.md",
    lab_results::CLI_README,
    lab_results::PAGE,
];
const ARMS: &str = "crates/manyhands-lab/src/workload";
const PROGRAM_CHANGED: &str = " **Its program has changed since that revision.**";
const LIBRARY_CHANGED: &str = " **More than 5,000 lines of the library are newer.**";
/// Of some 75,000; as the sentence says.
const NEWER_LINES_MAX: usize = 5_000;
const NOT_MEASURED: &str = ":(exclude,glob)**/*.md :(exclude,glob)**/tests.rs :(exclude,glob)**/tests/** \
                            :(exclude)crates/manyhands/src/models :(exclude)crates/manyhands/src/explore";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let message = "a table is older than what it measured, or no longer; `cargo xtask tidy --write` has it say so";
    let others = PAGES.iter().filter(|path| {
        tree.text(path)
            .is_some_and(|page| page != renewed(tree, path))
    });
    others.map(|path| Finding::in_file(path, message)).collect()
}

/// The page as it should be.
pub(crate) fn renewed(tree: &Tree, path: &str) -> String {
    let page = tree.text(path).unwrap_or_default();
    marked(page, |problem, revision| {
        mark(&program_of(path, problem), revision)
    })
}

/// Where the program is that made a table of this page.
fn program_of(page: &str, problem: &str) -> String {
    match page {
        lab_results::CLI_README | lab_results::PAGE => ARMS.to_owned(),
        _ => format!("peers/src/{problem}"),
    }
}

/// The page with the mark of each table, by its problem and the revision that it measured. Without one it stays as it is.
fn marked(page: &str, mark: impl Fn(&str, &str) -> Option<&'static str>) -> String {
    let mut problem = "";
    let lines = page.split_inclusive('\n').map(|line| {
        if let Some(section) = line.strip_prefix("<!-- begin ") {
            problem = section.split(' ').next().unwrap_or_default();
        }
        let named = line.split_once(" Revision: ");
        // What was changed then, `-dirty`, was committed later, or never.
        let revision = named.and_then(|(_, rest)| rest.split(['.', '-']).next());
        match revision.and_then(|revision| mark(problem, revision)) {
            Some(mark) => {
                let unmarked = line.split(" **").next().unwrap_or_default();
                format!("{}{mark}\n", unmarked.trim_end())
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// What has changed since the revision, as far as it matters; `None` if this clone does not have it.
fn mark(program: &str, revision: &str) -> Option<&'static str> {
    let mut git = Command::new("git");
    git.args(["diff", "--numstat", "-M", "--end-of-options"])
        .args([revision, "--", LIBRARY, program])
        .args(NOT_MEASURED.split(' '));
    let counted = git.current_dir(workspace::root()).output().ok()?;
    let files = String::from_utf8_lossy(&counted.stdout);
    let (of_library, of_program): (Vec<&str>, Vec<&str>) =
        files.lines().partition(|file| file.contains(LIBRARY));
    let added = |file: &&str| file.split('\t').next()?.parse::<usize>().ok();
    let newer_lines: usize = of_library.iter().filter_map(added).sum();
    let mark = match of_program.is_empty() {
        false => PROGRAM_CHANGED,
        true if newer_lines > NEWER_LINES_MAX => LIBRARY_CHANGED,
        true => "",
    };
    counted.status.success().then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "<!-- begin cores -->\n<!-- end cores -->\n<!-- begin joins on Chip, Zen 3 -->\n## Joins\n\n\
        Machine: Chip, Zen 3. Revision: abc-dirty. Command: `x`.\n<!-- end joins on Chip, Zen 3 -->\n";

    #[test]
    fn what_has_changed_since_a_revision_is_told() {
        // Git's name of the tree in which there is nothing.
        let nothing = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let of = |page, revision| mark(&program_of(page, "queries"), revision);
        for page in [RESULTS, lab_results::PAGE, lab_results::CLI_README] {
            assert_eq!(of(page, nothing), Some(PROGRAM_CHANGED), "{page}");
            assert_eq!(of(page, "no-such-revision"), None);
        }
        assert_eq!(mark("no-such-program", nothing), Some(LIBRARY_CHANGED));
        assert_eq!(mark("no-such-program", "HEAD"), Some(""));
        // A section of the laboratory's page may be called like a problem of the peers.
        assert_eq!(program_of(lab_results::PAGE, "queries"), ARMS);
    }

    #[test]
    fn every_table_of_results_names_its_revision_and_each_such_line_can_be_marked() {
        let page_and_marks = |path: &str| {
            let page = workspace::read(path).unwrap();
            let marked = marked(&page, |_, _| Some(LIBRARY_CHANGED));
            (page, marked.matches(LIBRARY_CHANGED).count())
        };
        for path in PAGES {
            let (page, marks) = page_and_marks(path);
            assert_eq!(marks, page.matches("Revision: ").count(), "{path}");
        }
        let (page, marks) = page_and_marks(RESULTS);
        assert_eq!(marks, page.matches("\nMachine: ").count());
    }

    #[test]
    fn a_table_that_is_older_says_so_until_it_is_made_again() {
        let with = |page: &str, mark| {
            marked(page, |problem, revision| {
                assert_eq!((problem, revision), ("joins", "abc"));
                mark
            })
        };
        let old = with(MEASURED, Some(LIBRARY_CHANGED));
        let expected = MEASURED.replace("`x`.", &format!("`x`.{LIBRARY_CHANGED}"));
        assert_eq!(old, expected);
        assert_eq!(with(&old, None), old);
        assert_eq!(with(&with(&old, Some(PROGRAM_CHANGED)), Some("")), MEASURED);
    }
}
