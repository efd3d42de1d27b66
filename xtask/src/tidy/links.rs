//! Rule: relative links in Markdown files lead to files that exist, and to headings that these files have.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::Tree;

/// `[text](target "title")`, `[text](<target>)` and `[name]: target`.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\]\(<?([^)>\s]+)|^\[[^\]]*\]: <?([^>\s]+)"));

/// Reports that a test expects lead to what their program writes.
const TEST_DATA: &str = "/tests/golden/";

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
    findings
}

/// Targets with their lines; code is left out.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut in_fence = false;
    for (idx, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            let text: String = line.split('`').step_by(2).collect();
            let targets = LINK.captures_iter(&text);
            links.extend(targets.filter_map(|link| {
                let target = link.get(1).or(link.get(2))?;
                Some((idx + 1, target.as_str().to_owned()))
            }));
        }
    }
    links
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
    !is_page
        || tree.text(path).is_some_and(|text| {
            let mut in_fence = false;
            text.lines().any(|line| {
                in_fence ^= line.trim_start().starts_with("```");
                !in_fence && line.starts_with('#') && anchor(line) == heading
            })
        })
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
    fn pages_that_tests_compare_with_are_left_alone() {
        assert!(findings_in("crates/a/tests/golden/report.md", "![c](charts/c.svg)").is_empty());
    }

    #[test]
    fn links_begin_at_the_folder_of_their_page() {
        let page = "docs/decisions/loops.md";
        assert!(findings_in(page, "[a](../design/idle.md) [b](..) [c](loops.md)").is_empty());
        assert_eq!(findings_in(page, "[a](docs/design/idle.md)").len(), 1);
    }
}
