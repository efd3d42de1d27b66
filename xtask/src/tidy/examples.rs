//! Rule: every example of the library is named in the README of their folder, and that page in the project's.

use super::finding::Finding;
use super::source::find_word;
use super::tree::Tree;

const FOLDER: &str = "crates/manyhands/examples/";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let index = format!("{FOLDER}README.md");
    let names = tree.text(&index).unwrap_or_default();
    let unnamed = tree
        .files()
        .filter_map(|(path, _)| Some((path, example_name(path)?)))
        .filter(|(_, name)| find_word(names, name).next().is_none())
        .map(|(path, name)| Finding::in_file(path, format!("`{index}` does not name `{name}`")));
    let readme = tree.text("README.md").unwrap_or_default();
    let unlinked = (!readme.contains(&index))
        .then(|| Finding::in_file("README.md", format!("no link to `{index}`")));
    unnamed.chain(unlinked).collect()
}

fn example_name(path: &str) -> Option<&str> {
    let name = path.strip_prefix(FOLDER)?.strip_suffix(".rs")?;
    (!name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: (&str, &str) = ("crates/manyhands/examples/01_loops.rs", "");
    const LINK: &str = "[examples](crates/manyhands/examples/README.md)";

    fn count(readme: &str, index: &str) -> usize {
        let index = ("crates/manyhands/examples/README.md", index);
        check(&Tree::of(&[("README.md", readme), index, EXAMPLE])).len()
    }

    #[test]
    fn an_example_the_index_leaves_out_is_found() {
        assert_eq!(count(LINK, "Try `02_joins`, not 101_loops.\n"), 1);
    }

    #[test]
    fn an_index_that_no_reader_is_sent_to_is_found() {
        assert_eq!(count("Look around.", "`01_loops`"), 1);
    }

    #[test]
    fn a_named_example_passes() {
        assert_eq!(count(LINK, "- `cargo run --example 01_loops`\n"), 0);
    }
}
