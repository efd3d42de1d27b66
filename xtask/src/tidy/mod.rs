//! The rules of this code base that a machine can check.
//!
//! Each rule is a function from the files to its findings and has a file of its own, with
//! tests that show it failing; a rule that cannot fail is worth nothing. `cargo test` runs
//! all of them on the repository, so a breach is seen without knowing this command.

use std::fs;

use crate::failure::Failure;
use crate::workspace;

mod callers;
mod changelog;
mod claims;
mod cycles;
mod denied;
mod doc_examples;
mod door;
mod examples;
mod figures;
mod finding;
mod forbid;
mod header;
mod layers;
mod leftovers;
mod links;
mod ordering;
mod paths;
mod pointers;
mod presence;
mod public_items;
mod size;
mod source;
mod steps;
mod tree;
mod unsafe_page;
mod waits;
mod words;

use finding::Finding;
use tree::Tree;

struct Rule {
    name: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

const RULES: &[Rule] = &[
    Rule {
        name: "header",
        check: header::check,
    },
    Rule {
        name: "layers",
        check: layers::check,
    },
    Rule {
        name: "door",
        check: door::check,
    },
    Rule {
        name: "ordering",
        check: ordering::check,
    },
    Rule {
        name: "steps",
        check: steps::check,
    },
    Rule {
        name: "callers",
        check: callers::check,
    },
    Rule {
        name: "claims",
        check: claims::check,
    },
    Rule {
        name: "size",
        check: size::check,
    },
    Rule {
        name: "figures",
        check: figures::check,
    },
    Rule {
        name: "leftovers",
        check: leftovers::check,
    },
    Rule {
        name: "forbid",
        check: forbid::check,
    },
    Rule {
        name: "unsafe-page",
        check: unsafe_page::check,
    },
    Rule {
        name: "presence",
        check: presence::check,
    },
    Rule {
        name: "changelog",
        check: changelog::check,
    },
    Rule {
        name: "denied",
        check: denied::check,
    },
    Rule {
        name: "examples",
        check: examples::check,
    },
    Rule {
        name: "doc-examples",
        check: doc_examples::check,
    },
    Rule {
        name: "waits",
        check: waits::check,
    },
    Rule {
        name: "words",
        check: words::check,
    },
    Rule {
        name: "cycles",
        check: cycles::check,
    },
    Rule {
        name: "links",
        check: links::check,
    },
    Rule {
        name: "pointers",
        check: pointers::check,
    },
];

/// What to do about the generated page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Say that it is out of date.
    Check,
    /// Renew it, then check everything.
    Write,
}

pub(crate) fn run(mode: Mode) -> Result<(), Failure> {
    if mode == Mode::Write {
        let page = unsafe_page::render(&load()?);
        let path = workspace::root().join(unsafe_page::PATH);
        fs::write(path, page).map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", unsafe_page::PATH))
        })?;
    }
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
    Err(Failure::new(format!(
        "{} breaches of the rules",
        complaints.len()
    )))
}

fn load() -> Result<Tree, Failure> {
    Tree::load(&workspace::root())
        .map_err(|error| Failure::new(format!("cannot read the repository: {error}")))
}

/// Every finding of every rule, as a line that starts with the place.
fn complaints(tree: &Tree) -> Vec<String> {
    let of = |rule: &Rule| {
        let findings = (rule.check)(tree).into_iter();
        let name = rule.name;
        findings.map(move |finding| format!("{finding} [{name}]"))
    };
    RULES.iter().flat_map(of).collect()
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
            line.starts_with("crates/manyhands/src/lib.rs:1: ") && line.ends_with("[header]")
        });
        assert!(found, "{complaints:?}");
    }
}
