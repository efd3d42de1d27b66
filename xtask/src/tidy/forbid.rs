//! Rule: unsafe code lives in the library, in one file of the laboratory, and in the façade under
//! rayon-core's name. These deny it at their root and open it module by module; every other crate
//! forbids it. The peers are not ours to police.

use super::finding::Finding;
use super::source::Source;
use super::tree::{MAY_BE_UNSAFE, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.rust_files() {
        if !is_crate_root(path) {
            continue;
        }
        let attribute = if MAY_BE_UNSAFE.iter().any(|folder| path.starts_with(folder)) {
            "#![deny(unsafe_code)]"
        } else {
            "#![forbid(unsafe_code)]"
        };
        let source = Source::parse(text);
        if !source.shipped().any(|line| line.code.trim() == attribute) {
            findings.push(Finding::in_file(path, format!("`{attribute}` is missing")));
        }
    }
    findings
}

fn is_crate_root(path: &str) -> bool {
    let ours = ["crates/", "compat/", "xtask/"]
        .iter()
        .any(|folder| path.starts_with(folder));
    let name = path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    ours && (name || path.contains("/src/bin/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_root_without_the_attribute_is_found() {
        for path in [
            "crates/manyhands/src/lib.rs",
            "crates/manyhands-cli/src/main.rs",
            "crates/manyhands-lab/src/bin/x.rs",
            "compat/rayon-core/src/lib.rs",
            "xtask/src/main.rs",
        ] {
            for text in ["", "// #![forbid(unsafe_code)] #![deny(unsafe_code)]"] {
                assert_eq!(count(path, text), 1, "{path}");
            }
        }
    }

    #[test]
    fn denying_is_enough_for_four_crates_only() {
        let text = "#![deny(unsafe_code)]\n";
        assert_eq!(count("compat/rayon-core/src/lib.rs", text), 0);
        assert_eq!(count("crates/manyhands/src/lib.rs", text), 0);
        assert_eq!(count("crates/manyhands-lab/src/lib.rs", text), 0);
        assert_eq!(count("crates/manyhands-cli/src/main.rs", text), 1);
    }

    #[test]
    fn peers_and_inner_files_are_free() {
        assert_eq!(count("peers/joins/src/main.rs", ""), 0);
        assert_eq!(count("crates/manyhands-lab/src/sample.rs", ""), 0);
    }
}
