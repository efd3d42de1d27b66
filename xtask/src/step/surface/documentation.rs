//! What users of the library can name has an example, or says where one shows it.
//!
//! An example is a block of code that runs in the tests. The words `Example: see` and a link lead to another item's, which
//! must have one of its own; if a function says so, that example must call it. A type may be one that nobody writes
//! down, such as the future a function returns, so its example need not name it.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use public_api::PublicApi;
use regex::Regex;
use serde_json::Value;

const POINTER: &str = "Example: see [";
/// How the tags of blocks begin that do not run.
const NOT_RUN: &[&str] = &["text", "toml", "console", "ignore", "compile_fail"];

/// Looks at the items of the surface in what rustdoc wrote of them.
pub(super) fn check(api: &PublicApi, rustdoc: &Value) -> Result<()> {
    let items = api.items().map(|item| {
        let parent = item.parent_id().map(|id| id.0.to_string());
        (item.id().0.to_string(), parent)
    });
    let complaints = complaints(items, &rustdoc["index"]);
    ensure!(complaints.is_empty(), complaints.join("\n"));
    Ok(())
}

/// Of items with their parents, by their keys in the index.
fn complaints(items: impl Iterator<Item = (String, Option<String>)>, index: &Value) -> Vec<String> {
    // An item with several paths is there several times.
    let items: BTreeMap<String, Option<String>> = items.collect();
    let items = items
        .iter()
        .filter_map(|(id, parent)| Item::of(index, id, parent.as_deref()));
    let of_item = |item: Item<'_>| {
        let complaint = item.lacks_example(index)?;
        Some(format!("{} {complaint}", item.place()))
    };
    items.filter_map(of_item).collect()
}

struct Item<'index> {
    entry: &'index Value,
    name: &'index str,
    /// The type or trait that a function belongs to.
    owner: Option<&'index str>,
    is_function: bool,
    docs: &'index str,
}

impl<'index> Item<'index> {
    /// A type, a trait, or a function that is not of a trait's implementation.
    fn of(index: &'index Value, id: &str, parent: Option<&str>) -> Option<Self> {
        let entry = &index[id];
        let kind = entry["inner"].as_object()?.keys().next()?.as_str();
        let parent = parent.map_or(&Value::Null, |parent| &index[parent]);
        let implementation = &parent["inner"]["impl"];
        if !["function", "struct", "enum", "trait", "type_alias"].contains(&kind)
            || !implementation["trait"].is_null()
        {
            return None;
        }
        let owner = match parent["inner"]["trait"].is_null() {
            true => implementation["for"]["resolved_path"]["path"].as_str(),
            false => parent["name"].as_str(),
        };
        Some(Self {
            entry,
            name: entry["name"].as_str()?,
            owner: owner.and_then(|path| path.rsplit("::").next()),
            is_function: kind == "function",
            docs: entry["docs"].as_str().unwrap_or_default(),
        })
    }

    fn place(&self) -> String {
        let span = &self.entry["span"];
        let (file, line) = (span["filename"].as_str(), &span["begin"][0]);
        let names: Vec<&str> = self.owner.into_iter().chain([self.name]).collect();
        format!(
            "{}:{line}: `{}`",
            file.unwrap_or_default(),
            names.join("::")
        )
    }

    fn lacks_example(&self, index: &Value) -> Option<String> {
        if !example(self.docs).is_empty() {
            return None;
        }
        let Some(target) = target(self.docs) else {
            return Some("has no example, nor \"Example: see [`X`]\"".to_owned());
        };
        let id = self.entry["links"][&target].to_string();
        let example = example(index[id]["docs"].as_str().unwrap_or_default());
        if example.is_empty() {
            return Some(format!(
                "is to be shown at `{target}`, which has no example"
            ));
        }
        let is_shown = !self.is_function || self.is_called_in(&example);
        (!is_shown).then(|| format!("is not called by the example of `{target}`"))
    }

