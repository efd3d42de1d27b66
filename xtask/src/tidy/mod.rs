//! The rules of this code base that a machine can check.
//!
//! Each rule is a function from the files to its findings and has a file of its own, with
//! tests that show it failing; a rule that cannot fail is worth nothing. `cargo test` runs
//! all of them on the repository, so a breach is seen without knowing this command.

use crate::workspace;

mod callers;
mod claims;
mod cycles;
mod door;
mod figures;
mod files;
mod finding;
mod guides;
mod headlines;
mod layers;
mod links;
mod older;
mod ordering;
mod paths;
mod quotes;
mod source;
mod tree;
mod waiting;

use anyhow::{Context, Result, bail};
use finding::Finding;
use tree::Tree;

type Check = fn(&Tree) -> Vec<Finding>;

const RULES: &[(&str, Check)] = &[
    ("files", files::check),
    ("layers", layers::check),
    ("door", door::check),
    ("ordering", ordering::check),
    ("callers", callers::check),
    ("claims", claims::check),
    ("figures", figures::check),
    ("guides", guides::check),
    ("cycles", cycles::check),
    ("links", links::check),
    ("quotes", quotes::check),
    ("headlines", headlines::check),
    ("older", older::check),
    ("waiting", waiting::check),
];

/// Renews what is made from other pages, and from what has changed since.
pub(crate) fn write() -> Result<()> {
    let tree = load()?;
    for path in older::PAGES {
        workspace::write(path, older::renewed(&tree, path))?;
    }
    // Again, because its rows say which of those tables are older.
    let page = headlines::renewed(&load()?).context(headlines::PAGE)?;
    workspace::write(headlines::PAGE, page)
}

pub(crate) fn run() -> Result<()> {
    let tree = load()?;
    print!("{}", figures::table(&tree));
    let complaints = complaints(&tree);
    if complaints.is_empty() {
        println!("{} rules hold over {} files", RULES.len(), tree.len());
        return Ok(());
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    bail!("{} breaches of the rules", complaints.len())
}

fn load() -> Result<Tree> {
    Tree::load(&workspace::root()).context("cannot read the repository")
}

/// Every finding of every rule, as a line that starts with the place.
fn complaints(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for (name, check) in RULES {
        let findings = check(tree).into_iter();
        complaints.extend(findings.map(|finding| format!("{finding} [{name}]")));
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_keeps_its_rules() {
        let complaints = complaints(&load().unwrap());
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }

    #[test]
    fn a_complaint_names_place_and_rule() {
        let tree = Tree::of(&[("crates/manyhands/src/lib.rs", "fn f() {}\n")]);
        let complaints = complaints(&tree);
        let found = complaints.iter().any(|line| {
            line.starts_with("crates/manyhands/src/lib.rs:1: ") && line.ends_with("[files]")
        });
        assert!(found, "{complaints:?}");
    }
}
