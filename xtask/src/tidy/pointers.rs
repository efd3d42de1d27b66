//! Rule: a file that a comment names is there.
//!
//! "Not here: waiting (`wait.rs`)" sends its reader to another file. When that file is renamed or split, the comment
//! goes stale and nothing else fails. A name may begin with any part of the path: `wait.rs`, `fork_join/wait.rs`.

use super::finding::Finding;
use super::tree::{LIBRARY, Tree};

/// Where the named files may be.
const ROOTS: &[&str] = &[LIBRARY, "crates/manyhands/tests/", "xtask/src/tidy/"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        for line in source.shipped() {
            for name in named_files(&line.comment) {
                if !is_there(tree, name) {
                    let message = format!("`{name}` is not there");
                    findings.push(Finding::on_line(path, line.number, message));
                }
            }
        }
    }
    for (path, text) in tree.files() {
        if path.starts_with(LIBRARY) && path.ends_with(".md") {
            for (idx, line) in text.lines().enumerate() {
                for name in named_files(line).filter(|name| !is_there(tree, name)) {
                    let message = format!("`{name}` is not there");
                    findings.push(Finding::on_line(path, idx + 1, message));
                }
            }
        }
    }
    findings
}

/// What stands in backticks and is a file of Rust, perhaps with a function behind it.
fn named_files(comment: &str) -> impl Iterator<Item = &str> {
    let quoted = comment.split('`').skip(1).step_by(2);
    let files = quoted.map(|name| name.split("::").next().unwrap_or(name));
    files.filter(|name| name.ends_with(".rs") && *name != ".rs" && !name.contains([' ', '*', '{']))
}

fn is_there(tree: &Tree, name: &str) -> bool {
    let end = format!("/{name}");
    tree.files().any(|(path, _)| {
        let is_inside = ROOTS.iter().any(|root| path.starts_with(root));
        is_inside && path.ends_with(&end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(inside: &str, text: &str) -> usize {
        let path = format!("{LIBRARY}{inside}");
        let wait = (format!("{LIBRARY}runtime/fork_join/wait.rs"), String::new());
        let files = [(path.as_str(), text), (wait.0.as_str(), wait.1.as_str())];
        check(&Tree::of(&files)).len()
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
