//! Rule: a claim about the whole names the test, model or rule that holds it.
//!
//! A safety argument that rests on a sentence about other files ("slots are never freed", "every position was
//! consumed") is only as good as the memory of those who change these files. So such a comment says who would notice:
//! ``Held by `tests/it/map.rs::a_name` ``, a path inside the library's folder, its tests, or the rules here. A test is
//! named: a whole file of tests does not say which of them would fail. The file of a model or of a rule needs no name,
//! because it has one property. Where nothing else could be written, ``Held by the types: `` says how. The same goes for
//! each *Invariant* in ARCHITECTURE.md, for the numbered ones in pages beside the code, and for the numbered rows of
//! `docs/promises.md` and `docs/attacks.md`, whose last cell says what each is held by. What attacks the tools is held by
//! tests of all crates, so there a path begins with the crate.

use std::sync::LazyLock;

use regex::Regex;

use super::finding::Finding;
use super::source::{Source, pattern};
use super::tree::{LIBRARY, Tree, library_module};

/// What makes a safety comment one about the whole.
const GLOBAL: &str = "never freed|every position|every item has been|every occupant|every node in|only the occupant|\
                      only the engine|outlives every|does not end during|exactly once|.rs`";
/// What does in any comment.
const GLOBAL_ANYWHERE: &str = "never panics|does not panic|no user code";

const MARK: &str = "held by `";
/// Followed by how.
const BY_TYPES: &str = "held by the types: ";
/// Where a path may begin.
const ROOTS: &[&str] = &[LIBRARY, "crates/manyhands/", "xtask/src/tidy/", "crates/"];
const PAGE: &str = "ARCHITECTURE.md";
const PROMISES: &str = "docs/promises.md";
const ATTACKS: &str = "docs/attacks.md";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let page = |path: &'static str| (path, tree.text(path).unwrap_or_default());
    let (map, text) = page(PAGE);
    // The laboratory's, a paragraph of its own, are functions of what was recorded.
    let invariants = items(text).flat_map(|item| {
        let parts = item.text.split("*invariant").skip(1);
        let claims: Vec<Claim> = parts
            .map(|part| Claim::new(item.line_number, part))
            .collect();
        claims
    });
    let of_map = invariants.map(|claim| (map, claim));
    let tables = [PROMISES, ATTACKS].map(page).into_iter();
    let of_tables = tables.flat_map(|(path, text)| rows(text).map(move |claim| (path, claim)));
    let protocols = tree
        .files()
        .filter(|(path, _)| path.starts_with(LIBRARY) && path.ends_with(".md"));
    let of_protocols = protocols.flat_map(|(path, text)| {
        let numbered = items(text).filter(|item| NUMBERED.is_match(&item.text));
        numbered.map(move |claim| (path, claim))
    });
    let code = tree
        .library()
        .filter(|(path, _)| library_module(path) != Some("models"));
    let of_code = code.flat_map(|(path, source)| claims(source).map(move |claim| (path, claim)));
    let all = of_code.chain(of_map).chain(of_tables).chain(of_protocols);
    all.filter_map(|(path, claim)| judge(tree, path, &claim))
        .collect()
}

/// A comment that needs a holder, or names one.
struct Claim {
    line_number: usize,
    text: String,
}

impl Claim {
    /// Its text in lower case.
    fn new(line_number: usize, text: &str) -> Self {
        let text = text.to_lowercase();
        Self { line_number, text }
    }
}

/// Items that begin with a number in bold type, such as `- **W2**`.
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern(r"^- \*\*\w{0,2}\d\*\*"));

/// Texts of lines, with those that follow at once, but where one begins anew.
fn joined(lines: impl Iterator<Item = Claim>, begins: &str) -> impl Iterator<Item = Claim> {
    let mut lines = lines.peekable();
    std::iter::from_fn(move || {
        let mut block = lines.next()?;
        let mut last = block.line_number;
        let follows =
            |next: &Claim, last| next.line_number == last + 1 && !next.text.starts_with(begins);
        while let Some(next) = lines.next_if(|next| follows(next, last)) {
            block.text.push(' ');
            block.text.push_str(next.text.trim_start());
            last = next.line_number;
        }
        Some(block)
    })
}

/// The items of a page's lists that begin with bold type.
fn items(page: &str) -> impl Iterator<Item = Claim> {
    const BEGIN: &str = "- **";
    let lines = (1..).zip(page.lines());
    let lines = lines.filter(|(_, line)| line.starts_with(BEGIN) || line.starts_with("  "));
    let blocks = joined(lines.map(|(number, line)| Claim::new(number, line)), BEGIN);
    blocks.filter(|block| block.text.starts_with(BEGIN))
}

/// The numbered rows of a page's tables.
fn rows(page: &str) -> impl Iterator<Item = Claim> {
    let row = |(number, line): (usize, &str)| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let is_numbered = cells.starts_with(|c: char| c.is_ascii_digit());
        let (_, holders) = cells.rsplit_once(" | ").filter(|_| is_numbered)?;
        Some(Claim::new(number, &format!("held by {holders}")))
    };
    (1..).zip(page.lines()).filter_map(row)
}

/// Of the plain and documenting comments.
fn claims(source: &Source) -> impl Iterator<Item = Claim> {
    const SAFETY: &str = "safety:";
    let comments = source.shipped().filter_map(|line| {
        let text = line.comment.trim_start().trim_start_matches(['/', '!']);
        (!text.trim().is_empty()).then(|| Claim::new(line.number, text.trim()))
    });
    joined(comments, SAFETY).filter(|block| {
        let has = |words: &str| words.split('|').any(|word| block.text.contains(word));
        let is_safety = block.text.starts_with(SAFETY);
        has(GLOBAL_ANYWHERE) || has(MARK) || (is_safety && has(GLOBAL))
    })
}

