//! Rule: what can be counted of the code's size only shrinks until it has reached its aim.
//!
//! `cargo xtask tidy` prints the table. A figure above its limit is a breach, and so is a limit that the figure has left
//! behind: the commit that makes something smaller lowers the limit, too.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::pattern;
use super::tree::{LIBRARY, Tree, library_module};

const HERE: &str = "xtask/src/tidy/figures.rs";
/// The layers whose constants decide which thread runs what.
const DECIDING: &[&str] = &["runtime", "engine", "call_site"];
/// The files with the numbers by which they do.
const POLICIES: &[&str] = &["/runtime/policy.rs", "/engine/cost.rs"];
/// The types of constants that may be tuned.
const NUMBERS: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i32", "i64", "f64", "Duration",
];
static UNSAFE_BLOCK: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?-u:\b)unsafe\s*\{"));

/// What is counted, how, and three numbers: it may not be larger than the first; nor smaller than it by the second, unless it has
/// reached the last, its aim.
type Figure = (&'static str, fn(&Tree) -> usize, [usize; 3]);

const FIGURES: &[Figure] = &[
    (
        "library, lines of code without comments and tests",
        |tree| lines_of(tree).sum(),
        [34_000, 500, 33_000],
    ),
    (
        "library, longest file in lines, tests not counted",
        |tree| lengths(tree).max().unwrap_or(0),
        [500, 20, 500],
    ),
    (
        "unsafe blocks in the library",
        |tree| unsafe_blocks(tree, LIBRARY),
        [300, 10, 300],
    ),
    (
        "unsafe blocks in `task`",
        |tree| unsafe_blocks(tree, "crates/manyhands/src/task/"),
        [120, 10, 120],
    ),
    (
        "unsafe blocks in what the library asks of the system",
        |tree| unsafe_blocks(tree, "crates/manyhands-system/src/"),
        [50, 10, 50],
    ),
    (
        "numbers of the two policies that follow from no other",
        decisions,
        [45, 5, 45],
    ),
    (
        "named numbers in runtime, engine, call_site",
        named_numbers,
        [90, 5, 90],
    ),
    (
        "xtask, lines in all",
        |tree| in_all(tree, "xtask/"),
        [7_000, 50, 7_000],
    ),
    (
        "laboratory, lines in all",
        |tree| in_all(tree, "crates/manyhands-lab/src/"),
        [30_300, 100, 30_300],
    ),
];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let found = FIGURES
        .iter()
        .filter_map(|figure| complaint(figure, figure.1(tree)));
    found
        .map(|message| Finding::in_file(HERE, message))
        .collect()
}

/// The figures as lines of a table.
pub(crate) fn table(tree: &Tree) -> String {
    let row = |(name, count, [at_most, _, aim]): &Figure| {
        format!("{:>8} {at_most:>8} {aim:>8}  {name}\n", count(tree))
    };
    let rows: String = FIGURES.iter().map(row).collect();
    format!("{:>8} {:>8} {:>8}\n{rows}", "now", "at most", "aim")
}

fn complaint(&(name, _, [at_most, step, aim]): &Figure, now: usize) -> Option<String> {
    if now > at_most {
        return Some(format!("{name}: {now}, where {at_most} is allowed"));
    }
    let could_be = now.next_multiple_of(step).max(aim);
    (could_be < at_most)
        .then(|| format!("{name}: {now}; lower the limit from {at_most} to {could_be}"))
}

fn lines_of(tree: &Tree) -> impl Iterator<Item = usize> {
    tree.library().map(|(_, source)| {
        let lines = source.shipped();
        lines.filter(|line| !line.code.trim().is_empty()).count()
    })
}

/// The lengths of the library's files, without tests.
fn lengths(tree: &Tree) -> impl Iterator<Item = usize> {
    tree.library().map(|(_, source)| source.shipped().count())
}

fn unsafe_blocks(tree: &Tree, folder: &str) -> usize {
    let files = tree.sources().filter(|(path, _)| path.starts_with(folder));
    let blocks = files.map(|(_, source)| UNSAFE_BLOCK.find_iter(&source.shipped_code()).count());
    blocks.sum()
}

fn named_numbers(tree: &Tree) -> usize {
    let decides = |path: &str| library_module(path).is_some_and(|name| DECIDING.contains(&name));
    numbers(tree, decides).count()
}

/// The numbers in [`POLICIES`], but for those that are given by others: in an expression with a name.
fn decisions(tree: &Tree) -> usize {
    let is_policy = |path: &str| POLICIES.iter().any(|policy| path.ends_with(policy));
    let is_given = |value: &str| {
        let value = value.replace("Duration::", "");
        value.contains(|letter: char| letter.is_ascii_uppercase())
    };
    numbers(tree, is_policy)
        .filter(|value| !is_given(value))
        .count()
}

/// What stands behind the `=` of each named number of these files.
fn numbers(tree: &Tree, is_counted: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let files = tree.library().filter(move |(path, _)| is_counted(path));
    let lines = files.flat_map(|(_, source)| source.shipped());
    lines.filter_map(|line| number(&line.code))
}

fn number(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("const ")?;
    let is_item = before.trim().is_empty() || before.trim().starts_with("pub");
    let (kind, value) = rest.split_once(": ")?.1.split_once(" =")?;
    (is_item && NUMBERS.contains(&kind)).then_some(value)
}

fn in_all(tree: &Tree, folder: &str) -> usize {
    let files = tree.sources().filter(|(path, _)| path.starts_with(folder));
    files.map(|(_, source)| source.lines().len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: Figure = ("things", Tree::len, [30, 10, 15]);

    #[test]
    fn a_step_backwards_and_a_limit_that_was_left_behind_are_found() {
        assert!(complaint(&FIGURE, 31).is_some());
        assert!([30, 21].map(|now| complaint(&FIGURE, now)) == [None, None]);
        let lower = complaint(&FIGURE, 20).expect("30 could be 20");
        assert!(lower.ends_with("from 30 to 20"), "{lower}");
        let reached = complaint(&FIGURE, 3).expect("30 could be 15");
        assert!(reached.ends_with("from 30 to 15"), "{reached}");
    }

    #[test]
    fn code_is_counted_without_comments_and_tests() {
        let text = "//! A file.\n\nconst A: u32 = 1;\nfn f() { unsafe { g() } }\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        let tree = Tree::of_library_file("task/x.rs", text);
        assert_eq!(lines_of(&tree).sum::<usize>(), 2);
        assert_eq!(unsafe_blocks(&tree, LIBRARY), 1);
        assert_eq!(unsafe_blocks(&tree, "crates/manyhands/src/queue/"), 0);
        let tree = Tree::of(&[("xtask/src/x.rs", "1\n2\n"), ("peers/src/x.rs", "1\n")]);
        assert_eq!(in_all(&tree, "xtask/src/"), 2);
    }

    #[test]
    fn only_constants_of_the_deciding_layers_that_are_numbers_are_counted() {
        let text = "const A: u32 = 1;\npub(crate) const B: Duration = Duration::ZERO;\nconst C: &str = \"\";\nfn f() -> *const u8 { x }\n";
        let in_layer = |layer| Tree::of_library_file(&format!("{layer}/x.rs"), text);
        assert_eq!(named_numbers(&in_layer("engine")), 2);
        assert_eq!(named_numbers(&in_layer("channel")), 0);
    }

    #[test]
    fn a_number_of_a_policy_that_follows_from_another_is_not_counted() {
        let text = "const A: Duration = Duration::from_millis(1);\nconst B: Duration = A.saturating_mul(2);\n";
        let count = |file| decisions(&Tree::of_library_file(file, text));
        assert_eq!(count("runtime/policy.rs"), 1);
        assert_eq!(count("runtime/inner.rs"), 0);
    }
}
