//! Rule: beside every memory ordering stands a comment that argues for it.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Line, pattern};
use super::tree::Tree;

const ORDERINGS: &str = "(Relaxed|Acquire|Release|AcqRel|SeqCst)";
static USED: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?-u:\b)Ordering::{ORDERINGS}(?-u:\b)")));
/// `Ordering::{…}`, `Ordering::*`, `Ordering as O` and `use …::Ordering::Relaxed;`.
static HIDDEN: LazyLock<Regex> = LazyLock::new(|| {
    let imported = format!(r"^\s*(use |pub).*::Ordering::{ORDERINGS}(?-u:\b)");
    pattern(&[r"Ordering as |Ordering::[{*]", &imported].join("|"))
});
/// A comment that names an ordering or a numbered fence (`F1`).
static ARGUED: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?-u:\b)({ORDERINGS}|F[0-9]+)(?-u:\b)")));

/// How far above the ordering its comment may start or stand.
const LINES_ABOVE_MAX: usize = 6;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.library();
    files
        .flat_map(|(path, source)| of_lines(path, source.lines()))
        .collect()
}

fn of_lines(path: &str, lines: &[Line]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (idx, line) in lines.iter().enumerate() {
        if line.is_test || !line.code.contains("Ordering") {
            continue;
        }
        if HIDDEN.is_match(&line.code) {
            let message = "write `Ordering::` in full at each use, so that this check sees it";
            findings.push(Finding::on_line(path, line.number, message));
        } else if let Some(used) = USED.captures(&line.code) {
            let near = &lines[idx.saturating_sub(LINES_ABOVE_MAX)..=idx];
            if !near.iter().any(|line| ARGUED.is_match(&line.comment)) {
                let message = format!(
                    "no comment within {LINES_ABOVE_MAX} lines says why `{}` is enough",
                    &used[1]
                );
                findings.push(Finding::on_line(path, line.number, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::Source;

    const STORE: &str = "fn f() {\n    word.store(1, Ordering::Release);\n}\n";

    fn lines_found(text: &str) -> Vec<usize> {
        let source = Source::parse(text);
        let findings = of_lines("x", source.lines());
        let line = |finding: &Finding| finding.to_string().split(':').nth(1)?.parse().ok();
        findings.iter().filter_map(line).collect()
    }

    #[test]
    fn a_bare_ordering_is_found() {
        assert_eq!(lines_found(STORE), [2]);
        assert_eq!(lines_found(&format!("// publishes the slot\n{STORE}")), [3]);
        // Neither a string nor a comment too far above is an argument.
        assert_eq!(lines_found("f(\"// Relaxed\", Ordering::Relaxed);"), [1]);
        let gap = "\n".repeat(LINES_ABOVE_MAX);
        let found = lines_found(&format!("// Release: x.\n{gap}{STORE}"));
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn hidden_orderings_are_found() {
        for text in [
            "use crate::sync::Ordering::{Acquire, Release};",
            "use crate::sync::Ordering::*;",
            "use crate::sync::Ordering::Relaxed;",
            "use crate::sync::Ordering as O;",
        ] {
            assert_eq!(lines_found(text), [1], "{text}");
        }
    }

    #[test]
    fn an_argued_ordering_passes() {
        for comment in [
            "// Release: pairs with the Acquire in `f`.",
            "/// See F2.",
            "// Relaxed: only we write.",
        ] {
            let found = lines_found(&format!("{comment}\n{STORE}"));
            assert!(found.is_empty(), "{comment}");
        }
        assert!(lines_found("a.load(Ordering::Relaxed); // Relaxed: a hint.").is_empty());
    }

    #[test]
    fn comparisons_and_tests_pass() {
        assert!(lines_found("fn f() { Ordering::Less }").is_empty());
        assert!(lines_found(&format!("#[cfg(test)]\nmod tests {{\n{STORE}}}")).is_empty());
        assert!(check(&Tree::of_library_file("models/latch.rs", STORE)).is_empty());
    }
}
