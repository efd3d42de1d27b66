//! Rule: what a guide says does not exist is no alias of a public item.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::{LIBRARY, Tree};

const GUIDES: [&str; 3] = [
    "docs/from-rayon.md",
    "docs/from-tokio.md",
    "docs/from-dotnet.md",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let library = tree.files().filter(|(path, _)| path.starts_with(LIBRARY));
    let attributes = library.flat_map(|(_, text)| text.split("doc(alias").skip(1));
    // One name, or several; each attribute ends on its line. What is between the names is no name.
    let aliases = attributes.filter_map(|rest| rest.lines().next());
    let aliases: Vec<&str> = aliases.flat_map(|names| names.split('"')).collect();
    for guide in GUIDES {
        for (line_number, name) in denied(tree.text(guide).unwrap_or_default()) {
            if aliases.contains(&name) {
                let message = format!("`{name}` is denied, and a public item has that alias");
                findings.push(Finding::on_line(guide, line_number, message));
            }
        }
    }
    findings
}

/// In the first cell of a row whose second cell begins with `none`, and in the bold beginning of an item.
static DENYING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\| (?<row>[^|]*) \| none|^- \*\*(?<item>.*?)\*\*"));

/// The names that a guide denies, with the lines; items deny below the heading of what does not exist.
fn denied(text: &str) -> Vec<(usize, &str)> {
    let mut denied = Vec::new();
    let mut is_below = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("## ") {
            is_below = line == "## What does not exist";
        }
        if let Some(found) = DENYING.captures(line) {
            let item = found.name("item").filter(|_| is_below);
            let names = found.name("row").or(item);
            let names = names.map_or("", |names| names.as_str()).split('`');
            denied.extend(names.skip(1).step_by(2).map(|name| (number, name)));
        }
    }
    denied
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for attribute in ["alias = \"here\"", "alias(\"where\", \"here\")"] {
                let item = format!("#[doc({attribute})]\npub fn there() {{}}\n");
                let files = [("crates/manyhands/src/a.rs", &*item), (GUIDES[1], guide)];
                assert_eq!(check(&Tree::of(&files)).len(), found, "{guide}");
            }
        }
    }
}
