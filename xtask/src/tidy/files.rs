//! Rule: a Rust file opens with `//!`, saying what it is, and has at most this many lines, its tests not counted. So has a
//! page of a decision: the rule in force, its figures, and what was rejected. Functions are clippy's.

use super::finding::Finding;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 600;
const DECISIONS: &str = "docs/decisions/";
const DECISION_LINES_MAX: usize = 60;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut lengths = Vec::new();
    for (path, source) in tree.sources() {
        if !tree.text(path).is_some_and(|text| text.starts_with("//!")) {
            let message = "open the file with `//!`: what it is";
            findings.push(Finding::on_line(path, 1, message));
        }
        // A file of tests is measured as a whole.
        let len = match source.shipped().count() {
            0 => source.lines().len(),
            shipped => shipped,
        };
        lengths.push((path, len, FILE_LINES_MAX));
    }
    let decisions = tree.files().filter(|(path, _)| path.starts_with(DECISIONS));
    lengths.extend(decisions.map(|(path, text)| (path, text.lines().count(), DECISION_LINES_MAX)));
    let too_long = lengths.into_iter().filter(|(_, len, most)| len > most);
    findings.extend(too_long.map(|(path, len, most)| {
        Finding::in_file(path, format!("{len} lines, {most} are allowed"))
    }));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_file_without_a_header_is_found_wherever_it_is() {
        for path in [
            "crates/a/src/x.rs",
            "peers/joins/x.rs",
            "crates/a/examples/x.rs",
        ] {
            for text in ["", "use a;\n", "// plain\n", "\n//! late\n"] {
                assert_eq!(count(path, text), 1, "{path} {text:?}");
            }
            assert_eq!(count(path, "//! What.\n"), 0);
        }
    }

    #[test]
    fn one_line_too_many_is_found_and_tests_do_not_count() {
        let lines = |len: usize| format!("//!\n{}", "//\n".repeat(len - 1));
        assert_eq!(count("a/tests/x.rs", &lines(FILE_LINES_MAX + 1)), 1);
        assert_eq!(count("a/src/x.rs", &lines(FILE_LINES_MAX + 1)), 1);
        let full = lines(FILE_LINES_MAX) + "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n";
        assert_eq!(count("a/src/x.rs", &full), 0);
        let page = lines(DECISION_LINES_MAX + 1);
        assert_eq!(count("docs/decisions/01-loops.md", &page), 1);
        assert_eq!(count("docs/from-rayon.md", &page), 0);
    }
}
