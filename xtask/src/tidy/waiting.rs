//! Rule: the name of a function says whether it waits on the calling thread.
//!
//! A function with a section `# Blocking` ends in `_blocking`, or it is one of those that run work on the calling thread
//! until it is done; a public one that ends in `_blocking` has the section. What returns a future has the plain name: only
//! loops whose bodies are async end in `_async`. A function that waits and does not say so is not seen.

use super::finding::Finding;
use super::source::pattern;
use super::tree::{LIBRARY, Tree};

/// Functions that run work on the calling thread, under the names that every Rust user knows.
const RUN_WORK: &str = "cancel/mod.rs::cancel parallel/mod.rs::invoke query/terminal/prefetch.rs::with_iter \
     runtime/fork_join/join.rs::join runtime/fork_join/scope.rs::scope runtime/owner.rs::install \
     task/block_on.rs::block_on task/handle.rs::join task/runtime_handle.rs::block_on";
/// Loops whose bodies are async.
const ASYNC_BODIES: &str =
    "for_each_async map_async stream_async try_for_each_async try_map_async try_stream_async";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let function = pattern(r"^(pub )?(?:const |async |unsafe )*fn (\w+)");
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        let inside = path.trim_start_matches(LIBRARY);
        let mut blocks = false;
        for line in source.shipped() {
            let code = line.code.trim();
            if let Some(found) = function.captures(code) {
                let complaint = complaint(inside, &found[2], [found.get(1).is_some(), blocks]);
                findings.extend(complaint.map(|text| Finding::on_line(path, line.number, text)));
            }
            // Attributes may stand between what a function says and its name.
            blocks &= !code.ends_with(['{', '}', ';']);
            blocks |= line.comment.trim() == "/// # Blocking";
        }
    }
    findings
}

fn complaint(inside: &str, name: &str, [is_public, blocks]: [bool; 2]) -> Option<String> {
    let has = |list: &str, name: &str| list.split_whitespace().any(|one| one == name);
    let runs_work = has(RUN_WORK, &format!("{inside}::{name}"));
    let complaint = match (blocks, name.ends_with("_blocking")) {
        (false, true) if is_public => "has no section `# Blocking`",
        (true, false) if !runs_work => "blocks, so it ends in `_blocking`",
        _ if is_public && name.ends_with("_async") && !has(ASYNC_BODIES, name) => {
            "is a future, so it has the plain name, without `_async`"
        }
        _ => return None,
    };
    Some(format!("`{name}` {complaint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whether_the_function_waits() {
        for (text, is_found) in [
            ("/// # Blocking\npub fn recv() {}", true),
            ("/// # Blocking\n#[a(\nb,\n)]\nfn recv() {}", true),
            ("/// # Blocking\npub fn recv_blocking() {}", false),
            ("/// # Blocking\npub struct A {}\nfn recv() {}", false),
            ("/// Not # Blocking\npub fn recv() {}", false),
            ("/// # Blocking\npub fn join() {}", false),
            ("/// # Blocking\npub fn block_on() {}", true),
            ("pub const fn recv_blocking() {}", true),
            ("pub(crate) fn recv_blocking() {}", false),
            ("pub async fn recv_async() {}", true),
            ("pub fn map_async() {}", false),
        ] {
            let found = check(&Tree::of_library_file("task/handle.rs", text));
            assert_eq!(!found.is_empty(), is_found, "{text}: {found:?}");
        }
    }
}
