//! Rule: every example of the library is named in the README, where a newcomer looks.

use super::finding::Finding;
use super::source::find_word;
use super::tree::Tree;

const FOLDER: &str = "crates/manyhands/examples/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let readme = tree.text("README.md").unwrap_or_default();
    tree.files()
        .filter_map(|(path, _)| Some((path, example_name(path)?)))
        .filter(|(_, name)| find_word(readme, name).next().is_none())
        .map(|(path, name)| Finding::in_file(path, format!("README.md does not name `{name}`")))
        .collect()
}

fn example_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    (!name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(readme: &str) -> usize {
        let example = ("crates/manyhands/examples/01_loops.rs", "");
        check(&Tree::of(&[("README.md", readme), example])).len()
    }

    #[test]
    fn an_example_the_readme_leaves_out_is_found() {
        assert_eq!(count("Try `02_joins`, not 101_loops.\n"), 1);
    }

    #[test]
    fn a_named_example_passes() {
        assert_eq!(count("- `cargo run --example 01_loops`\n"), 0);
    }
}
