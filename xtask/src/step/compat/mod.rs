//! The façades under the names of rayon-core and async-task: their own checks, then the test suites that rayon,
//! rayon-core, async-task and async-executor publish, run against them.
//!
//! The suites are downloaded by cargo and unpacked below the build output; nothing of them is in this repository.
//!
//! Not here: how the suites are put together (`published.rs`), and how one is built and run (`suite.rs`).

use std::fmt::Write;
use std::path::PathBuf;

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

mod published;
mod suite;

use suite::Count;

/// The façades; workspaces of their own, relative to the root.
const RAYON_CORE: &str = "compat/rayon-core";
const ASYNC_TASK: &str = "compat/async-task";

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All but one suite that takes long, and the examples in the packages' documentation, each of which is a program
    /// of its own.
    Short,
    Full,
}

pub(crate) fn run(extent: Extent) -> Result<(), Failure> {
    for facade in [RAYON_CORE, ASYNC_TASK] {
        check_facade(facade)?;
    }
    let packages = published::prepare()?;
    let mut rows = Vec::new();
    for package in &packages {
        rows.extend(suite::run_all(package, extent)?);
    }
    let table = table(&rows);
    print!("{table}");
    let failed: usize = rows.iter().map(|(_, count)| count.failed.len()).sum();
    if failed > 0 {
        return Err(Failure::new(format!("{failed} published tests failed")));
    }
    Ok(())
}

/// Where all of it is built, so that the library is built once.
fn build_folder() -> PathBuf {
    workspace::target_subdir("compat").join("build")
}

/// A façade's own lints and tests.
fn check_facade(facade: &str) -> Result<(), Failure> {
    let manifest = format!("{facade}/Cargo.toml");
    Invocation::cargo("fmt --check --manifest-path")
        .arg(&manifest)
        .run()?;
    Invocation::cargo("clippy --locked --all-targets --manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(build_folder())
        .arg("--")
        .arg("-D")
        .arg("warnings")
        .run()?;
    Invocation::cargo("test --locked --quiet --manifest-path")
        .arg(&manifest)
        .arg("--target-dir")
        .arg(build_folder())
        .run()
}

/// The counts by suite, with their sum and the names of what failed.
fn table(rows: &[(String, Count)]) -> String {
    let mut table = format!(
        "\n{:42} {:>6} {:>7} {:>7} {:>8}\n",
        "suite", "tests", "passed", "failed", "ignored"
    );
    let mut sum = Count::default();
    let mut row = |name: &str, count: &Count| {
        let (passed, failed, ignored) = (count.passed, count.failed.len(), count.ignored);
        let tests = passed + failed + ignored;
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            table,
            "{name:42} {tests:>6} {passed:>7} {failed:>7} {ignored:>8}"
        );
    };
    for (name, count) in rows {
        row(name, count);
        sum.add(count);
    }
    row("total", &sum);
    for name in &sum.repeated {
        let _ = writeln!(table, "passed when run again: {name}");
    }
    for name in &sum.failed {
        let _ = writeln!(table, "failed: {name}");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_sums_up_and_names_what_failed() {
        let count = |passed, failed: &[&str]| Count {
            passed,
            ignored: 1,
            failed: failed.iter().map(|&name| name.to_owned()).collect(),
            repeated: Vec::new(),
        };
        let rows = [
            ("a".to_owned(), count(3, &[])),
            ("b".to_owned(), count(4, &["b::c"])),
        ];
        let table = table(&rows);
        let total = table.lines().find(|line| line.starts_with("total"));
        let numbers: Vec<_> = total.unwrap().split_whitespace().skip(1).collect();
        assert_eq!(numbers, ["10", "7", "1", "2"]);
        assert!(table.ends_with("failed: b::c\n"));
    }
}
