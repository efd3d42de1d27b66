//! The tests of published programs with rayon's own core and with the façade.
//!
//! The programs and their versions are those that the workspace `compat/speed` depends on; its benchmarks call them
//! (`speed.rs`).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::pairs::Core;
use super::published::{replace, without_benchmarks};
use super::suite::{self, Count};
use super::{RAYON_CORE, SPEED};
use crate::command::Invocation;
use crate::step::{sanitize::host, section, test_programs};
use crate::workspace;

/// A program, and how its tests are built.
struct Program {
    name: &'static str,
    /// Options of `cargo test`.
    options: &'static str,
    /// Examples in its documentation whose names have this word are run, too.
    examples: Option<&'static str>,
    /// A file that its tests include and its package lacks. It is made, and empty: what reads it fails with both cores.
    absent: Option<&'static str>,
    /// Why tests fail with both cores.
    reason: &'static str,
}

impl Program {
    const fn new(name: &'static str, options: &'static str) -> Self {
        Self {
            name,
            options,
            examples: None,
            absent: None,
            reason: "",
        }
    }
}

const PROGRAMS: &[Program] = &[
    // A data frame. Its pool is one of its own, a `ThreadPool`.
    Program::new("polars-core", ""),
    Program::new("tokei", ""),
    Program::new("oxipng", ""),
    Program {
        examples: Some("parallel"),
        ..Program::new("ndarray", "--features rayon")
    },
    Program::new("hashbrown", "--features rayon"),
    Program::new("indexmap", "--features rayon"),
    // Without AVIF, whose encoder takes longer to build than all the rest.
    Program {
        absent: Some("tests/images/jpg/portrait_2.jpg"),
        reason: ", because they read pictures that are not in the package",
        ..Program::new("image", PICTURES)
    },
];
const PICTURES: &str = "--no-default-features --features \
                        rayon,bmp,dds,exr,ff,gif,hdr,ico,jpeg,png,pnm,qoi,tga,tiff,webp";

