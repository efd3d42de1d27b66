//! Rule: every Rust file opens with `//!`, saying what it is.

use super::finding::Finding;
use super::tree::Tree;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(path, _)| Finding::on_line(path, 1, "open the file with `//!`: what it is"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_header_is_found_wherever_it_is() {
        for path in [
            "crates/a/src/x.rs",
            "peers/joins/x.rs",
            "crates/manyhands/examples/x.rs",
        ] {
            for text in ["", "use a;\n", "// plain\n", "\n//! late\n"] {
                assert_eq!(
                    check(&Tree::of(&[(path, text)])).len(),
                    1,
                    "{path} {text:?}"
                );
            }
        }
    }

    #[test]
    fn a_header_satisfies() {
        assert!(check(&Tree::of(&[("xtask/src/x.rs", "//! What.\n")])).is_empty());
    }
}
