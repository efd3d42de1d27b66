//! Rule: a table of `peers/RESULTS.md` whose program has changed since it was made says so, until it is made again.
//! `cargo xtask tidy --write` has it say so; which tables are older than the library, `cargo xtask results --older` says.

use super::finding::Finding;
use super::tree::Tree;
use crate::step::results::older;

pub(crate) use older::PAGE;

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let message =
        "a table is older than its program, or no longer; `cargo xtask tidy --write` has it say so";
    let is_renewed = tree.text(PAGE).is_none_or(|page| page == renewed(tree));
    let finding = (!is_renewed).then(|| Finding::in_file(PAGE, message));
    finding.into_iter().collect()
}

/// The page as it should be.
pub(crate) fn renewed(tree: &Tree) -> String {
    let page = tree.text(PAGE).unwrap_or_default();
    older::marked(page, |section| older::changes(section, &[]))
}
