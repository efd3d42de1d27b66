//! Rule: code, comments and documents use the field's terms, not those that this code base has given up.
//!
//! `docs/glossary.md` says what the terms mean and what other libraries call them.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::Tree;

/// In any letters.
const RETIRED: &str = "seats?|guests?|(un)?told|found blocked|rung|bells|patrol|haste|stripes?|debts|weave|weaving|sift|\
                       surroundings|lookout|sentenced|whoever|in vain|so many";
/// As they are written. Clippy refuses the macros for what is to be done; that is an issue.
const RETIRED_NAMES: &str = "Stay|Ascent|TODO|FIXME|XXX";

/// Phrases in which such a word has its usual meaning.
const PHRASES: &[&str] = &[
    "told apart",
    "guest time",
    "tests/ecosystem/surroundings.rs",
];

static ANY: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?-u:\b(?:(?i:{RETIRED})|{RETIRED_NAMES})\b)")));

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let code = tree.sources().flat_map(|(path, source)| {
        let text = |code: &str, comment: &str| format!("{} {comment}", code.replace('_', " "));
        let lines = source.lines().iter();
        lines.map(move |line| (path, line.number, text(&line.code, &line.comment)))
    });
    let pages = tree.page_lines();
    let pages = pages.map(|(path, at, line)| (path, at, line.to_owned()));
    let mut findings = Vec::new();
    for (path, line, text) in code.chain(pages) {
        let text = PHRASES
            .iter()
            .fold(text, |text, phrase| text.replace(phrase, ""));
        findings.extend(ANY.find_iter(&text).map(|found| {
            let word = found.as_str();
            let message = format!("`{word}` is retired; docs/glossary.md has the terms");
            Finding::on_line(path, line, message)
        }));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn retired_words_are_found_in_comments_code_and_documents() {
        for (path, text) in [
            ("crates/manyhands/src/a.rs", "// A thread takes a seat."),
            ("crates/manyhands/src/a.rs", "fn f(my_seat: u8) {}"),
            ("crates/manyhands/src/a.rs", "struct Patrol;"),
            ("docs/a.md", "Whoever waits is woken."),
            ("README.md", "so many threads"),
            ("xtask/src/a.rs", "/// Tried in vain."),
            ("peers/a.rs", "#[cfg(test)]\nmod tests {} // TODO: faster"),
        ] {
            assert_eq!(count(path, text), 1, "{text}");
        }
    }

    #[test]
    fn longer_words_strings_and_phrases_pass() {
        for (path, text) in [
            ("crates/manyhands/src/a.rs", "// Seated hastens."),
            (
                "crates/manyhands/src/a.rs",
                "const A: &str = \"seat TODO\"; // TODOS",
            ),
            ("docs/a.md", "They are told apart."),
            ("crates/a/templates/x.html", "whoever"),
        ] {
            assert_eq!(count(path, text), 0, "{text}");
        }
    }
}
