//! Rule: what a page or a comment points at is there: relative links in Markdown files lead to files that exist, and to headings
//! that these files have, and a file of Rust that a comment of the library, or a page beside its code, names in backticks exists.
//!
//! "Not here: waiting (`wait.rs`)" sends its reader to another file. When that file is renamed or split, the comment
//! goes stale and nothing else fails. A name may begin with any part of the path: `wait.rs`, `fork_join/wait.rs`.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::{LIBRARY, Tree};

/// `[text](target "title")`, `[text](<target>)` and `[name]: target`.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\]\(<?([^)>\s]+)|^\[[^\]]*\]: <?([^>\s]+)"));

/// Reports that a test expects lead to what their program writes.
const TEST_DATA: &str = "/tests/golden/";
/// Where named files may be.
const ROOTS: &[&str] = &[LIBRARY, "crates/manyhands/tests/", "xtask/src/tidy/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_page = |path: &str| path.ends_with(".md") && !path.contains(TEST_DATA);
    for (path, text) in tree.files().filter(|(path, _)| is_page(path)) {
        for (line_number, target) in links(text) {
            if !leads_somewhere(tree, path, &target) {
                let message = format!("the link to `{target}` leads nowhere");
                findings.push(Finding::on_line(path, line_number, message));
            }
        }
    }
    let comments = tree.library().flat_map(|(path, source)| {
        let lines = source.shipped();
        lines.map(move |line| (path, line.number, line.comment.as_str()))
    });
    let beside_code = tree
        .page_lines()
        .filter(|(path, ..)| path.starts_with(LIBRARY));
    for (path, line_number, text) in comments.chain(beside_code) {
        let absent = named_files(text).filter(|name| !has_named(tree, name));
        findings.extend(absent.map(|name| {
            let message = format!("`{name}` is not there");
            Finding::on_line(path, line_number, message)
        }));
    }
    findings
}

/// What stands in backticks and is a file of Rust, perhaps with a function behind it.
fn named_files(comment: &str) -> impl Iterator<Item = &str> {
    let quoted = comment.split('`').skip(1).step_by(2);
    let files = quoted.map(|name| name.split("::").next().unwrap_or(name));
    files.filter(|name| name.ends_with(".rs") && *name != ".rs" && !name.contains([' ', '*', '{']))
}

fn has_named(tree: &Tree, name: &str) -> bool {
    let end = format!("/{name}");
    let is_inside = |path: &str| ROOTS.iter().any(|root| path.starts_with(root));
    tree.files()
        .any(|(path, _)| path.ends_with(&end) && is_inside(path))
}

/// Lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_fence = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    })
}

/// Targets with their lines; code is left out.
fn links(text: &str) -> impl Iterator<Item = (usize, String)> {
    prose(text).flat_map(|(line_number, line)| {
        let text: String = line.split('`').step_by(2).collect();
        let targets = LINK.captures_iter(&text);
        let targets = targets.filter_map(|link| Some(link.get(1).or(link.get(2))?.as_str()));
        let targets: Vec<_> = targets
            .map(|target| (line_number, target.to_owned()))
            .collect();
        targets
    })
}

fn leads_somewhere(tree: &Tree, page: &str, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => Some(page.to_owned()),
        _ => resolve(page, path),
    };
    path.is_some_and(|path| tree.has(&path) && has_heading(tree, &path, heading))
}

/// The path from the root of what `page` calls `target`; none outside of the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn has_heading(tree: &Tree, path: &str, heading: &str) -> bool {
    let is_page = path.ends_with(".md") && !heading.is_empty();
    let is_heading = |line: &str| line.starts_with('#') && anchor(line) == heading;
    let text = tree.text(path).unwrap_or_default();
    !is_page || prose(text).any(|(_, line)| is_heading(line))
}

/// What a heading is called in links: its letters and digits in lower case, with `-` for spaces.
fn anchor(line: &str) -> String {
    let text = line.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: (&str, &str) = (
        "docs/design/idle.md",
        "# Idle threads\n## What `it` is: a word\n",
    );

    fn findings_in(page: &str, text: &str) -> Vec<String> {
        let tree = Tree::of(&[(page, text), DESIGN]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    fn findings(text: &str) -> Vec<String> {
        findings_in("README.md", text)
    }

    #[test]
    fn links_into_nothing_are_found() {
        for text in [
            "[a](docs/missing.md)",
            "[a](docs/design/idle.md) and [`b`](../outside.md)",
            "![chart](chart.svg \"the chart\")",
            "[a]: docs/missing.md#part",
            "[a](docs/design/idle.md#no-such-heading)",
            "# Here\n[a](#there)",
        ] {
            assert_eq!(findings(text).len(), 1, "{text}");
        }
        let expected = "README.md:2: the link to `x.md` leads nowhere";
        assert_eq!(findings("\n[a](x.md)"), [expected]);
    }

    #[test]
    fn good_links_and_code_pass() {
        for text in [
            "[a](docs/design/idle.md#idle-threads) [b](./docs) [c](docs/design/idle.md#what-it-is-a-word)",
            "# Here\n[c](#here)",
            "[a](https://example.org/x) <https://example.org>",
            "`v[i](x)`",
            "```rust\nv[i](x)\n```",
            "[a]: docs/design/idle.md",
        ] {
            assert!(findings(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn links_begin_at_the_folder_of_their_page_but_where_a_test_compares_with_it() {
        let page = "docs/decisions/loops.md";
        assert!(findings_in(page, "[a](../design/idle.md) [b](..) [c](loops.md)").is_empty());
        assert_eq!(findings_in(page, "[a](docs/design/idle.md)").len(), 1);
        assert!(findings_in("crates/a/tests/golden/report.md", "![c](charts/c.svg)").is_empty());
    }

    fn count_in(inside: &str, text: &str) -> usize {
        let files = [(inside, text), ("runtime/fork_join/wait.rs", "")];
        check(&Tree::of_library(&files)).len()
    }

    #[test]
    fn a_file_that_is_gone_is_found() {
        for text in [
            "//! Not here: waiting (`gone.rs`).",
            "/// See `task/wait.rs`.\nfn f() {}",
            "// As in `models/gone.rs::a_test`.\nfn f() {}",
        ] {
            assert_eq!(count_in("runtime/fork_join/join.rs", text), 1, "{text}");
        }
        assert_eq!(count_in("runtime/README.md", "- in `gone.rs`\n"), 1);
    }

    #[test]
    fn files_that_are_there_and_other_words_pass() {
        for text in [
            "//! Not here: waiting (`wait.rs`, `runtime/fork_join/wait.rs::on`).",
            "//! A `.rs` file, `models/*.rs`, and code: `x.rs()`.",
            "fn f() { let _ = \"`gone.rs`\"; }",
        ] {
            assert_eq!(count_in("runtime/fork_join/join.rs", text), 0, "{text}");
        }
        assert_eq!(count_in("runtime/README.md", "| `wait.rs` |\n"), 0);
    }
}
