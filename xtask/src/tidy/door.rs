//! Rule: only `sync/` names the standard library's atomics, locks, threads and thread-locals, what it has for one system only,
//! and loom, manyhands-explore and manyhands-system. What goes round that door is invisible to the models, and outlives a
//! schedule. The values of `manyhands-analysis` need none of that.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::paths::{NamedPath, paths_from};
use super::source::pattern;
use super::tree::{LIBRARY, Tree, library_module};

/// Where the door is.
const DOOR: &str = "sync";
/// What has no door.
const VALUES: &str = "crates/manyhands-analysis/src/";

/// Where a path may begin that is looked at.
const ROOTS: &str = "std core alloc loom manyhands_explore manyhands_system";
/// Parts of `std::sync` that a model need not control.
const FREE: &[&str] = &["Arc", "Weak", "OnceLock", "PoisonError"];
/// Of thread-locals, also by the macro that is in scope everywhere.
static MACRO: LazyLock<Regex> = LazyLock::new(|| pattern(r"(^|[^:\w])thread_local!"));

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_checked = |path: &str| path.starts_with(LIBRARY) || path.starts_with(VALUES);
    for (path, source) in tree.sources().filter(|(path, _)| is_checked(path)) {
        if library_module(path) == Some(DOOR) {
            continue;
        }
        let code = source.shipped_code();
        for root in ROOTS.split(' ') {
            let named = paths_from(&code, root);
            let guarded = named.iter().filter(|named| is_guarded(named));
            findings.extend(guarded.map(|named| {
                let name = named.parts.join("::");
                let message = format!("`{name}` is named in `{DOOR}/` only; use `crate::{DOOR}`");
                Finding::on_line(path, named.line_number, message)
            }));
        }
        for line in source.shipped().filter(|line| MACRO.is_match(&line.code)) {
            let message = format!("write `crate::{DOOR}::thread_local!`");
            findings.push(Finding::on_line(path, line.number, message));
        }
    }
    findings
}

fn is_guarded(named: &NamedPath) -> bool {
    match (named.part(0), named.part(1)) {
        ("loom" | "manyhands_explore" | "manyhands_system", _)
        | (_, "thread" | "thread_local" | "os" | "*" | "{") => true,
        (_, "sync") => !FREE.contains(&named.part(2)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(inside: &str, text: &str) -> usize {
        check(&Tree::of_library_file(inside, text)).len()
    }

    #[test]
    fn every_way_round_the_door_is_found() {
        for text in [
            "use std::sync::atomic::AtomicUsize;",
            "use core::sync::atomic::{AtomicUsize};",
            "use std::sync::{Arc, Mutex};",
            "use std::{fmt, thread};",
            "use std::sync;",
            "use std::sync::*;",
            "fn f() { std::thread::yield_now(); }",
            "fn f(_: &std::sync::Condvar) {}",
            "use std::sync::RwLock;",
            "use loom::thread;",
            "use manyhands_explore::Mutex;",
            "use manyhands_system::clock;",
            "use std::os::unix::net::UnixStream;",
            "use std::thread_local;",
            "thread_local! { static A: Cell<u32> = const { Cell::new(0) }; }",
            "#[cfg(not(test))]\nuse std::thread;",
        ] {
            assert!(count("queue/deque.rs", text) > 0, "{text}");
        }
        let values = [("crates/manyhands-analysis/src/lib.rs", "use std::thread;")];
        assert_eq!(check(&Tree::of(&values)).len(), 1);
    }

    #[test]
    fn the_door_tests_models_and_words_pass() {
        for (inside, text) in [
            ("sync/mod.rs", "pub use std::sync::atomic::AtomicUsize;"),
            ("models/latch.rs", "use loom::thread;"),
            ("explore/loops.rs", "use manyhands_explore::thread;"),
            (
                "job/latch.rs",
                "crate::sync::thread_local! { static A: u8 = 0; }",
            ),
            (
                "job/latch.rs",
                "#[cfg(test)]\nmod tests { use std::thread; }",
            ),
            ("job/latch.rs", "//! Not `std::thread::park`."),
            ("job/latch.rs", "use std::sync::{Arc, OnceLock};"),
            ("job/latch.rs", "const A: &str = \"std::thread\";"),
        ] {
            assert_eq!(count(inside, text), 0, "{text}");
        }
        let other_crate = [("crates/manyhands-lab/src/lib.rs", "use std::thread;")];
        assert!(check(&Tree::of(&other_crate)).is_empty());
    }
}
