//! Rule: a file has at most this many lines, its tests not counted. So has a page of a decision: the rule in force, its
//! figures, and what was rejected. Functions are clippy's.

use super::finding::Finding;
use super::source::Source;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 600;
const DECISIONS: &str = "docs/decisions/";
const DECISION_LINES_MAX: usize = 60;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.files().filter_map(long_decision).collect();
    for (path, text) in tree.rust_files() {
        let len = Source::parse(text).shipped().count();
        if len > FILE_LINES_MAX {
            let message = format!("{len} lines without tests, {FILE_LINES_MAX} are allowed");
            findings.push(Finding::in_file(path, message));
        }
    }
    findings
}

fn long_decision((path, text): (&str, &str)) -> Option<Finding> {
    let len = text.lines().count();
    let message = format!(
        "{len} lines, {DECISION_LINES_MAX} are allowed: the rule, its figures, what was rejected"
    );
    let is_long = path.starts_with(DECISIONS) && len > DECISION_LINES_MAX;
    is_long.then(|| Finding::in_file(path, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Tree::of(&[("xtask/src/x.rs", text)])).len()
    }

    #[test]
    fn one_line_too_many_is_found() {
        assert_eq!(count(&"//\n".repeat(FILE_LINES_MAX + 1)), 1);
        assert_eq!(count(&"//\n".repeat(FILE_LINES_MAX)), 0);
    }

    #[test]
    fn a_decision_that_became_a_diary_is_found() {
        let count = |path: &str, len: usize| check(&Tree::of(&[(path, &"x\n".repeat(len))])).len();
        let page = "docs/decisions/01-loops.md";
        assert_eq!(count(page, DECISION_LINES_MAX + 1), 1);
        assert_eq!(count(page, DECISION_LINES_MAX), 0);
        assert_eq!(count("docs/from-rayon.md", DECISION_LINES_MAX + 1), 0);
    }

    #[test]
    fn tests_do_not_count() {
        let tests = "    fn f() {}\n".repeat(FILE_LINES_MAX);
        assert_eq!(
            count(&format!("//!\n#[cfg(test)]\nmod tests {{\n{tests}}}\n")),
            0
        );
    }
}
