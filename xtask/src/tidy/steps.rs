//! Rule: a model calls the library's steps and does not write them again.
//!
//! A copy goes on to hold when the step it was made from is changed. What gives a copy away is that it names a
//! memory ordering, an atomic type or operation, or a fence: the steps of every protocol do, and threads, a
//! property and a bound need none. What a model counts or notes for its property goes through the helpers in
//! `models/mod.rs`, which order nothing. No other file is excepted.

use super::finding::Finding;
use super::source::{Line, find_word};
use super::tree::{LIBRARY, Tree, library_module};

/// The helpers themselves, which may name atomics and one ordering.
const HELPERS: &str = "mod.rs";
/// The only ordering there: an ordering of a helper could stand in for one that a step lacks.
const ORDERS_NOTHING: &str = "Ordering::Relaxed";

/// Words that stand in steps.
const WORDS: &[&str] = &["Ordering", "fence", "spin_loop"];
/// Beginnings of words that do.
const PREFIXES: &[&str] = &["Atomic", "fetch_", "compare_exchange", "store(", "swap("];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let models = format!("{LIBRARY}models/");
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let Some(inside) = path.strip_prefix(models.as_str()) else {
            continue;
        };
        debug_assert_eq!(library_module(path), Some("models"), "the models' folder");
        for line in source.lines() {
            if inside == HELPERS {
                if line.code.replace(ORDERS_NOTHING, "").contains("Ordering::") {
                    let message = format!("a helper may name `{ORDERS_NOTHING}` only");
                    findings.push(Finding::on_line(path, line.number, message));
                }
            } else if let Some(word) = word_of_a_step(line) {
                let message = format!(
                    "`{word}` is part of a step: call the library's own, or a helper of `models/mod.rs`"
                );
                findings.push(Finding::on_line(path, line.number, message));
            }
        }
    }
    findings
}

fn word_of_a_step(line: &Line) -> Option<&'static str> {
    let has_word = |word: &&&str| find_word(&line.code, word).next().is_some();
    let begins = |prefix: &&&str| {
        let found = line.code.match_indices(**prefix).map(|(at, _)| at);
        let is_start = |at: usize| {
            let before = line.code[..at].chars().next_back();
            !before.is_some_and(super::source::is_name)
        };
        found.into_iter().any(is_start)
    };
    let word = WORDS.iter().find(has_word);
    word.or_else(|| PREFIXES.iter().find(begins)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(inside: &str, text: &str) -> usize {
        check(&Tree::of_library_file(inside, text)).len()
    }

    #[test]
    fn what_a_step_is_made_of_is_found() {
        for text in [
            "fn f(a: &A) { a.0.load(Ordering::Relaxed); }",
            "use crate::sync::atomic::{AtomicU32, Mutex};",
            "fn f() { self.word.fetch_add(1, o); }",
            "fn f() { word.compare_exchange_weak(a, b, o, o); }",
            "fn f() { self.is_taken.swap(true, o) }",
            "fn f() { self.id.store(0, o) }",
            "use crate::sync::fence;",
            "fn f() { spin_loop(); }",
        ] {
            assert_eq!(count("models/timer.rs", text), 1, "{text}");
            assert_eq!(count("models/task/future.rs", text), 1, "{text}");
        }
    }

    #[test]
    fn calls_helpers_comments_and_other_files_pass() {
        for (inside, text) in [
            (
                "models/timer.rs",
                "fn f() { waking::sleep(pool, 0, worker); }",
            ),
            (
                "models/timer.rs",
                "// Ordering: see `fetch_add`, F1, the fence.\nfn f() {}",
            ),
            (
                "models/timer.rs",
                "fn f() { self.restore(1); self.defence(); }",
            ),
            (
                "models/mod.rs",
                "fn f(a: &AtomicUsize) { a.fetch_add(1, Ordering::Relaxed); }",
            ),
            (
                "runtime/sleep/idle.rs",
                "fn f() { a.load(Ordering::Relaxed); }",
            ),
        ] {
            assert_eq!(count(inside, text), 0, "{text}");
        }
    }

    #[test]
    fn a_helper_that_orders_something_is_found() {
        let text = "fn f() { a.swap(true, Ordering::AcqRel); b.load(Ordering::Relaxed); }";
        assert_eq!(count("models/mod.rs", text), 1);
    }
}
