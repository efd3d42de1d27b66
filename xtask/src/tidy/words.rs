//! Rule: code, comments and documents use the field's terms, not those that this code base has given up.
//!
//! `docs/glossary.md` says what the terms mean and what other libraries call them.

use super::finding::Finding;
use super::source::find_word;
use super::tree::Tree;

/// A retired word, and what to write instead.
const RETIRED: &[(&str, &str)] = &[
    ("seat", "worker slot"),
    ("seats", "worker slots"),
    ("guest", "external thread"),
    ("guests", "external threads"),
    ("told blocked", "blocking that is declared"),
    ("found blocked", "detected as blocked"),
    ("told", "declared, notified, reported"),
    ("untold", "not declared"),
    ("rung", "notified, woken"),
    ("bells", "ready set"),
    ("patrol", "sweep"),
    ("haste", "burst mode"),
    ("stripe", "range"),
    ("stripes", "ranges"),
    ("debts", "deferred wakes"),
    ("weave", "merge of runs"),
    ("weaving", "merge of runs"),
    ("sift", "flat operator"),
    ("surroundings", "tokio context"),
    ("lookout", "timer poll"),
    ("sentenced", "penalised"),
    ("whoever", "the thread, the caller: name it"),
    ("in vain", "say what did not happen"),
    ("so many", "a number, or the noun"),
];

/// As they are written. Clippy refuses the macros for what is to be done; that is an issue.
const RETIRED_NAMES: &[&str] = &["Stay", "Ascent", "TODO", "FIXME", "XXX"];

/// Phrases in which such a word has its usual meaning.
const PHRASES: &[&str] = &["told apart", "tests/ecosystem/surroundings.rs"];

/// Files that are allowed to name them, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    ("xtask/src/tidy/words.rs", "it lists them"),
    (
        "crates/manyhands-lab/src/meter/proc_stat.rs",
        "the kernel calls a column so",
    ),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_exempt = |path: &str| EXEMPT.iter().any(|(exempt, _)| *exempt == path);
    for (path, source) in tree.sources().filter(|(path, _)| !is_exempt(path)) {
        for line in source.lines() {
            let comment = line.comment.to_lowercase();
            let code = line.code.replace('_', " ").to_lowercase();
            findings.extend(retired_in(path, line.number, &comment));
            findings.extend(retired_in(path, line.number, &code));
            findings.extend(names_in(path, line.number, &line.code));
            findings.extend(names_in(path, line.number, &line.comment));
        }
    }
    for (path, text) in tree.files().filter(|(path, _)| path.ends_with(".md")) {
        for (idx, line) in text.lines().enumerate() {
            findings.extend(retired_in(path, idx + 1, &line.to_lowercase()));
            findings.extend(names_in(path, idx + 1, line));
        }
    }
    findings
}

fn retired_in(path: &str, line: usize, text: &str) -> Vec<Finding> {
    let text = PHRASES
        .iter()
        .fold(text.to_owned(), |text, phrase| text.replace(phrase, ""));
    let found = RETIRED
        .iter()
        .filter(|(word, _)| find_word(&text, word).next().is_some());
    let finding = |(word, instead): &(&str, &str)| {
        Finding::on_line(path, line, format!("`{word}` is retired: {instead}"))
    };
    found.map(finding).collect()
}

fn names_in<'a>(path: &'a str, line: usize, text: &'a str) -> impl Iterator<Item = Finding> {
    let found = RETIRED_NAMES
        .iter()
        .filter(|name| find_word(text, name).next().is_some());
    found.map(move |name| {
        let message = format!("the name `{name}` is retired; docs/glossary.md has the terms");
        Finding::on_line(path, line, message)
    })
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
    fn longer_words_strings_and_the_list_itself_pass() {
        for (path, text) in [
            ("crates/manyhands/src/a.rs", "// Seated hastens."),
            (
                "crates/manyhands/src/a.rs",
                "const A: &str = \"seat TODO\"; // TODOS",
            ),
            ("xtask/src/tidy/words.rs", "// whoever"),
            ("docs/a.md", "They are told apart."),
            ("crates/a/templates/x.html", "whoever"),
        ] {
            assert_eq!(count(path, text), 0, "{text}");
        }
    }
}
