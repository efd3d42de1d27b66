//! The façade under the name of rayon-core: its own checks, then the test suites that rayon and rayon-core publish, run
//! against it. Then the tests of published programs (`programs.rs`), and how fast these and small ones are (`speed.rs`),
//! with rayon's core and with ours.
//!
//! What is published is downloaded by cargo and unpacked below the build output; nothing of it is in this repository.
//!
//! Not here: where packages come from (`packages.rs`), how the suites are put together (`published.rs`), and how one is
//! built and run (`suite.rs`).

use std::path::PathBuf;

use anyhow::{Result, ensure};

use crate::command::Invocation;
use crate::step::section;
use crate::workspace;

mod packages;
mod programs;
mod published;
mod speed;
mod suite;

use suite::Count;

/// The façade, and what is measured with it; workspaces of their own, relative to the root.
const RAYON_CORE: &str = "compat/rayon-core";
const SPEED: &str = "compat/speed";

/// What can be run, each with its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The tests that rayon and rayon-core publish
    Suites,
    /// All suites but one that takes long, and not the examples in the packages' documentation, each of which is a program of
    /// its own; no table is renewed
    Short,
    /// The tests of published programs, with rayon's own core and with ours
    Programs,
    /// A benchmark of each of these programs, and small ones, with both cores by turns
    Speed,
}

const WHOLE: &[Part] = &[Part::Suites, Part::Programs, Part::Speed];

/// Runs these parts, or the whole where none is named: all of them, whether or not one before has failed, because each renews
/// a table of its own.
pub(crate) fn run(parts: &[Part]) -> Result<()> {
    let parts = if parts.is_empty() { WHOLE } else { parts };
    let outcomes = parts.iter().map(|part| {
        let outcome = match part {
            Part::Suites | Part::Short => run_suites(*part),
            Part::Programs => programs::run(),
            Part::Speed => speed::run(),
        };
        outcome.inspect_err(|failure| println!("{part:?}: {failure:#}"))
    });
    outcomes.fold(Ok(()), Result::and)
}

fn run_suites(part: Part) -> Result<()> {
    for workspace in [RAYON_CORE, SPEED] {
        check_workspace(workspace)?;
    }
    let packages = published::prepare()?;
    let mut rows = Vec::new();
    for package in &packages {
        rows.extend(suite::run_all(package, part)?);
    }
    let text = table(&rows);
    print!("\n{text}");
    if part == Part::Suites {
        let text = format!("Run {}.\n\n{text}", section::conditions());
        section::renew(&format!("{RAYON_CORE}/README.md"), "suites", &text)?;
    }
    let failed: usize = rows.iter().map(|(_, count)| count.failed.len()).sum();
    ensure!(failed == 0, "{failed} published tests failed");
    Ok(())
}

/// Where all of it is built, so that the library is built once.
fn build_folder() -> PathBuf {
    workspace::target_subdir("compat").join("build")
}

/// A workspace's own lints and tests.
fn check_workspace(workspace: &str) -> Result<()> {
    let manifest = format!("{workspace}/Cargo.toml");
    let cargo = |line| Invocation::cargo(line).build_of(&manifest, build_folder());
    let format = Invocation::cargo("fmt --check --manifest-path");
    format.arg(&manifest).run()?;
    let clippy = cargo("clippy --locked --all-targets");
    clippy.words("-- -D warnings").run()?;
    cargo("test --locked --quiet").run()
}

/// What failed is named below.
fn table(rows: &[(String, Count)]) -> String {
    let mut table =
        String::from("| suite | tests | passed | failed | ignored |\n|---|--:|--:|--:|--:|\n");
    let mut remarks = String::new();
    for (name, count) in rows {
        table += &format!("| {name} | {} |\n", count.cells().join(" | "));
        let failed = count.failed.iter();
        remarks.extend(failed.map(|test| format!("\nFailed: `{test}` of {name}.\n")));
    }
    table + &remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_named_below_the_table() {
        let count = Count {
            passed: 3,
            ignored: 1,
            failed: vec!["y::c".to_owned()],
        };
        let expected = "| a, x | 5 | 3 | 1 | 1 |\n\nFailed: `y::c` of a, x.\n";
        assert!(table(&[("a, x".to_owned(), count)]).ends_with(expected));
    }
}
