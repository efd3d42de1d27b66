//! What the page must show in time, and what it must never do.
//!
//! Not here: the order in which scenes are looked at (`mod.rs`).

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::browser::Browser;

/// How many milliseconds after it was opened a page had its first row of tasks drawn. It was opened after [`NOTE_FIRST_ROW`]
/// was run.
pub(super) fn first_row(browser: &mut Browser) -> Result<u64> {
    browser.wait_until("window.firstRow !== undefined")?;
    let millis = browser.value("window.firstRow")?;
    millis
        .as_u64()
        .with_context(|| format!("the first row was there after {millis} ms"))
}

/// Fails if a million tasks had their first row later than they may, each time that a page was opened.
pub(super) fn first_row_is_soon(millis: &[u64]) -> Result<()> {
    ensure!(
        millis.iter().any(|&millis| millis <= FIRST_ROW_MILLIS_MAX),
        "a million tasks have their first row after {millis:?} ms, at most {FIRST_ROW_MILLIS_MAX}"
    );
    Ok(())
}

/// Fails if a look at a million tasks has more bytes, or takes longer, than it may. `seen` is what [`FETCH_VIEW`] has measured.
pub(super) fn look_is_small_and_fast(seen: &Value) -> Result<()> {
    for (what, most) in [("bytes", VIEW_BYTES_MAX), ("millis", VIEW_MILLIS_MAX)] {
        let measured = &seen[what];
        ensure!(
            measured.as_u64().is_some_and(|measured| measured <= most),
            "a look at a million tasks has {measured} {what}, at most {most}"
        );
    }
    Ok(())
}

/// Fails if the first look at a million tasks does not count them, or took longer than it may.
pub(super) fn text_is_whole_and_fast(text: &str, millis: u128) -> Result<()> {
    let line = |line: &str| -> Option<u64> {
        let others = line.strip_prefix("and ")?.strip_suffix(" more tasks")?;
        others.parse().ok()
    };
    let others = text.lines().find_map(line);
    ensure!(
        others.is_some_and(|others| others >= OTHERS_MIN),
        "a text about a million tasks has {others:?} others than those in its table"
    );
    ensure!(
        millis <= u128::from(VIEW_MILLIS_MAX),
        "a first look at a million tasks took {millis} ms, at most {VIEW_MILLIS_MAX}"
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
const VIEW_BYTES_MAX: u64 = 1_000_000;
/// A table has 1,000 tasks.
const OTHERS_MIN: u64 = 999_000;
const VIEW_MILLIS_MAX: u64 = 1_000;
const FIRST_ROW_MILLIS_MAX: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::{first_row_is_soon, look_is_small_and_fast, text_is_whole_and_fast};
    use serde_json::json;

    #[test]
    fn a_first_row_that_is_late_each_time_fails() {
        for (millis, passes) in [
            (&[1_000][..], true),
            (&[2_000, 1_001, 400], true),
            (&[2_000, 1_001], false),
            (&[], false),
        ] {
            assert_eq!(first_row_is_soon(millis).is_ok(), passes, "{millis:?}");
        }
    }

    #[test]
    fn a_look_that_is_large_slow_or_was_not_measured_fails() {
        for (bytes, millis, passes) in [
            (json!(1_000_000), json!(1_000), true),
            (json!(1_000_001), json!(1), false),
            (json!(1), json!(1_001), false),
            (json!(1), json!(null), false),
        ] {
            let seen = json!({"bytes": bytes, "millis": millis});
            assert_eq!(look_is_small_and_fast(&seen).is_ok(), passes, "{seen}");
        }
    }

    #[test]
    fn a_text_that_lacks_the_million_or_is_late_fails() {
        let whole = "a table\nand 999000 more tasks\n";
        let few = "and 998999 more tasks";
        for (text, millis, passes) in [
            (whole, 1_000, true),
            (whole, 1_001, false),
            (few, 1, false),
            ("", 1, false),
        ] {
            assert_eq!(text_is_whole_and_fast(text, millis).is_ok(), passes);
        }
    }
}
