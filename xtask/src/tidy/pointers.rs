//! Rule: a file that a comment of the library, or a page beside its code, names is there.
//!
//! "Not here: waiting (`wait.rs`)" sends its reader to another file. When that file is renamed or split, the comment
//! goes stale and nothing else fails. A name may begin with any part of the path: `wait.rs`, `fork_join/wait.rs`.

use super::finding::Finding;
use super::tree::{LIBRARY, Tree};

/// Where the named files may be.
const ROOTS: &[&str] = &[LIBRARY, "crates/manyhands/tests/", "xtask/src/tidy/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let comments = tree.library().flat_map(|(path, source)| {
        let lines = source.shipped();
        lines.map(move |line| (path, line.number, line.comment.as_str()))
    });
    let pages = tree
        .page_lines()
        .filter(|(path, ..)| path.starts_with(LIBRARY));
    let named = comments.chain(pages).flat_map(|(path, line_number, text)| {
        named_files(text).map(move |name| (path, line_number, name))
    });
    named
        .filter(|(_, _, name)| !is_there(tree, name))
        .map(|(path, line_number, name)| {
            Finding::on_line(path, line_number, format!("`{name}` is not there"))
        })
        .collect()
}

/// What stands in backticks and is a file of Rust, perhaps with a function behind it.
fn named_files(comment: &str) -> impl Iterator<Item = &str> {
    let quoted = comment.split('`').skip(1).step_by(2);
    let files = quoted.map(|name| name.split("::").next().unwrap_or(name));
    files.filter(|name| name.ends_with(".rs") && *name != ".rs" && !name.contains([' ', '*', '{']))
}

fn is_there(tree: &Tree, name: &str) -> bool {
    let end = format!("/{name}");
    let is_inside = |path: &str| ROOTS.iter().any(|root| path.starts_with(root));
    tree.files()
        .any(|(path, _)| path.ends_with(&end) && is_inside(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(inside: &str, text: &str) -> usize {
        let files = [(inside, text), ("runtime/fork_join/wait.rs", "")];
        check(&Tree::of_library(&files)).len()
    }

    #[test]
    fn a_file_that_is_gone_is_found() {
        for text in [
            "//! Not here: waiting (`gone.rs`).",
            "/// See `task/wait.rs`.\nfn f() {}",
            "// As in `models/gone.rs::a_test`.\nfn f() {}",
        ] {
            assert_eq!(count("runtime/fork_join/join.rs", text), 1, "{text}");
        }
        assert_eq!(count("runtime/README.md", "- in `gone.rs`\n"), 1);
    }

    #[test]
    fn files_that_are_there_and_other_words_pass() {
        for text in [
            "//! Not here: waiting (`wait.rs`, `runtime/fork_join/wait.rs::on`).",
            "//! A `.rs` file, `models/*.rs`, and code: `x.rs()`.",
            "fn f() { let _ = \"`gone.rs`\"; }",
        ] {
            assert_eq!(count("runtime/fork_join/join.rs", text), 0, "{text}");
        }
        assert_eq!(count("runtime/README.md", "| `wait.rs` |\n"), 0);
    }
}