    /// Whether the code has `.name` or `Type::name` for a function of a type, or `fn name` for one that it implements.
    fn is_called_in(&self, code: &str) -> bool {
        let name = self.name;
        let call = match self.owner {
            Some(owner) => format!(r"(\.|\b{owner}::|\bfn ){name}\b"),
            None => format!(r"\b{name}\b"),
        };
        Regex::new(&call).is_ok_and(|call| call.is_match(code))
    }
}

/// The code of the blocks that run.
fn example(docs: &str) -> String {
    let is_run = |tag: &str| !NOT_RUN.iter().any(|start| tag.trim().starts_with(start));
    let mut code = String::new();
    let mut is_inside = None;
    for line in docs.lines() {
        match (line.trim().strip_prefix("```"), is_inside) {
            (Some(tags), None) => is_inside = Some(tags.split(',').all(is_run)),
            (Some(_), Some(_)) => is_inside = None,
            (None, Some(true)) => code = code + line + "\n",
            (None, _) => {}
        }
    }
    code
}

/// What a link after the words is called: the path in parentheses, else the text.
fn target(docs: &str) -> Option<String> {
    let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rest) = docs.split_once(POINTER)?;
    let (text, rest) = rest.split_once(']')?;
    // The path of a function ends in parentheses of its own.
    let path = Regex::new(r"^\(([\w:`@]+(\(\))?)\)").ok()?;
    let path = path.captures(rest).map_or(text, |found| {
        found.get(1).map_or(text, |path| path.as_str())
    });
    Some(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The complaints about a type with an example and this method or function.
    fn complaints_about(owner: Option<&str>, name: &str, docs: &str) -> Vec<String> {
        let span = json!({"filename": "lib.rs", "begin": [5, 1]});
        let shown = "```\nlet a = A::new();\na.join();\nf();\n```";
        let index = json!({
            "1": {"name": "A", "docs": shown, "inner": {"struct": {}}, "span": span},
            "2": {"inner": {"impl": {"trait": null, "for": {"resolved_path": {"path": "x::A"}}}}},
            "3": {"inner": {"impl": {"trait": {"path": "Clone"}}}},
            "4": {"name": name, "docs": docs, "inner": {"function": {}}, "span": span,
                  "links": {"`A`": 1, "Self": 1, "crate::A": 1, "crate::f()": 1, "`B`": 2}},
        });
        let parent = owner.map(str::to_owned);
        let items = [("1".to_owned(), None), ("4".to_owned(), parent)];
        complaints(items.into_iter(), &index)
    }

    #[test]
    fn an_item_with_neither_is_found() {
        let found = complaints_about(Some("2"), "len", "Length.");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("lib.rs:5: `A::len` has no example"),
            "{found:?}"
        );
        assert!(
            complaints_about(Some("3"), "clone", "").is_empty(),
            "of a trait"
        );
    }

    #[test]
    fn a_block_that_does_not_run_is_no_example() {
        for (tag, found) in [
            ("text", 1),
            ("ignore", 1),
            ("compile_fail,E0277", 1),
            ("rust,ignore", 1),
            ("", 0),
            ("rust", 0),
            ("should_panic", 0),
            ("no_run", 0),
        ] {
            let docs = format!("```{tag}\ng();\n```");
            assert_eq!(complaints_about(None, "g", &docs).len(), found, "{tag}");
        }
    }

    #[test]
    fn a_pointer_leads_to_an_example_that_calls_the_item() {
        for (owner, name, pointer, complaint) in [
            (Some("2"), "new", "[`A`]", ""),
            (Some("2"), "join", "[it](crate::A). More (or less).", ""),
            (Some("2"), "new", "[its type](Self)", ""),
            (None, "f", "[f](crate::f())", ""),
            (Some("2"), "f", "[`A`]", "not called"),
            (Some("2"), "width", "[`A`]", "not called"),
            (Some("2"), "new", "[`B`]", "no example"),
            (Some("2"), "new", "[`C`]", "no example"),
        ] {
            let docs = format!("Makes.\n\nExample:\nsee {pointer}.");
            let found = complaints_about(owner, name, &docs).join("\n");
            assert_eq!(found.is_empty(), complaint.is_empty(), "{pointer}: {found}");
            assert!(found.contains(complaint), "{pointer}: {found}");
        }
    }
}