pub(super) fn run() -> Result<()> {
    let page = format!("{RAYON_CORE}/README.md");
    let manifest = workspace::read(format!("{SPEED}/Cargo.toml"))?;
    let unpacked = unpack()?;
    let mut rows = Vec::new();
    let conditions = section::conditions();
    for (index, program) in PROGRAMS.iter().enumerate() {
        let (name, of) = (program.name, PROGRAMS.len());
        println!("\n{name}, program {} of {of}", index + 1);
        rows.push(test(program, &manifest, &unpacked)?);
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

/// Lets cargo download the programs with what they depend on, and returns its description of all packages.
pub(super) fn unpack() -> Result<String> {
    let compiler = Invocation::new("rustc -vV").stdout()?;
    Invocation::cargo("metadata --format-version 1 --locked --all-features --filter-platform")
        .arg(host(&compiler).unwrap_or_default())
        .arg("--manifest-path")
        .arg(workspace::root().join(SPEED).join("Cargo.toml"))
        .stdout()
}

/// Where the copies of all programs are.
fn folder(core: Core) -> PathBuf {
    let programs = workspace::target_subdir("compat").join("programs");
    programs.join(core.name())
}

/// A program's tests with both cores.
struct Row {
    name: String,
    /// See [`Program::reason`].
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

fn test(program: &Program, manifest: &str, unpacked: &str) -> Result<Row> {
    let name = versioned(program.name, manifest)?;
    let original = unpacked_folder(&name, unpacked)?;
    let mut locks = PathBuf::from(SPEED);
    let mut count = |core: Core| -> Result<Count> {
        let to = folder(core).join(program.name);
        put(&original, &to, core, &workspace::root().join(&locks))
            .with_context(|| format!("cannot prepare {}", to.display()))?;
        if let Some(file) = program.absent {
            make_empty(&to.join(file)).with_context(|| format!("cannot make {file}"))?;
        }
        let count = run_tests(program, &to)?;
        core.check(&to)?;
        // The façade's side is built with the versions that were chosen for the original's.
        locks = to;
        Ok(count)
    };
    Ok(Row {
        original: count(Core::Original)?,
        ours: count(Core::Facade)?,
        reason: program.reason,
        name,
    })
}

/// Copies a program, patches it, and gives it the lock file of `locks`.
fn put(original: &Path, to: &Path, core: Core, locks: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(original)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            replace(&entry.path(), &place)?;
        } else if !["Cargo.toml", "Cargo.lock"]
            .map(Path::new)
            .contains(&Path::new(&entry.file_name()))
        {
            write_changed(&place, &fs::read(entry.path())?)?;
        }
    }
    write_changed(&to.join("Cargo.lock"), &fs::read(locks.join("Cargo.lock"))?)?;
    let manifest = fs::read_to_string(original.join("Cargo.toml"))?;
    let manifest = without_benchmarks(&manifest) + "\n[workspace]\n" + &core.patch();
    write_changed(&to.join("Cargo.toml"), manifest.as_bytes())
}

/// Leaves a file alone that is the same already, so that nothing is built again.
fn write_changed(file: &Path, text: &[u8]) -> io::Result<()> {
    if fs::read(file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(file, text)
}

fn make_empty(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    write_changed(file, b"")
}

fn run_tests(program: &Program, folder: &Path) -> Result<Count> {
    let cargo_test = |targets: &str| {
        Invocation::cargo(&format!("test --quiet {targets} {}", program.options))
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
        let name = suite::suite_name(&test.path, program.name);
        sum.add(&ended(&name, suite::run_program(&test, &[])));
    }
    if let Some(word) = program.examples {
        let (text, result) = cargo_test("--doc")
            .arg("--")
            .arg(word)
            .stdout_even_if_it_fails()?;
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

/// `tokei-12.1.2` for `tokei`, as the manifest says. The lock file may have other versions, too, for other packages.
fn versioned(name: &str, manifest: &str) -> Result<String> {
    let version = manifest.lines().find_map(|line| {
        let dependency = line.strip_prefix(name)?.strip_prefix(" = ")?;
        let (_, version) = dependency.split_once("\"=")?;
        version.split('"').next()
    });
    let version =
        version.with_context(|| format!("{SPEED}/Cargo.toml names no version of {name}"))?;
    Ok(format!("{name}-{version}"))
}

/// The folders of all packages in cargo's description, but for those of this repository.
pub(super) fn unpacked_folders(unpacked: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = unpacked
        .split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| Some(Path::new(rest.split('"').next()?).parent()?.to_path_buf()))
        .filter(|folder| !folder.starts_with(workspace::root()))
        .collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// The folder of a package in cargo's description.
fn unpacked_folder(name: &str, unpacked: &str) -> Result<PathBuf> {
    let end = format!("/{name}/Cargo.toml\"");
    let folder = unpacked.find(&end).map(|at| {
        let begin = unpacked[..at].rfind('"').map_or(0, |quote| quote + 1);
        PathBuf::from(&unpacked[begin..at]).join(name)
    });
    folder.with_context(|| format!("cargo has not unpacked {name}"))
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
    fn names_and_folders_are_found() {
        let manifest = "[dependencies]\nrayon = \"=1.12.0\"\n\
                        tokei = { version = \"=12.1.2\", optional = true }\n";
        assert_eq!(versioned("rayon", manifest).unwrap(), "rayon-1.12.0");
        let name = versioned("tokei", manifest).unwrap();
        assert_eq!(name, "tokei-12.1.2");
        let unpacked = "{\"manifest_path\":\"/r/x-1/Cargo.toml\"},{\"manifest_path\":\"/r/tokei-12.1.2/Cargo.toml\"}";
        let folder = unpacked_folder(&name, unpacked);
        assert_eq!(folder.unwrap(), Path::new("/r/tokei-12.1.2"));
        let own = workspace::root().join("compat/speed/Cargo.toml");
        let with_own = format!("{unpacked},{{\"manifest_path\":\"{}\"}}", own.display());
        let folders = ["/r/tokei-12.1.2", "/r/x-1"].map(PathBuf::from);
        assert_eq!(unpacked_folders(&with_own), folders);
        assert!(versioned("to", manifest).is_err());
        assert!(unpacked_folder("x-2", unpacked).is_err());
    }

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
