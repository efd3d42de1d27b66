//! Rule: the documents that every reader looks for are there and not empty, and agree with the code. The version has a
//! heading in the changelog, each example of the library is named in the README of their folder, and what a guide says does not
//! exist is no alias of a public item.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::source::find_word;
use super::tree::{LIBRARY, Tree};

const DOCUMENTS: [&str; 6] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    CHANGELOG,
    "LICENSE-MIT",
    "LICENSE-APACHE",
];
const CHANGELOG: &str = "CHANGELOG.md";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const EXAMPLES: &str = "crates/manyhands/examples/";
const GUIDES: [&str; 3] = [
    "docs/from-rayon.md",
    "docs/from-tokio.md",
    "docs/from-dotnet.md",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let text = |path: &str| tree.text(path).unwrap_or_default();
    let is_heading = |line: &str| {
        let mut words = line.split([' ', '[', ']']);
        line.starts_with('#') && words.any(|word| word == VERSION)
    };
    // Of files that are no pages only the names are known.
    let is_absent = |path: &&str| match tree.text(path) {
        None => true,
        Some(text) => path.ends_with(".md") && text.trim().is_empty(),
    };
    let absent = DOCUMENTS.into_iter().filter(is_absent);
    let mut findings: Vec<Finding> = absent
        .map(|path| Finding::in_file(path, "missing or empty"))
        .collect();
    if !text(CHANGELOG).lines().any(is_heading) {
        let message = format!("no heading for version {VERSION}");
        findings.push(Finding::in_file(CHANGELOG, message));
    }
    let index = text(&format!("{EXAMPLES}README.md"));
    for (path, _) in tree.files() {
        let name = path
            .strip_prefix(EXAMPLES)
            .and_then(|name| name.strip_suffix(".rs"));
        let is_named = |name: &str| name.contains('/') || find_word(index, name).next().is_some();
        if name.is_some_and(|name| !is_named(name)) {
            findings.push(Finding::in_file(
                path,
                "the README of its folder does not name it",
            ));
        }
    }
    let library = tree.files().filter(|(path, _)| path.starts_with(LIBRARY));
    let aliases = library.flat_map(|(_, text)| text.split("doc(alias = \"").skip(1));
    let aliases: BTreeSet<&str> = aliases.filter_map(|rest| rest.split('"').next()).collect();
    for guide in GUIDES {
        for (line_number, name) in denied(text(guide)) {
            if aliases.contains(name) {
                let message = format!("`{name}` is denied, and a public item has that alias");
                findings.push(Finding::on_line(guide, line_number, message));
            }
        }
    }
    findings
}

/// The names that a guide denies, with the lines: those in the first cell of a row whose second cell begins with `none`, and
/// those in the bold beginning of an item below the heading of what does not exist.
fn denied(text: &str) -> Vec<(usize, &str)> {
    let mut denied = Vec::new();
    let mut is_below = false;
    for (idx, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            is_below = line == "## What does not exist";
        }
        let row = line
            .strip_prefix("| ")
            .and_then(|row| row.split_once(" | "));
        let row = row.filter(|(_, answer)| answer.starts_with("none"));
        let item = line.strip_prefix("- **").filter(|_| is_below);
        let denying = row
            .or_else(|| item?.split_once("**"))
            .map(|(names, _)| names);
        let names = denying
            .into_iter()
            .flat_map(|names| names.split('`').skip(1).step_by(2));
        denied.extend(names.map(|name| (idx + 1, name)));
    }
    denied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(changelog: &str, index: &str, guide: &str) -> usize {
        let files = [
            (CHANGELOG, changelog),
            ("crates/manyhands/examples/README.md", index),
            ("crates/manyhands/examples/01_loops.rs", ""),
            (
                "crates/manyhands/src/a.rs",
                "#[doc(alias = \"here\")]\npub fn there() {}\n",
            ),
            (GUIDES[1], guide),
        ];
        let others = DOCUMENTS.into_iter().filter(|path| *path != CHANGELOG);
        let files: Vec<_> = others.map(|path| (path, "x")).chain(files).collect();
        check(&Tree::of(&files)).len()
    }

    const LOG: &str = concat!(
        "# Changes\n## [",
        env!("CARGO_PKG_VERSION"),
        "] - unreleased\n"
    );
    const INDEX: &str = "- `cargo run --example 01_loops`\n";

    #[test]
    fn a_version_without_a_heading_and_an_example_without_a_name_are_found() {
        assert_eq!(count(LOG, INDEX, ""), 0);
        for log in ["# Changes\n", "## 10.1.0\n", VERSION, "## 0.1.0-beta\n"] {
            assert_eq!(count(log, INDEX, ""), 1, "{log}");
        }
        assert_eq!(count(LOG, "Try `02_joins`, not 101_loops.\n", ""), 1);
    }

    #[test]
    fn a_name_that_is_denied_and_an_alias_is_found() {
        for (guide, found) in [
            ("| `a`, `here` | none |\n", 1),
            ("\n## What does not exist\n- **The `here`.** No.\n", 1),
            ("| `here` | `there` |\n| `b` | none; `here` |\n", 0),
            (
                "- **`here`**\n## What does not exist\n- **Other.** `here`\n",
                0,
            ),
        ] {
            assert_eq!(count(LOG, INDEX, guide), found, "{guide}");
        }
    }

    #[test]
    fn a_document_that_is_missing_or_empty_is_found() {
        let documents = DOCUMENTS.map(|path| (path, LOG));
        assert!(check(&Tree::of(&documents)).is_empty());
        for (idx, missing) in DOCUMENTS.iter().enumerate() {
            let mut fewer = documents.to_vec();
            fewer.remove(idx);
            assert!(!check(&Tree::of(&fewer)).is_empty(), "{missing}");
        }
        let empty = [&[("README.md", " \n")], &documents[1..]].concat();
        assert_eq!(check(&Tree::of(&empty)).len(), 1);
    }
}
