//! The tests: the README's command, which is all tests of all crates, in two parts that `ci` runs at different times. Then
//! those of the library that know its features, with all of them, and those of pairs of operators, which take minutes
//! to compile.
//!
//! Programs of tests are started here. `cargo test --package` would build what they depend on once more, with the
//! features that those packages alone ask for.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::command::Invocation;

/// What is tested besides the default.
pub(crate) const TESTED_FEATURES: &str = "manyhands-cli/top";

const WITH_FEATURES: [&str; 2] = [
    "test -p manyhands --all-features --lib --test ecosystem --test inference --test inspect",
    "test -p manyhands --test pairs",
];
const DOCUMENTATION_WITH_FEATURES: &str = "test -p manyhands --all-features --doc";
const LIBRARY: &str = "crates/manyhands";

/// Builds all tests, but for those of documentation.
pub(crate) fn build() -> Result<()> {
    everything().arg("--no-run").run()?;
    let mut lines = WITH_FEATURES.iter();
    lines.try_for_each(|line| Invocation::cargo(line).arg("--no-run").run())
}

/// The tests of every crate but the library, and those of all documentation.
pub(crate) fn run_of_tools() -> Result<()> {
    run_programs(|program| !program.is_of_library())?;
    quiet(everything().arg("--doc"))
}

/// The tests of the library.
pub(crate) fn run_of_library() -> Result<()> {
    run_programs(Program::is_of_library)?;
    let lines = WITH_FEATURES.into_iter();
    let mut lines = lines.chain([DOCUMENTATION_WITH_FEATURES]);
    lines.try_for_each(|line| quiet(Invocation::cargo(line)))
}

fn everything() -> Invocation {
    Invocation::cargo("test --workspace --features").arg(TESTED_FEATURES)
}

/// Only a test that fails is named, so that it is not lost among thousands that pass.
fn quiet(tests: Invocation) -> Result<()> {
    tests.args(&["--", "--quiet"]).run()
}

/// What cargo builds of one target.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::step) struct Program {
    /// Of its package, in which it runs.
    pub(in crate::step) folder: PathBuf,
    pub(in crate::step) path: PathBuf,
}

impl Program {
    fn is_of_library(&self) -> bool {
        self.folder.ends_with(LIBRARY)
    }
}

/// Runs the programs that are wanted, each in the folder of its package, as cargo does.
fn run_programs(wanted: fn(&Program) -> bool) -> Result<()> {
    let build = everything().args(&["--no-run", "--message-format", "json"]);
    let mut programs = programs(&build.stdout()?);
    programs.retain(wanted);
    ensure!(!programs.is_empty(), "cargo names no programs of tests");
    for program in &programs {
        let tests = Invocation::program(&program.path).arg("--quiet");
        tests.folder(&program.folder).run()?;
    }
    Ok(())
}

/// The programs of tests in cargo's messages, in order.
pub(in crate::step) fn programs(messages: &str) -> Vec<Program> {
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    programs.sort();
    programs
}

/// The program that one of cargo's messages is about; `None` if it is not about one of tests.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message.pointer("/profile/test")?.as_bool()?;
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let manifest = PathBuf::from(message.get("manifest_path")?.as_str()?);
    let folder = manifest.parent()?.to_owned();
    is_test.then_some(Program { folder, path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn programs_of_tests_are_found_among_what_cargo_builds() {
        let message = |test: bool, executable: &str| {
            format!(
                r#"{{"manifest_path":"/a/{LIBRARY}/Cargo.toml","profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let found = program(&message(true, r#""/t/it-1""#)).unwrap();
        assert!(found.is_of_library());
        assert_eq!(found.path, PathBuf::from("/t/it-1"));
        assert_eq!(program(&message(false, r#""/t/tool""#)), None);
        assert_eq!(program(&message(true, "null")), None);
        let other = program(r#"{"reason":"build-finished","success":true}"#);
        assert_eq!(other, None);
        let folder = workspace::root().join(LIBRARY);
        assert!(folder.join("Cargo.toml").is_file(), "{LIBRARY} is a crate");
    }
}
