//! What the page must show in time, and what it must never do.
//!
//! Not here: the order in which scenes are looked at (`mod.rs`).

use anyhow::{Result, ensure};
use serde_json::Value;

use super::browser::Browser;

/// How many milliseconds after it was opened a page had its first row of tasks drawn. It was opened after [`NOTE_FIRST_ROW`]
/// was run.
pub(super) fn first_row(browser: &mut Browser) -> Result<Value> {
    browser.wait_until("window.firstRow !== undefined")?;
    browser.value("window.firstRow")
}

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

/// A task has a name with elements, control characters and a mark of text direction: it is there as text, escaped by the
/// program, and nothing in it is obeyed.
pub(super) fn hostile_name_is_text(browser: &mut Browser, panel: &str) -> Result<()> {
    let parts = "['<script>window.obeyed', '<img src=x onerror=', '\\\\u{1b}[2J', '\\\\u{202e}']";
    // The title of a cell, or the label of a node, is never cut.
    let texts = format!(
        "[...document.querySelectorAll('{panel} td, {panel} .node')].map((one) => one.getAttribute('title') ?? one.getAttribute('aria-label') ?? '')"
    );
    browser.wait_until(&format!(
        "{texts}.some((text) => {parts}.every((part) => text.includes(part)))"
    ))?;
    browser.wait_at_most("window.obeyed === undefined", 0)?;
    browser.wait_at_most("document.querySelectorAll('body script, body img, body [onerror], body [onload]').length === 0", 0)?;
    browser.wait_at_most(
        "!/[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)",
        0,
    )
}

/// Notes in a page how many milliseconds after it was opened the first row of tasks was drawn.
pub(super) const NOTE_FIRST_ROW: &str = "new MutationObserver((_, observer) => {
    if (document.querySelector('#panel-tasks tbody tr') === null) return;
    observer.disconnect();
    // The frame with the row has been drawn when this comes after it.
    const note = () => { window.firstRow = Math.round(performance.now()); };
    requestAnimationFrame(() => setTimeout(note));
}).observe(document, { childList: true, subtree: true })";
/// How large a look is, and how long it takes to get one.
pub(super) const FETCH_VIEW: &str = "(async () => {
    const begin = performance.now();
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('token')}` };
    const text = await (await fetch('view', { headers })).text();
    return { bytes: new Blob([text]).size, millis: Math.round(performance.now() - begin) };
})()";
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
