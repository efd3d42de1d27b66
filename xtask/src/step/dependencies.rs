//! A benchmark of one's own that asks the laboratory for no feature compiles few crates: who measures
//! a function should not wait for an SVG renderer.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::command::Invocation;

/// The laboratory without its default features, its own crate and the library included; the last that came is foldhash, which has
/// no dependencies, for a hash function of the library's own.
const CRATES_MAX: usize = 64;

pub(crate) fn run() -> Result<()> {
    let tree = Invocation::cargo(
        "tree --locked --package manyhands-lab --no-default-features --edges normal,build \
         --prefix none --no-dedupe",
    );
    let tree = tree.stdout()?;
    let crates = crates(&tree);
    let count = crates.len();
    println!("{count} crates, at most {CRATES_MAX}");
    ensure!(
        count <= CRATES_MAX,
        "the laboratory without features needs {count} crates, at most {CRATES_MAX}: {crates:?}"
    );
    Ok(())
}

/// Names and versions. A path or a remark stands in parentheses.
fn crates(tree: &str) -> BTreeSet<&str> {
    let names = tree.lines().filter_map(|line| line.split(" (").next());
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_crate_counts_once_and_each_of_its_versions() {
        let tree = "lab v0.1.0 (/somewhere)\nsyn v3.0.0\nsyn v2.0.0\n\nsyn v3.0.0 (proc-macro)\n";
        let crates: Vec<&str> = super::crates(tree).into_iter().collect();
        assert_eq!(crates, ["lab v0.1.0", "syn v2.0.0", "syn v3.0.0"]);
    }
}
