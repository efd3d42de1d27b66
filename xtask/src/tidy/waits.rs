//! Rule: the name of a public function says whether it waits on the calling thread.
//!
//! A function with a section `# Blocking` ends in `_blocking`, or it is one of those that run work on the calling thread
//! until it is done; one that ends in `_blocking` has the section. What returns a future has the plain name: only loops
//! whose bodies are async end in `_async`. It does not see a function that waits and does not say so.

use super::finding::Finding;
use super::public_items::{Item, Kind, public_items};
use super::tree::Tree;

/// Functions that run work on the calling thread, under the names that every Rust user knows.
const RUN_WORK: &[&str] = &[
    "Handle::block_on",
    "JoinHandle::join",
    "Query::with_iter",
    "Runtime::install",
    "TokenSource::cancel",
    "block_on",
    "invoke",
    "join",
    "scope",
    "try_scope",
];

/// Loops whose bodies are async.
const ASYNC_BODIES: &[&str] = &[
    "for_each_async",
    "map_async",
    "stream_async",
    "try_for_each_async",
    "try_map_async",
    "try_stream_async",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let items = public_items(tree).into_iter();
    let findings = items
        .filter(|item| item.kind == Kind::Function)
        .filter_map(|item| {
            let name = item.whole_name();
            let message = format!("`{name}` {}", complaint(&item, &name)?);
            Some(Finding::on_line(&item.path, item.line_number, message))
        });
    findings.collect()
}

fn complaint(item: &Item, whole_name: &str) -> Option<&'static str> {
    let blocks = item.docs.lines().any(|line| line.trim() == "# Blocking");
    let says_so = item.name.ends_with("_blocking");
    if says_so && !blocks {
        return Some("has no section `# Blocking`");
    }
    if blocks && !says_so && !RUN_WORK.contains(&whole_name) {
        return Some("blocks, so it ends in `_blocking`");
    }
    let is_suffixed = item.name.ends_with("_async") && !ASYNC_BODIES.contains(&item.name.as_str());
    is_suffixed.then_some("is a future, so it has the plain name, without `_async`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a library with this function.
    fn complaints(docs: &str, name: &str) -> Vec<String> {
        let text = format!("/// {docs}\npub fn {name}() {{}}\n");
        let findings = check(&Tree::of_library_file("lib.rs", &text));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_blocking_function_without_the_suffix_is_found() {
        let found = complaints("# Blocking", "recv");
        assert!(found[0].ends_with("lib.rs:2: `recv` blocks, so it ends in `_blocking`"));
        assert!(complaints("# Blocking", "recv_blocking").is_empty());
        assert!(complaints("Not # Blocking", "recv").is_empty());
    }

    #[test]
    fn what_runs_work_needs_no_suffix() {
        assert!(complaints("# Blocking", "join").is_empty());
        let method = "pub struct Door;\nimpl Door {\n    /// # Blocking\n    pub fn join() {}\n}\n";
        assert_eq!(check(&Tree::of_library_file("lib.rs", method)).len(), 1);
    }

    #[test]
    fn the_suffix_without_the_section_is_found() {
        let found = complaints("Receives.", "recv_blocking");
        assert!(found[0].contains("no section"), "{found:?}");
    }

    #[test]
    fn a_future_named_async_is_found_unless_it_is_a_loop() {
        assert_eq!(complaints("Receives.", "recv_async").len(), 1);
        assert!(complaints("Loops.", "map_async").is_empty());
    }
}
