//! The written public surface of the library, one line for each item: it changes only together with the changelog.
//!
//! Each item is shown by an example (`surface/documentation.rs`).
//!
//! Not written: what is hidden, and what the feature `inspect-unstable` shows, because neither is a promise.

mod documentation;

use anyhow::{Context, Result, ensure};
use public_api::{Builder, PublicApi};
use sha2::{Digest, Sha256};

use crate::command::Invocation;
use crate::workspace;

pub(crate) fn run() -> Result<()> {
    let found = surface()?;
    let written = workspace::read(SURFACE).unwrap_or_default();
    let changes = changes(body(&written), &found);
    ensure!(
        body(&written) == found,
        "{changes}\nthe public surface is not the one in {SURFACE}: add a line to {CHANGELOG}, then \
         `cargo xtask surface --write`"
    );
    Ok(())
}

/// Renews what is written.
pub(crate) fn write() -> Result<()> {
    let found = surface()?;
    let changelog = workspace::read(CHANGELOG)?;
    let written = workspace::read(SURFACE).unwrap_or_default();
    let changes = changes(body(&written), &found);
    if body(&written) == found {
        return Ok(());
    }
    // Methods that only stand elsewhere are no news.
    ensure!(
        changes.is_empty() || !is_of(&written, &changelog),
        "{changes}\nthe public surface changes, and {CHANGELOG} does not say so"
    );
    print!("{changes}");
    let text = format!("{HEAD}{CHANGELOG_MARK}{}\n\n{found}", digest(&changelog));
    workspace::write(SURFACE, text)
}

/// The surface as rustdoc and its reader see it. Both go by the form of one compiler, which is the oldest one supported.
fn surface() -> Result<String> {
    let version = Invocation::new("rustc --version").stdout()?;
    let cargo = if version.starts_with(&format!("rustc {COMPILER}.")) {
        Invocation::cargo(RUSTDOC)
    } else {
        Invocation::new(&format!("rustup run {COMPILER} cargo {RUSTDOC}"))
    };
    let folder = workspace::target_subdir("surface");
    let cargo = cargo.env("CARGO_TARGET_DIR", &folder);
    // The form is not a stable one, so a stable compiler writes it on request only.
    cargo.env("RUSTC_BOOTSTRAP", "1").run()?;
    let json = folder.join("doc/manyhands.json");
    let api = Builder::from_rustdoc_json(&json)
        .omit_auto_derived_impls(true)
        .omit_auto_trait_impls(true)
        .omit_blanket_impls(true)
        .build()
        .context("cannot read the surface")?;
    documentation::check(&api, &serde_json::from_str(&workspace::read(json)?)?)?;
    Ok(text(&api))
}

fn text(api: &PublicApi) -> String {
    let items = api.items().map(ToString::to_string);
    let promised = items.filter(|item| !item.contains(UNSTABLE));
    promised.map(|item| item + "\n").collect()
}

/// What is below the head.
fn body(written: &str) -> &str {
    written.split_once("\n\n").map_or("", |(_, body)| body)
}

/// Whether the surface was written beside this changelog.
fn is_of(written: &str, changelog: &str) -> bool {
    let mut marks = written
        .lines()
        .filter_map(|line| line.strip_prefix(CHANGELOG_MARK));
    marks.next() == Some(&digest(changelog))
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let bytes = digest.iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// The lines that went, and those that came.
fn changes(before: &str, after: &str) -> String {
    let missing = |of: &str, from: &str, mark: &str| {
        let known: std::collections::BTreeSet<&str> = from.lines().collect();
        let lines = of.lines().filter(|line| !known.contains(line));
        lines
            .map(|line| format!("{mark} {line}\n"))
            .collect::<String>()
    };
    missing(before, after, "-") + &missing(after, before, "+")
}

const SURFACE: &str = "crates/manyhands/surface.txt";
const CHANGELOG: &str = "CHANGELOG.md";
const HEAD: &str = "# The public surface of the library with all features; `cargo xtask surface --write` writes it.\n";
const CHANGELOG_MARK: &str = "# Written beside the changelog ";
/// What is no promise.
const UNSTABLE: &str = "manyhands::inspect";
/// The oldest supported compiler. The version of `public_api` reads the form that this one writes.
const COMPILER: &str = env!("CARGO_PKG_RUST_VERSION");
const RUSTDOC: &str = "rustdoc --package manyhands --lib --all-features --locked -- -Z unstable-options \
                       --output-format json --cap-lints allow";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surface_belongs_to_the_changelog_that_it_was_written_beside() {
        let written = format!("{HEAD}{CHANGELOG_MARK}{}\n\npub fn a()\n", digest("one"));
        assert!(is_of(&written, "one") && !is_of(&written, "two"));
        assert_eq!(body(&written), "pub fn a()\n");
        let changes = changes(body(&written), "pub fn b()\n");
        assert_eq!(changes, "- pub fn a()\n+ pub fn b()\n");
        assert!(!is_of("", "one"));
    }
}
