//! How large a look at a million tasks may be, and how long it may take.

use anyhow::{Result, ensure};
use serde_json::Value;

/// Fails if something about a million tasks is more than it may be, or was not measured.
pub(super) fn at_most(most: u64, what: &str, measured: &Value) -> Result<()> {
    println!("1,000,000 waiting tasks: {what} {measured}, at most {most}");
    let is_little = measured.as_u64().is_some_and(|measured| measured <= most);
    ensure!(is_little, "{what} {measured}, at most {most}");
    Ok(())
}

/// Fails if the first look at a million tasks, as text, does not count those that are not in its table, which has 1,000.
pub(super) fn text_is_whole(text: &str) -> Result<()> {
    let others = |line: &str| {
        let others = line.strip_prefix("and ")?.strip_suffix(" more tasks")?;
        others.parse::<u64>().ok()
    };
    let others = text.lines().find_map(others);
    let is_whole = others.is_some_and(|others| others >= 999_000);
    ensure!(
        is_whole,
        "a text about a million tasks has {others:?} others"
    );
    Ok(())
}

pub(super) const BYTES_MAX: u64 = 1_000_000;
/// Of all that is waited for.
pub(super) const MILLIS_MAX: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::{at_most, text_is_whole};
    use serde_json::json;

    #[test]
    fn what_is_more_than_it_may_be_or_was_not_measured_fails() {
        let is_little = |measured| at_most(1_000, "millis", &measured).is_ok();
        let found = [json!(1_000), json!(1_001), json!(null), json!("1")].map(is_little);
        assert_eq!(found, [true, false, false, false]);
    }

    #[test]
    fn a_text_that_lacks_the_million_fails() {
        assert!(text_is_whole("a table\nand 999000 more tasks\n").is_ok());
        for text in ["and 998999 more tasks", "999000 more tasks", ""] {
            assert!(text_is_whole(text).is_err(), "{text}");
        }
    }
}