fn judge(tree: &Tree, path: &str, claim: &Claim) -> Option<Finding> {
    let complain = |message: String| Some(Finding::on_line(path, claim.line_number, message));
    if claim.text.contains(BY_TYPES) {
        return None;
    }
    let Some((_, rest)) = claim.text.split_once(MARK) else {
        return complain(
            "a claim about the whole: say which test, model or rule it is held by".to_owned(),
        );
    };
    let sentence = rest.split(". ").next().unwrap_or(rest);
    let mut named = sentence.split('`').step_by(2);
    named.find_map(|name| {
        if !is_there(tree, name) {
            complain(format!("`{name}`, which is to hold this, is not there"))
        } else if is_vague(name) {
            complain(format!("`{name}` is to hold this: name the test in it"))
        } else {
            None
        }
    })
}

/// Whether it is a file with more than one property.
fn is_vague(name: &str) -> bool {
    !name.contains("::") && !name.starts_with("models/") && name.contains('/')
}

/// Whether there is such a file, with such a function in it.
fn is_there(tree: &Tree, name: &str) -> bool {
    let (file, function) = match name.split_once("::") {
        Some((file, function)) => (file, Some(function)),
        None => (name, None),
    };
    let path_of = |root: &&str| format!("{root}{file}");
    let text = ROOTS.iter().map(path_of).find_map(|path| tree.text(&path));
    text.is_some_and(|text| {
        function.is_none_or(|function| text.contains(&format!("fn {function}(")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: (&str, &str) = (
        "crates/manyhands/tests/it/map.rs",
        "fn nothing_is_lost() {}",
    );

    fn count(text: &str) -> usize {
        let path = format!("{LIBRARY}parallel/map.rs");
        let model = format!("{LIBRARY}models/map.rs");
        let files = [
            (path.as_str(), text),
            TEST,
            (model.as_str(), "fn a_model() {}"),
        ];
        check(&Tree::of(&files)).len()
    }

    #[test]
    fn a_claim_without_a_holder_is_found() {
        for text in [
            "// SAFETY: every position was consumed.\nunsafe { f() }",
            "// SAFETY: made from a seat, which is\n// never freed.\nunsafe { f() }",
            "// SAFETY: see `task_registry.rs`.\nunsafe { f() }",
            "// A worker never panics: hooks are caught.\nlet _ = thread.join();",
            "//! The monitor runs no user code.",
        ] {
            assert_eq!(count(text), 1, "{text}");
        }
    }

    #[test]
    fn a_holder_that_is_not_there_is_found() {
        for held in [
            "`tests/it/gone.rs`",
            "`tests/it/map.rs::something_else`",
            "`tests/it/map.rs`",
            "`tests/it/map.rs::nothing_is_lost` and `tests/it/map.rs`",
            "the types",
            "nobody",
        ] {
            let text = format!("// SAFETY: slots are never freed. Held by {held}.");
            assert_eq!(count(&text), 1, "{text}");
        }
    }

    #[test]
    fn a_claim_with_a_holder_and_a_local_one_pass() {
        for text in [
            "// SAFETY: slots are never freed. Held by `tests/it/map.rs::nothing_is_lost`.\nunsafe { f() }",
            "// SAFETY: every position was consumed. Held by `models/map.rs` and\n// `tests/it/map.rs::nothing_is_lost`.",
            "// SAFETY: every position is in range. Held by the types: it has no others.",
            "// SAFETY: nobody else touches it now.",
            "// Every position is run; it never blocks.",
        ] {
            assert_eq!(count(text), 0, "{text}");
        }
    }

    #[test]
    fn invariants_and_promises_of_pages_name_their_holders() {
        let protocol = format!("{LIBRARY}parallel/README.md");
        let held = "held by `tests/it/map.rs::nothing_is_lost`";
        let invariant = format!("- **`a`** is. *Invariant:* all is well ({held}).");
        let lines = invariant.replace(" (held by ", "\n  (held by\n  ");
        let row = |holders: &str| format!("| 1 | `map` loses nothing | {holders} |");
        let test = "`tests/it/map.rs::nothing_is_lost`";
        for (page, text, found) in [
            (PAGE, "- **`a`** is. *Invariant:* all is well.", 1),
            (PAGE, &invariant, 0),
            (PAGE, &format!("{invariant} *Invariant:* and this."), 1),
            // The lines of an item belong together.
            (PAGE, &lines, 0),
            (PAGE, "- **`a`** is.\n  *Invariant:* all is well.", 1),
            (PAGE, "- **`a`** is.\n\n  *Invariant:* not of a list.", 0),
            (&protocol, "- **L1** Nothing is lost.", 1),
            (&protocol, &format!("- **L1** Nothing is\n  ({held})."), 0),
            (&protocol, "- **Nothing** is lost.", 0),
            (PROMISES, &row(test), 0),
            (PROMISES, &row("nobody"), 1),
            (PROMISES, &row("`tests/it/map.rs`"), 1),
            (PROMISES, &row(&format!("{test}, `tests/it/map.rs::x`")), 1),
            (PROMISES, "| | promise | held by |\n|--:|---|---|", 0),
            (ATTACKS, &row(&test.replace("`t", "`manyhands/t")), 0),
            (ATTACKS, &row("`manyhands/tests/it/map.rs::x`"), 1),
        ] {
            let count = check(&Tree::of(&[(page, text), TEST])).len();
            assert_eq!(count, found, "{page}: {text}");
        }
    }
}
