//! What users of the library can name has an example, or says where one shows it.
//!
//! An example is a block of code that runs in the tests. The words `Example: see` and a link lead to one of another item;
//! rustdoc refuses links that lead nowhere.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use public_api::PublicApi;
use serde_json::Value;

const POINTER: &str = "Example: see [";
/// What needs one.
const KINDS: [&str; 5] = ["function", "struct", "enum", "trait", "type_alias"];
/// How the tags of blocks begin that do not run.
const NOT_RUN: [&str; 5] = ["text", "toml", "console", "ignore", "compile_fail"];

/// Looks at the items of the surface in what rustdoc wrote of them.
pub(super) fn check(api: &PublicApi, rustdoc: &Value) -> Result<()> {
    let items = api.items().map(|item| {
        let parent = item.parent_id().map(|id| id.0.to_string());
        (item.id().0.to_string(), parent)
    });
    // An item with several paths is there several times.
    let items: BTreeMap<String, Option<String>> = items.collect();
    let complaints = items
        .iter()
        .filter_map(|(id, parent)| complaint(&rustdoc["index"], id, parent.as_deref()));
    let complaints: Vec<String> = complaints.collect();
    ensure!(complaints.is_empty(), complaints.join("\n"));
    Ok(())
}

/// About an item by its key and that of its parent.
fn complaint(index: &Value, id: &str, parent: Option<&str>) -> Option<String> {
    let item = &index[id];
    let kind = item["inner"].as_object()?.keys().next()?.as_str();
    let parent = parent.map_or(&Value::Null, |parent| &index[parent]);
    // The trait has the example of what implements it.
    let is_of_trait = !parent["inner"]["impl"]["trait"].is_null();
    let docs = item["docs"].as_str().unwrap_or_default();
    if !KINDS.contains(&kind) || is_of_trait || has_example(docs) {
        return None;
    }
    let (span, name) = (&item["span"], item["name"].as_str()?);
    let (file, line) = (span["filename"].as_str()?, &span["begin"][0]);
    Some(format!(
        "{file}:{line}: `{name}` has no example, nor \"{POINTER}`X`]\""
    ))
}

/// Whether a block runs, or a link leads to one.
fn has_example(docs: &str) -> bool {
    let is_run = |tag: &str| !NOT_RUN.iter().any(|start| tag.trim().starts_with(start));
    let fences = docs
        .lines()
        .filter_map(|line| line.trim().strip_prefix("```"));
    let mut begins = fences.step_by(2);
    let words: Vec<&str> = docs.split_whitespace().collect();
    begins.any(|tags| tags.split(',').all(is_run)) || words.join(" ").contains(POINTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn is_found(parent: &str, docs: &str) -> bool {
        let span = json!({"filename": "lib.rs", "begin": [5, 1]});
        let index = json!({
            "2": {"inner": {"impl": {"trait": null}}},
            "3": {"inner": {"impl": {"trait": {"path": "Clone"}}}},
            "4": {"name": "len", "docs": docs, "inner": {"function": {}}, "span": span},
        });
        let found = complaint(&index, "4", Some(parent));
        let is_it = |text: &String| text.starts_with("lib.rs:5: `len` has no example");
        assert!(found.iter().all(is_it), "{found:?}");
        found.is_some()
    }

    #[test]
    fn an_item_without_an_example_is_found_unless_it_is_of_a_trait() {
        assert!(is_found("2", "Length."));
        assert!(!is_found("3", "Length."));
    }

    #[test]
    fn a_block_that_does_not_run_is_no_example() {
        for (tag, found) in [
            ("text", true),
            ("ignore", true),
            ("compile_fail,E0277", true),
            ("rust,ignore", true),
            ("", false),
            ("rust", false),
            ("should_panic", false),
            ("no_run", false),
        ] {
            let docs = format!("```{tag}\ng();\n```");
            assert_eq!(is_found("2", &docs), found, "{tag}");
        }
        assert!(!is_found("2", "```text\na\n```\n\n```\ng();\n```"));
    }

    #[test]
    fn a_link_to_an_example_is_enough() {
        assert!(!is_found("2", "Makes.\n\nExample:\nsee [`A`]."));
    }
}
