//! Rule: nothing unfinished is left in code or comments; what is to be done is an issue.

use super::finding::Finding;
use super::source::{Source, find_word};
use super::tree::Tree;

const MACROS: &[&str] = &["todo!", "unimplemented!"];
const NOTES: &[&str] = &["TODO", "FIXME", "XXX"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust_files() {
        for line in Source::parse(text).lines() {
            let macros = MACROS.iter().filter(|word| line.code.contains(**word));
            let notes = NOTES
                .iter()
                .filter(|word| find_word(&line.comment, word).next().is_some());
            for word in macros.chain(notes) {
                let message = format!("`{word}` is left over; finish it or open an issue");
                findings.push(Finding::on_line(path, line.number, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&Tree::of(&[("peers/joins/x.rs", text)])).len()
    }

    #[test]
    fn leftovers_are_found_in_code_and_comments_and_tests() {
        for text in [
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"later\") }",
            "// TODO: faster",
            "/// FIXME",
            "#[cfg(test)]\nmod tests { fn f() { todo!() } }",
        ] {
            assert_eq!(count(text), 1, "{text}");
        }
    }

    #[test]
    fn longer_words_and_strings_pass() {
        assert_eq!(count("const TODOS: &str = \"TODO todo!\"; // the TODOS"), 0);
    }
}
