//! Rule: the documents every reader looks for are there and are not empty.

use super::finding::Finding;
use super::tree::Tree;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let absent = |path: &&&str| match tree.text(path) {
        None => true,
        // Files that no rule reads are known by name only.
        Some(text) => path.ends_with(".md") && text.trim().is_empty(),
    };
    DOCUMENTS
        .iter()
        .filter(absent)
        .map(|path| Finding::in_file(path, "missing or empty"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_document_is_found() {
        assert_eq!(check(&Tree::of(&[])).len(), DOCUMENTS.len());
        for left_out in DOCUMENTS {
            let rest = DOCUMENTS.iter().filter(|path| *path != left_out);
            let files: Vec<_> = rest.map(|path| (*path, "text")).collect();
            assert_eq!(check(&Tree::of(&files)).len(), 1, "{left_out}");
        }
    }

    #[test]
    fn an_empty_readme_is_as_good_as_none() {
        let mut files: Vec<_> = DOCUMENTS.iter().map(|path| (*path, "text")).collect();
        assert!(check(&Tree::of(&files)).is_empty());
        files.push(("README.md", "\n"));
        assert_eq!(check(&Tree::of(&files)).len(), 1);
    }
}
