//! The tests of published programs with rayon's own core and with the façade.
//!
//! The programs and their versions are those that the workspace `compat/speed` depends on; its benchmarks call them
//! (`speed.rs`).

use std::path::Path;

use anyhow::{Result, ensure};

use super::packages::{Core, Packages, copy};
use super::suite::{self, Count};
use super::{RAYON_CORE, SPEED};
use crate::command::Invocation;
use crate::step::{section, test_programs};
use crate::workspace;

/// The programs, and the options of `cargo test` for each.
const PROGRAMS: &[(&str, &str)] = &[
    // A data frame. Its pool is one of its own, a `ThreadPool`.
    ("polars-core", ""),
    ("tokei", ""),
    ("oxipng", ""),
    ("ndarray", "--features rayon"),
    ("hashbrown", "--features rayon"),
    ("indexmap", "--features rayon"),
    // Without AVIF, whose encoder takes longer to build than all the rest.
    (
        "image",
        "--no-default-features --features \
         rayon,bmp,dds,exr,ff,gif,hdr,ico,jpeg,png,pnm,qoi,tga,tiff,webp",
    ),
];
/// A program of which examples in its documentation are run, too: those whose names have this word.
const WITH_EXAMPLES: (&str, &str) = ("ndarray", "parallel");
/// A program whose tests include a file that its package lacks. It is made, and empty: what reads it fails with both cores.
const ABSENT: (&str, &str) = ("image", "tests/images/jpg/portrait_2.jpg");
const BECAUSE_ABSENT: &str = ", because they read pictures that are not in the package";

pub(super) fn run() -> Result<()> {
    let page = format!("{RAYON_CORE}/README.md");
    let packages = Packages::unpack("--all-features")?;
    let mut rows = Vec::new();
    let conditions = section::conditions();
    for (name, options) in PROGRAMS {
        println!("\n{name}, program {} of {}", rows.len() + 1, PROGRAMS.len());
        rows.push(test(name, options, &packages)?);
        // What has been run stays, should a later program not be built.
        let tests = format!("Run {conditions}.\n\n{}", table(&rows));
        print!("\n{tests}");
        section::renew(&page, "programs", &tests)?;
    }
    let only_ours: usize = rows.iter().map(|row| row.only_ours().len()).sum();
    ensure!(
        only_ours == 0,
        "{only_ours} tests of programs fail with the façade only"
    );
    Ok(())
}

/// A program's tests with both cores.
struct Row {
    name: String,
    /// Why tests fail with both cores.
    reason: &'static str,
    original: Count,
    ours: Count,
}

impl Row {
    fn only_ours(&self) -> Vec<&str> {
        let failed = self.ours.failed.iter();
        let only = failed.filter(|test| !self.original.failed.contains(test));
        only.map(String::as_str).collect()
    }
}

fn test(name: &str, options: &str, packages: &Packages) -> Result<Row> {
    let published = packages.find(name)?;
    let to = workspace::target_subdir("compat/programs").join(name);
    copy(&published.folder, &to)?;
    workspace::copy_file(format!("{SPEED}/Cargo.lock"), to.join("Cargo.lock"))?;
    let lacks_file = name == ABSENT.0;
    if lacks_file {
        let file = to.join(ABSENT.1);
        workspace::make_folder(file.parent().unwrap_or(&to))?;
        workspace::write(file, "")?;
    }
    // The façade's side is built with the versions that were chosen for the original's.
    let count = |core: Core| -> Result<Count> {
        core.put_into(&published.folder, &to)?;
        let count = run_tests(name, options, &to)?;
        core.check(&to)?;
        Ok(count)
    };
    Ok(Row {
        original: count(Core::Original)?,
        ours: count(Core::Facade)?,
        reason: if lacks_file { BECAUSE_ABSENT } else { "" },
        name: format!("{name}-{}", published.version),
    })
}

fn run_tests(name: &str, options: &str, folder: &Path) -> Result<Count> {
    let cargo_test = |targets: &str| {
        Invocation::cargo(&format!("test --quiet {targets} {options}"))
            .build_of(
                folder.join("Cargo.toml"),
                workspace::target_subdir("compat/programs/build"),
            )
            // The same for all, so that what they share is built once.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
    };
    let built = cargo_test("--tests --no-run --message-format=json").stdout()?;
    let mut sum = Count::default();
    for test in test_programs::programs(&built) {
        let suite = suite::suite_name(&test.path, name);
        sum.add(&ended(&suite, suite::run_program(&test, &[])));
    }
    if name == WITH_EXAMPLES.0 {
        let examples = cargo_test("--doc").args(&["--", WITH_EXAMPLES.1]);
        let (text, result) = examples.stdout_even_if_it_fails()?;
        sum.add(&ended(suite::EXAMPLES, suite::count(&text, result)));
    }
    Ok(sum)
}

/// A test program that was stopped, or ended without a result, counts as one test that failed.
fn ended(name: &str, count: Result<Count>) -> Count {
    count.unwrap_or_else(|failure| {
        println!("{failure:#}");
        Count {
            failed: vec![format!("{name} as a whole")],
            ..Count::default()
        }
    })
}

/// What fails with both cores is named below the table.
fn table(rows: &[Row]) -> String {
    let mut below = String::new();
    let mut table = String::from(
        "| program | tests | passed with the original | passed with ours | failed |\n\
         |---|--:|--:|--:|---|\n",
    );
    for row in rows {
        let [tests, passed, ..] = row.original.cells();
        let only_ours = row.only_ours();
        let both = row.ours.failed.len() - only_ours.len();
        let mut remark = match (tests.as_str(), both) {
            ("0", _) => "it publishes none".to_owned(),
            (_, 0) => String::new(),
            (_, both) => format!("{both} with both{}", row.reason),
        };
        if both > 0 {
            let failed = row.original.failed.join(", ");
            below += &format!("\nWith both, of {}: {failed}.\n", row.name);
        }
        if !only_ours.is_empty() {
            remark += &format!(" **with ours only**: {}", only_ours.join(", "));
        }
        let ours = row.ours.passed;
        let (name, remark) = (&row.name, remark.trim_start());
        table += &format!("| {name} | {tests} | {passed} | {ours} | {remark} |\n");
    }
    table + &below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_apart_what_fails_with_ours_only() {
        let count = |passed, failed: &[&str]| Count {
            passed,
            failed: failed.iter().map(|&name| name.to_owned()).collect(),
            ..Count::default()
        };
        let row = |original, ours| Row {
            name: "a-1".to_owned(),
            reason: ", for a reason",
            original,
            ours,
        };
        let rows = [
            row(count(2, &[]), count(2, &[])),
            row(count(2, &["x"]), count(1, &["x", "y"])),
            row(count(0, &[]), count(0, &[])),
        ];
        let expected = "\
| a-1 | 2 | 2 | 2 |  |
| a-1 | 3 | 2 | 1 | 1 with both, for a reason **with ours only**: y |
| a-1 | 0 | 0 | 0 | it publishes none |

With both, of a-1: x.
";
        assert!(table(&rows).ends_with(&format!("\n{expected}")));
    }
}
