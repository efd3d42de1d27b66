//! The façade under the name of rayon-core: its own checks, then the test suites that rayon and rayon-core publish, run
//! against it. Then the tests of published programs (`programs.rs`), and how fast these and small ones are (`speed.rs`),
//! with rayon's core and with ours.
//!
//! What is published is downloaded by cargo and unpacked below the build output; nothing of it is in this repository.
//!
//! Not here: how the suites are put together (`published.rs`), how one is built and run (`suite.rs`), how two builds of a
//! benchmark are compared (`pairs.rs`), and how a table gets into its page (`section.rs`).

use std::fmt::Write;
use std::path::PathBuf;

use crate::clock::Stopwatch;
use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

mod pairs;
mod programs;
mod published;
mod section;
mod speed;
mod suite;

use suite::{Count, Row};

/// The façade, and what is measured with it; workspaces of their own, relative to the root.
const RAYON_CORE: &str = "compat/rayon-core";
const SPEED: &str = "compat/speed";

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All that follows, one after the other.
    Whole,
    Suites(Extent),
    /// The tests of published programs.
    Programs,
    Speed,
}

/// How much of the suites is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All but one suite that takes long, and the examples in the packages' documentation, each of which is a program
    /// of its own. No table is renewed.
    Short,
    Full,
}

pub(crate) fn run(part: Part) -> Result<(), Failure> {
    match part {
        Part::Whole => run_each(WHOLE, run),
        Part::Suites(extent) => run_suites(extent),
        Part::Programs => programs::run(),
        Part::Speed => speed::run(),
    }
}

const WHOLE: &[Part] = &[Part::Suites(Extent::Full), Part::Programs, Part::Speed];

/// Runs all parts, whether or not one before has failed, because each renews a table of its own.
fn run_each(
    parts: &[Part],
    mut run: impl FnMut(Part) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failures = Vec::new();
    for (index, &part) in parts.iter().enumerate() {
        println!("\n--> {part:?} ({} of {})", index + 1, parts.len());
        let watch = Stopwatch::start();
        let outcome = run(part);
        let seconds = watch.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("<-- {part:?}: passed in {seconds:.1} s"),
            Err(failure) => {
                println!("<-- {part:?}: FAILED after {seconds:.1} s: {failure}");
                failures.push(failure.to_string());
            }
        }
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(failures.join("; "))),
    }
}

fn run_suites(extent: Extent) -> Result<(), Failure> {
    for workspace in [RAYON_CORE, SPEED] {
        check_workspace(workspace)?;
    }
    let packages = published::prepare()?;
    let mut rows = Vec::new();
    for package in &packages {
        rows.extend(suite::run_all(package, extent)?);
    }
    print!("{}", table(&rows));
    if extent == Extent::Full {
        let text = format!(
            "Run {}.\n\n{}",
            section::conditions(),
            page_table(&rows, &["rayon", "rayon-core"])
        );
        section::renew(&format!("{RAYON_CORE}/README.md"), "suites", &text)?;
    }
    let failed: usize = rows.iter().map(|row| row.count.failed.len()).sum();
    if failed > 0 {
        return Err(Failure::new(format!("{failed} published tests failed")));
    }
    Ok(())
}

/// Where all of it is built, so that the library is built once.
fn build_folder() -> PathBuf {
    workspace::target_subdir("compat").join("build")
}

/// A workspace's own lints and tests.
fn check_workspace(workspace: &str) -> Result<(), Failure> {
    let manifest = format!("{workspace}/Cargo.toml");
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
fn table(rows: &[Row]) -> String {
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
    for Row {
        package,
        suite,
        count,
    } in rows
    {
        row(&format!("{package}: {suite}"), count);
        sum.add(count);
    }
    row("total", &sum);
    for name in &sum.failed {
        let _ = writeln!(table, "failed: {name}");
    }
    table
}

/// The table for a page: a package's integration tests are one row, and what failed is named below.
fn page_table(rows: &[Row], packages: &[&str]) -> String {
    let mut table =
        String::from("| suite | tests | passed | failed | ignored |\n|---|--:|--:|--:|--:|\n");
    let mut remarks = String::new();
    let mut line = |name: &str, count: &Count| {
        let (passed, failed, ignored) = (count.passed, count.failed.len(), count.ignored);
        let tests = passed + failed + ignored;
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            table,
            "| {name} | {tests} | {passed} | {failed} | {ignored} |"
        );
        for test in &count.failed {
            let _ = writeln!(remarks, "\nFailed: `{test}` of {name}.");
        }
    };
    for package in packages {
        let mut integration = Count::default();
        let mut integration_suites = 0;
        let mut last = None;
        for row in rows.iter().filter(|row| row.package == *package) {
            match row.suite.as_str() {
                suite::UNIT_TESTS => line(&format!("{package}, unit tests"), &row.count),
                suite::EXAMPLES | suite::REFUSED => last = Some(row),
                _ => {
                    integration.add(&row.count);
                    integration_suites += 1;
                }
            }
        }
        let name = format!("{package}, {integration_suites} integration tests");
        line(&name, &integration);
        if let Some(row) = last {
            line(&format!("{package}, {}", row.suite), &row.count);
        }
    }
    table + &remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(package: &'static str, suite: &str, passed: usize, failed: &[&str]) -> Row {
        Row {
            package,
            suite: suite.to_owned(),
            count: Count {
                passed,
                ignored: 1,
                failed: failed.iter().map(|&name| name.to_owned()).collect(),
            },
        }
    }

    #[test]
    fn a_part_that_fails_does_not_keep_the_next_from_being_run() {
        let mut ran = Vec::new();
        let outcome = run_each(WHOLE, |part| {
            ran.push(part);
            match part {
                Part::Programs => Ok(()),
                part => Err(Failure::new(format!("no {part:?}"))),
            }
        });
        assert_eq!(ran, WHOLE);
        let failure = outcome.unwrap_err().to_string();
        assert_eq!(failure, "no Suites(Full); no Speed");
    }

    #[test]
    fn the_table_sums_up_and_names_what_failed() {
        let rows = [row("a", "x", 3, &[]), row("b", "x", 4, &["b::c"])];
        let table = table(&rows);
        let total = table.lines().find(|line| line.starts_with("total"));
        let numbers: Vec<_> = total.unwrap().split_whitespace().skip(1).collect();
        assert_eq!(numbers, ["10", "7", "1", "2"]);
        assert!(table.ends_with("failed: b::c\n"));
    }

    #[test]
    fn a_page_has_the_integration_tests_of_a_package_in_one_row() {
        let rows = [
            row("a", "x", 3, &[]),
            row("a", suite::UNIT_TESTS, 5, &[]),
            row("a", suite::EXAMPLES, 7, &[]),
            row("a", "y", 4, &["y::c"]),
            row("b", "x", 9, &[]),
        ];
        let table = page_table(&rows, &["a"]);
        let lines: Vec<_> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| a, unit tests | 6 | 5 | 0 | 1 |",
                "| a, 2 integration tests | 10 | 7 | 1 | 2 |",
                "| a, examples in its documentation | 8 | 7 | 0 | 1 |",
                "",
                "Failed: `y::c` of a, 2 integration tests.",
            ]
        );
    }
}
