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

use super::finding::Finding;
use super::source::{Line, Source};
use super::tree::{LIBRARY, Tree, library_module};

/// What makes a safety comment one about the whole.
const GLOBAL: &[&str] = &[
    "never freed",
    "every position",
    "every item has been",
    "every occupant",
    "every node in",
    "only the occupant",
    "only the engine",
    "outlives every",
    "does not end during",
    "exactly once",
    ".rs`",
];
/// What does in any comment.
const GLOBAL_ANYWHERE: &[&str] = &[
    "never panics",
    "does not panic",
    "runs no user code",
    "no user code",
];

const MARK: &str = "held by `";
/// Followed by how.
const BY_TYPES: &str = "held by the types: ";
/// Where a path may begin.
const ROOTS: &[&str] = &[LIBRARY, "crates/manyhands/", "xtask/src/tidy/", "crates/"];
const PAGE: &str = "ARCHITECTURE.md";
const PROMISES: &str = "docs/promises.md";
const ATTACKS: &str = "docs/attacks.md";

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.library() {
        if library_module(path) != Some("models") {
            for claim in claims(source) {
                findings.extend(judge(tree, path, &claim));
            }
        }
    }
    for item in items(tree.text(PAGE).unwrap_or("")) {
        // The laboratory's, a paragraph of its own, are functions of what was recorded.
        for part in item.text.split("*invariant").skip(1) {
            let claim = Claim {
                line_number: item.line_number,
                text: part.to_owned(),
            };
            findings.extend(judge(tree, PAGE, &claim));
        }
    }
    for page in [PROMISES, ATTACKS] {
        let rows = rows(tree.text(page).unwrap_or(""));
        findings.extend(rows.filter_map(|claim| judge(tree, page, &claim)));
    }
    let is_protocol = |path: &str| path.starts_with(LIBRARY) && path.ends_with(".md");
    for (path, text) in tree.files().filter(|(path, _)| is_protocol(path)) {
        let numbered = items(text).into_iter().filter(Claim::is_numbered);
        findings.extend(numbered.filter_map(|claim| judge(tree, path, &claim)));
    }
    findings
}

/// A comment that needs a holder, or names one.
struct Claim {
    line_number: usize,
    text: String,
}

impl Claim {
    /// Whether it begins with a number in bold type, such as `- **W2**`.
    fn is_numbered(&self) -> bool {
        let head = self.text.strip_prefix("- **");
        let head = head.and_then(|rest| rest.split_once("**"));
        head.is_some_and(|(head, _)| {
            head.len() <= 3 && head.ends_with(|c: char| c.is_ascii_digit())
        })
    }
}

/// The items of a page's lists that begin with bold type, in lower case and with the lines that belong to them.
fn items(page: &str) -> Vec<Claim> {
    let mut items: Vec<Claim> = Vec::new();
    let mut is_inside = false;
    for (idx, line) in page.lines().enumerate() {
        if line.starts_with("- **") {
            items.push(Claim {
                line_number: idx + 1,
                text: line.to_lowercase(),
            });
            is_inside = true;
        } else if let Some(more) = line.strip_prefix("  ")
            && is_inside
            && let Some(item) = items.last_mut()
        {
            item.text.push(' ');
            item.text.push_str(&more.to_lowercase());
        } else {
            is_inside = false;
        }
    }
    items
}

/// The numbered rows of a page's tables.
fn rows(page: &str) -> impl Iterator<Item = Claim> {
    let row = |(idx, line): (usize, &str)| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let is_numbered = cells.starts_with(|c: char| c.is_ascii_digit());
        let (_, holders) = cells.rsplit_once(" | ").filter(|_| is_numbered)?;
        Some(Claim {
            line_number: idx + 1,
            text: format!("held by {}", holders.to_lowercase()),
        })
    };
    page.lines().enumerate().filter_map(row)
}

fn claims(source: &Source) -> Vec<Claim> {
    let mut blocks: Vec<Claim> = Vec::new();
    let mut last_line = None;
    for line in source.shipped() {
        let text = comment(line);
        if text.is_empty() {
            continue;
        }
        let continues = last_line == Some(line.number - 1) && !text.starts_with("safety:");
        match blocks.last_mut() {
            Some(block) if continues => {
                block.text.push(' ');
                block.text.push_str(&text);
            }
            _ => blocks.push(Claim {
                line_number: line.number,
                text,
            }),
        }
        last_line = Some(line.number);
    }
    blocks.retain(|block| {
        let is_safety = block.text.starts_with("safety:");
        let has = |words: &[&str]| words.iter().any(|word| block.text.contains(word));
        has(GLOBAL_ANYWHERE) || has(&[MARK]) || (is_safety && has(GLOBAL))
    });
    blocks
}

/// The text of a plain or documenting comment, in lower case.
fn comment(line: &Line) -> String {
    let text = line.comment.trim_start();
    let text = text.trim_start_matches(['/', '!']).trim();
    text.to_lowercase()
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
