//! A benchmark of one's own that asks the laboratory for no feature compiles few crates: who measures
//! a function should not wait for an SVG renderer.

use anyhow::{Result, ensure};

use crate::command::Invocation;

/// The laboratory without its default features, its own crate and the library included; the last that came is hashbrown, for
/// the library's joins.
const CRATES_MAX: usize = 61;

pub(crate) fn run() -> Result<()> {
    let tree = Invocation::cargo(
        "tree --locked --package manyhands-lab --no-default-features --edges normal,build \
         --prefix none --no-dedupe",
    );
    judge(&tree.stdout()?)
}

fn judge(tree: &str) -> Result<()> {
    let crates = crates(tree);
    println!("{} crates, at most {CRATES_MAX}", crates.len());
    ensure!(
        crates.len() <= CRATES_MAX,
        "the laboratory without features needs {} crates, at most {CRATES_MAX}: {}",
        crates.len(),
        crates.join(", ")
    );
    Ok(())
}

/// Names and versions, each once.
fn crates(tree: &str) -> Vec<&str> {
    // A path or a remark stands in parentheses.
    let names = tree.lines().filter_map(|line| line.split(" (").next());
    let mut crates: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    crates.sort_unstable();
    crates.dedup();
    crates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_and_each_of_its_versions() {
        let tree = "lab v0.1.0 (/somewhere)\nsyn v3.0.0\nsyn v2.0.0\nserde_derive v1.0.0 \
                    (proc-macro)\n\nsyn v3.0.0\n";
        let expected = [
            "lab v0.1.0",
            "serde_derive v1.0.0",
            "syn v2.0.0",
            "syn v3.0.0",
        ];
        assert_eq!(crates(tree), expected);
    }

    #[test]
    fn one_crate_too_many_is_a_failure_that_names_them() {
        let tree =
            |count: usize| -> String { (0..count).map(|one| format!("c{one} v1.0.0\n")).collect() };
        assert!(judge(&tree(CRATES_MAX)).is_ok());
        let failure = judge(&tree(CRATES_MAX + 1)).unwrap_err();
        assert!(failure.to_string().contains("c61 v1.0.0"), "{failure}");
    }
}
