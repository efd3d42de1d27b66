//! Rule: what users of the library can name has an example, or says where one shows it.
//!
//! An example is a block of code that runs in the tests. The words `Example: see` and a link lead to another item's, which
//! must have one of its own; if a function says so, that example must call it. A type may be one that nobody writes
//! down, such as the future a function returns, so its example need not name it.

use super::finding::Finding;
use super::public_items::{Item, Kind, public_items};
use super::source::find_word;
use super::tree::Tree;

const POINTER: &str = "Example: see [";

/// How the tags of other blocks begin.
const NOT_RUN: &[&str] = &["text", "toml", "console", "ignore", "compile_fail"];

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let items = public_items(tree);
    let held = items.iter().filter(|item| item.kind != Kind::Module);
    let findings = held.filter_map(|item| {
        let complaint = complaint(item, &items)?;
        let message = format!("`{}` {complaint}", item.whole_name());
        Some(Finding::on_line(&item.path, item.line_number, message))
    });
    findings.collect()
}

fn complaint(item: &Item, items: &[Item]) -> Option<String> {
    if !example(&item.docs).is_empty() {
        return None;
    }
    let Some(target) = target(&item.docs) else {
        return Some("has no example, nor \"Example: see [`X`]\"".to_owned());
    };
    let Some(shown_at) = resolve(&target, item, items) else {
        return Some(format!("is to be shown at `{target}`, which is not there"));
    };
    let example = example(&shown_at.docs);
    if example.is_empty() {
        return Some(format!(
            "is to be shown at `{target}`, which has no example"
        ));
    }
    let is_shown = item.kind == Kind::Type || calls(&example, item);
    (!is_shown).then(|| format!("is not called by the example of `{target}`"))
}

/// The code of the blocks that run.
fn example(docs: &str) -> String {
    let mut code = String::new();
    let mut is_inside = None;
    for line in docs.lines() {
        match (line.trim().strip_prefix("```"), is_inside) {
            (Some(tags), None) => is_inside = Some(runs(tags)),
            (Some(_), Some(_)) => is_inside = None,
            (None, Some(true)) => {
                code.push_str(line);
                code.push('\n');
            }
            (None, _) => {}
        }
    }
    code
}

fn runs(tags: &str) -> bool {
    let mut tags = tags.split(',').map(str::trim);
    tags.all(|tag| !NOT_RUN.iter().any(|start| tag.starts_with(start)))
}

/// Where a link after the words leads: the path in parentheses, else the text.
fn target(docs: &str) -> Option<String> {
    let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = docs.split_once(POINTER)?;
    let (text, rest) = rest.split_once(']')?;
    let path = rest
        .strip_prefix('(')
        .and_then(|rest| rest.split(')').next());
    let path = path.unwrap_or(text).trim_matches('`');
    let path = path.strip_prefix("mod@").unwrap_or(path);
    Some(path.trim_end_matches(['(', ')']).to_owned())
}

/// The item that a link means; of several with its name the nearest to the link, and in one file one with an example.
fn resolve<'items>(target: &str, from: &Item, items: &'items [Item]) -> Option<&'items Item> {
    if target == "self" {
        let is_it = |item: &&Item| item.kind == Kind::Module && item.path == from.path;
        return items.iter().find(is_it);
    }
    let own_type = from.owner.as_deref().unwrap_or(&from.name);
    let (before, name) = target.rsplit_once("::").unwrap_or(("", target));
    let is_type = |part: &&str| part.starts_with(char::is_uppercase);
    let owner = before.rsplit("::").next().filter(is_type);
    let owner = owner.map(|owner| if owner == "Self" { own_type } else { owner });
    let name = if name == "Self" { own_type } else { name };
    let named = items
        .iter()
        .filter(|item| item.name == name && item.owner.as_deref() == owner);
    named.max_by_key(|item| {
        let has_example = !example(&item.docs).is_empty();
        (nearness(&item.path, &from.path), has_example)
    })
}

/// How much of two paths is the same.
fn nearness(path: &str, other: &str) -> usize {
    path.bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}

/// Whether the code has `.name` or `Type::name` for a function of a type, or `fn name` for one that it implements.
fn calls(code: &str, item: &Item) -> bool {
    find_word(code, &item.name).any(|at| {
        let before = &code[..at];
        match &item.owner {
            Some(owner) => {
                let qualified = format!("{owner}::");
                before.ends_with('.') || before.ends_with(&qualified) || before.ends_with("fn ")
            }
            None => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a file with this text.
    fn complaints(text: &str) -> Vec<String> {
        let findings = check(&Tree::of_library_file("lib.rs", text));
        findings.iter().map(ToString::to_string).collect()
    }

    const SHOWN: &str =
        "/// ```\n/// let a = A::new();\n/// assert_eq!(a.len(), 0);\n/// ```\npub struct A;\n";

    #[test]
    fn an_item_with_neither_is_found() {
        let found =
            complaints("/// A.\npub struct A;\nimpl A {\n    /// Length.\n    pub fn len() {}\n}");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[1].starts_with("crates/manyhands/src/lib.rs:5: `A::len` has no"),
            "{found:?}"
        );
    }

    #[test]
    fn a_block_that_does_not_run_is_no_example() {
        for tag in ["text", "ignore", "compile_fail,E0277", "rust,ignore"] {
            assert_eq!(
                complaints(&format!("/// ```{tag}\n/// f();\n/// ```\npub fn f() {{}}")).len(),
                1,
                "{tag}"
            );
        }
        for tag in ["", "rust", "should_panic", "no_run"] {
            assert!(
                complaints(&format!("/// ```{tag}\n/// f();\n/// ```\npub fn f() {{}}")).is_empty(),
                "{tag}"
            );
        }
    }

    #[test]
    fn a_pointer_to_an_example_that_calls_it_passes() {
        for pointer in ["[`A`]", "[`A`](crate::A)", "[its type](Self)", "[`A`](A)"] {
            let text = format!(
                "{SHOWN}impl A {{\n    /// Length.\n    ///\n    /// Example: see {pointer}.\n    pub fn len() {{}}\n    /// Example:\n    /// see [`Self`].\n    pub fn new() {{}}\n}}"
            );
            assert_eq!(complaints(&text), [""; 0], "{pointer}");
        }
    }

    #[test]
    fn a_pointer_to_nothing_or_to_an_example_of_something_else_is_found() {
        for (pointer, complaint) in [
            ("[`B`]", "not there"),
            ("[`A::len`]", "not there"),
            ("[`Self::short`]", "no example"),
            ("[`A`]", "not called"),
        ] {
            let text = format!(
                "{SHOWN}impl A {{\n    /// Example: see {pointer}.\n    pub fn width() {{}}\n    /// Example: see [`A`].\n    fn len() {{}}\n}}\n"
            );
            let text = format!("{text}impl A {{\n    /// Short.\n    pub fn short() {{}}\n}}");
            let found = complaints(&text);
            assert!(
                found[0].contains("`A::width`") && found[0].contains(complaint),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_function_of_the_same_name_does_not_show_a_method() {
        let text = "/// ```\n/// f();\n/// ```\npub fn f() {}\n/// Example: see [`f`].\npub struct A;\nimpl A {\n    /// Example: see [`f()`].\n    pub fn f() {}\n}";
        assert_eq!(complaints(text).len(), 1);
    }

    #[test]
    fn the_example_of_the_module_shows_its_items() {
        let text =
            "//! ```\n//! f();\n//! ```\n/// Example: see [the module](self).\npub fn f() {}";
        assert!(complaints(text).is_empty());
    }
}
