//! Rule: a model calls the library's steps and does not write them again.
//!
//! A copy goes on to hold when the step it was made from is changed. What gives a copy away is that it names a
//! memory ordering, an atomic type or operation, or a fence: the steps of every protocol do, and threads, a
//! property and a bound need none. What a model counts or notes for its property goes through the helpers in
//! `models/mod.rs`, which order nothing. No other file is excepted.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::{LIBRARY, Tree};

/// The helpers themselves, which may name atomics and one ordering.
const HELPERS: &str = "mod.rs";
/// An ordering of a helper could stand in for one that a step lacks.
static ORDERS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\bOrdering::(Acq|Release|Seq|\{|\*)\w*"));
static STEPS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"\b(Ordering\b|fence\b|spin_loop\b|Atomic|fetch_|compare_exchange|store\(|swap\()";
    pattern(words)
});

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let inside = path
            .strip_prefix(LIBRARY)
            .and_then(|inside| inside.strip_prefix("models/"));
        let (forbidden, instead) = match inside {
            None => continue,
            Some(HELPERS) => (&ORDERS, "a helper orders nothing"),
            Some(_) => (
                &STEPS,
                "call the library's own step, or a helper of `models/mod.rs`",
            ),
        };
        for line in source.lines() {
            if let Some(found) = forbidden.find(&line.code) {
                let message = format!("`{}`: {instead}", found.as_str());
                findings.push(Finding::on_line(path, line.number, message));
            }
        }
    }
    findings
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
        let ordering_helper = "a.swap(true, Ordering::AcqRel); b.load(Ordering::Relaxed);";
        assert_eq!(count("models/mod.rs", ordering_helper), 1);
    }

    #[test]
    fn calls_helpers_comments_and_other_files_pass() {
        for (inside, text) in [
            ("models/timer.rs", "waking::sleep(pool, 0, worker);"),
            (
                "models/timer.rs",
                "// Ordering: `fetch_add`, F1, the fence.",
            ),
            ("models/timer.rs", "self.restore(1); self.defence();"),
            ("models/mod.rs", "a.fetch_add(1, Ordering::Relaxed);"),
            ("runtime/sleep/idle.rs", "a.load(Ordering::Relaxed);"),
        ] {
            assert_eq!(count(inside, text), 0, "{text}");
        }
    }
}
