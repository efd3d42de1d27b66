//! Rule: relative links in the root's Markdown files lead to files that exist.

use super::finding::Finding;
use super::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let pages = tree
        .files()
        .filter(|(path, _)| path.ends_with(".md") && !path.contains('/'));
    for (path, text) in pages {
        for (line_number, target) in links(text) {
            if !leads_somewhere(tree, &target) {
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
            let targets = inline_targets(&without_code(line)).into_iter();
            let targets = targets.chain(reference_target(line));
            links.extend(targets.map(|target| (idx + 1, target)));
        }
    }
    links
}

/// `[text](target "title")`
fn inline_targets(line: &str) -> Vec<String> {
    let after = line.split("](").skip(1);
    after
        .filter_map(|rest| rest.split_once(')'))
        .filter_map(|(inside, _)| Some(inside.split_whitespace().next()?.to_owned()))
        .collect()
}

/// `[name]: target`
fn reference_target(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

fn leads_somewhere(tree: &Tree, target: &str) -> bool {
    let target = target.trim_start_matches('<').trim_end_matches('>');
    let has_scheme = target.contains("://") || target.starts_with("mailto:");
    let path = target.split('#').next().unwrap_or_default();
    let path = path.strip_prefix("./").unwrap_or(path);
    has_scheme || path.is_empty() || tree.has(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("README.md", text), ("docs/design/idle.md", "")]);
        check(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_into_nothing_are_found() {
        for text in [
            "[a](docs/missing.md)",
            "[a](docs/design/idle.md) and [`b`](../outside.md)",
            "![chart](chart.svg \"the chart\")",
            "[a]: docs/missing.md#part",
        ] {
            assert_eq!(findings(text).len(), 1, "{text}");
        }
        let expected = "README.md:2: the link to `x.md` leads nowhere";
        assert_eq!(findings("\n[a](x.md)"), [expected]);
    }

    #[test]
    fn good_links_and_code_pass() {
        for text in [
            "[a](docs/design/idle.md#states) [b](./docs) [c](#here)",
            "[a](https://example.org/x) <https://example.org>",
            "`v[i](x)`",
            "```rust\nv[i](x)\n```",
            "[a]: docs/design/idle.md",
        ] {
            assert!(findings(text).is_empty(), "{text}");
        }
    }
}
