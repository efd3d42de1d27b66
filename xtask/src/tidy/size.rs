//! Rule: a file has at most this many lines, its tests not counted. Functions are clippy's.

use super::finding::Finding;
use super::source::Source;
use super::tree::Tree;

const FILE_LINES_MAX: usize = 600;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust_files() {
        let len = Source::parse(text).shipped().count();
        if len > FILE_LINES_MAX {
            let message = format!("{len} lines without tests, {FILE_LINES_MAX} are allowed");
            findings.push(Finding::in_file(path, message));
        }
    }
    findings
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
    fn tests_do_not_count() {
        let tests = "    fn f() {}\n".repeat(FILE_LINES_MAX);
        assert_eq!(
            count(&format!("//!\n#[cfg(test)]\nmod tests {{\n{tests}}}\n")),
            0
        );
    }
}
