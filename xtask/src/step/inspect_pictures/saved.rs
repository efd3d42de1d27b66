//! What the page saves: the picture as SVG and PNG, a timeline, and a snapshot, with which the page is compared again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::browser::Browser;

/// Saves one of these, and looks at it.
pub(super) fn check(what: &str, browser: &mut Browser, downloads: &Path) -> Result<()> {
    match what {
        "pictures" => pictures(browser, downloads),
        "snapshot" => snapshot(browser, downloads),
        _ => timeline(browser, downloads),
    }
}

/// Saves the picture in both forms.
fn pictures(browser: &mut Browser, downloads: &Path) -> Result<()> {
    let svg = save(browser, downloads, "save-svg", "parallel-stacks.svg")?;
    let svg = String::from_utf8_lossy(&svg);
    // With its own colours and all text, and nothing of the page's.
    let parts = ["<svg", "<style>svg { color-scheme: dark", "Anna", ".graph"];
    if let Some(part) = parts.iter().find(|part| !svg.contains(**part)) {
        bail!("the saved SVG has no `{part}`");
    }
    let png = save(browser, downloads, "save-png", "parallel-stacks.png")?;
    // The width is behind the signature, a length and a name.
    let width = png.get(16..20).and_then(|bytes| bytes.try_into().ok());
    let width = width.map_or(0, u32::from_be_bytes);
    ensure!(
        png.starts_with(b"\x89PNG\r\n") && width >= PNG_WIDTH_MIN,
        "the saved PNG has a width of {width} pixels"
    );
    browser.wait_until("!document.querySelector('#status').classList.contains('lost')")
}

/// Saves a snapshot and compares with it.
fn snapshot(browser: &mut Browser, downloads: &Path) -> Result<()> {
    let lines = save(browser, downloads, "save-snapshot", SNAPSHOT)?;
    let lines = String::from_utf8_lossy(&lines);
    let read = lines.lines().map(serde_json::from_str::<serde_json::Value>);
    let lines: Vec<_> = read
        .collect::<Result<_, _>>()
        .context("the saved snapshot is not lines of JSON")?;
    let tasks = lines
        .iter()
        .filter(|line| line.get("task").is_some())
        .count();
    let end = lines.iter().find(|line| line["end"] == "snapshot");
    ensure!(
        tasks > 0 && end.is_some_and(|end| end["tasks"] == tasks),
        "the saved snapshot has {tasks} tasks and ends with {end:?}"
    );
    // Paused, so that the page says nothing else while it refuses a task that cannot be shown.
    let pause = "document.querySelector('#pause').click()";
    browser.value(pause)?;
    let wrong = downloads.join("wrong.ndjson");
    fs::write(&wrong, "{\"task\":{}}\n{\"end\":\"snapshot\"}\n")?;
    browser.choose_file("document.querySelector('#earlier')", &wrong)?;
    browser.wait_until("document.querySelector('#status').textContent.includes('wrong.ndjson:') && document.querySelector('#compare').ariaPressed === 'false'")?;
    browser.value(pause)?;
    browser.choose_file(
        "document.querySelector('#earlier')",
        &downloads.join(SNAPSHOT),
    )?;
    browser.wait_until(&format!(
        "document.querySelector('#status').textContent.includes('since {SNAPSHOT}: 0 new, 0 gone')"
    ))?;
    browser
        .wait_until("document.querySelector('#panel-tasks').textContent.includes('has not moved')")
}

/// Saves a timeline, which takes some seconds.
fn timeline(browser: &mut Browser, downloads: &Path) -> Result<()> {
    let trace = save(browser, downloads, "timeline", "timeline.json")?;
    let trace: serde_json::Value =
        serde_json::from_slice(&trace).context("the timeline is not JSON")?;
    let events = trace["traceEvents"].as_array().map_or(0, Vec::len);
    println!("a timeline of {events} events");
    ensure!(events > 0, "the timeline is empty");
    Ok(())
}

/// What the page saves when this button is pressed.
fn save(browser: &mut Browser, downloads: &Path, button: &str, name: &str) -> Result<Vec<u8>> {
    browser.save_into(downloads)?;
    let file: PathBuf = downloads.join(name);
    browser.value(&format!("document.querySelector('#{button}').click()"))?;
    for _ in 0..LOOKS_MAX {
        // The browser gives it its name when it is whole.
        if let Ok(bytes) = fs::read(&file) {
            return Ok(bytes);
        }
        browser.value("new Promise((done) => setTimeout(done, 50))")?;
    }
    bail!("the page saved no {name}")
}

const SNAPSHOT: &str = "snapshot.ndjson";
const PNG_WIDTH_MIN: u32 = 400;
const LOOKS_MAX: u32 = 200;
