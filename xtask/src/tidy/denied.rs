//! Rule: what a guide says does not exist is no alias of a public item.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;

const GUIDES: [&str; 3] = [
    "docs/from-rayon.md",
    "docs/from-tokio.md",
    "docs/from-dotnet.md",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let aliases = aliases(tree);
    let mut findings = Vec::new();
    for path in GUIDES {
        let text = tree.text(path).unwrap_or_default();
        for (line, name) in denied(text) {
            if aliases.contains(name) {
                findings.push(Finding::on_line(
                    path,
                    line,
                    format!("`{name}` is denied, and a public item has that alias"),
                ));
            }
        }
    }
    findings
}

/// All aliases of the library, and of methods their last parts.
fn aliases(tree: &Tree) -> BTreeSet<&str> {
    let sources = tree
        .rust_files()
        .filter(|(path, _)| path.starts_with("crates/manyhands/src/"));
    let after = sources.flat_map(|(_, text)| text.split("doc(alias = \"").skip(1));
    after.filter_map(|rest| rest.split('"').next()).collect()
}

/// The names that a guide denies, with the lines: those in the first cell of a row whose second cell begins with `none`, and
/// those in the bold beginning of an item below the heading of what does not exist.
fn denied(text: &str) -> Vec<(usize, &str)> {
    let mut denied = Vec::new();
    let mut is_below = false;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            is_below = line == "## What does not exist";
        }
        let denying = if let Some(row) = line.strip_prefix("| ") {
            row.split_once(" | ")
                .filter(|(_, answer)| answer.starts_with("none"))
                .map(|(names, _)| names)
        } else {
            line.strip_prefix("- **")
                .filter(|_| is_below)
                .and_then(|item| item.split_once("**"))
                .map(|(bold, _)| bold)
        };
        let names = denying
            .into_iter()
            .flat_map(|cell| cell.split('`').skip(1).step_by(2));
        denied.extend(names.map(|name| (index + 1, name)));
    }
    denied
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "#[doc(alias = \"here\")]\npub fn there() {}\n";

    fn lines(guide: &str) -> Vec<usize> {
        let tree = Tree::of(&[("crates/manyhands/src/a.rs", LIBRARY), (GUIDES[1], guide)]);
        denied(guide)
            .into_iter()
            .filter(|(_, name)| aliases(&tree).contains(name))
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn a_name_that_is_denied_and_an_alias_is_found() {
        assert_eq!(lines("| `a`, `here` | none |\n"), [1]);
        assert_eq!(
            lines("\n## What does not exist\n- **The `here`.** No.\n"),
            [3]
        );
    }

    #[test]
    fn what_is_given_or_only_mentioned_is_not_found() {
        assert!(lines("| `here` | `there` |\n| `b` | none; `here` |\n").is_empty());
        assert!(lines("- **`here`**\n## What does not exist\n- **Other.** `here`\n").is_empty());
    }
}
