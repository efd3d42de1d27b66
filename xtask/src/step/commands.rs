//! Steps that are nothing but lines of commands.

use crate::command::Invocation;
use crate::failure::Failure;
use crate::step::section;

/// What is tested besides the default.
pub(crate) const TESTED_FEATURES: &str = "manyhands-cli/top";

/// The README's test command, unit, integration and documentation tests of every crate, here also of the terminal view.
/// Then those of the library that know its features, with all of them, and those of pairs of operators, which take
/// minutes to compile.
const TESTS: [&str; 3] = [
    "test --workspace --features manyhands-cli/top",
    "test -p manyhands --all-features --lib --test ecosystem --test inference --test inspect",
    "test -p manyhands --test pairs",
];
const DOCUMENTATION_TESTS: &str = "test -p manyhands --all-features --doc";

/// Formatting, here and in the workspaces of the peers and of the crate for MPI; nothing is rewritten.
pub(crate) fn format() -> Result<(), Failure> {
    run(&[
        "fmt --all --check",
        "fmt --all --check --manifest-path peers/Cargo.toml",
        "fmt --all --check --manifest-path crates/manyhands-mpi/Cargo.toml",
    ])
}

/// The lint table of the workspace, warnings denied, over tests and examples too; and over the library and the
/// laboratory as who asks for no feature gets them, and the library with what it records but no type of that.
pub(crate) fn clippy() -> Result<(), Failure> {
    run(&[
        "clippy --workspace --all-targets --all-features -- -D warnings",
        "clippy --package manyhands -- -D warnings",
        "clippy --package manyhands --features inspect -- -D warnings",
        "clippy --package manyhands-lab --no-default-features -- -D warnings",
    ])
}

/// Documentation of every crate; a broken link fails.
pub(crate) fn docs() -> Result<(), Failure> {
    let docs = Invocation::cargo("doc --workspace --all-features --no-deps");
    docs.env("RUSTDOCFLAGS", "-D warnings").run()
}

/// Builds all tests, but for those of documentation.
pub(crate) fn test_build() -> Result<(), Failure> {
    run(&TESTS.map(|tests| format!("{tests} --no-run")))
}

/// All tests. Only one that fails is named, so that it is not lost among thousands that pass.
pub(crate) fn test() -> Result<(), Failure> {
    let [everything, features, pairs] = TESTS;
    let lines = [everything, features, pairs, DOCUMENTATION_TESTS];
    run(&lines.map(|tests| format!("{tests} -- --quiet")))
}

/// The comparison programs compile and are free of warnings: clippy does all that `cargo check` does. Nothing is
/// measured: numbers from a busy build server would mean nothing.
pub(crate) fn peers() -> Result<(), Failure> {
    run(&["clippy --workspace --all-targets --manifest-path peers/Cargo.toml -- -D warnings"])
}

/// What the cluster's chunks cost: an example that measures itself, in release, with its own `nats-server`. It is built
/// before it runs, so that one may stop what else the machine does in between.
pub(crate) fn cluster_costs() -> Result<(), Failure> {
    run(&["build --release -p manyhands-cluster --features nats --example costs"])?;
    let measured = Invocation::cargo(
        "run --release --quiet -p manyhands-cluster --features nats --example costs",
    );
    let table = measured.stdout()?;
    let text = format!(
        "{}.\n\n```text\n{}\n```\n",
        section::conditions(),
        table.trim_end()
    );
    section::renew("crates/manyhands-cluster/README.md", "costs", &text)
}

/// Runs cargo with each of these lines.
fn run(lines: &[impl AsRef<str>]) -> Result<(), Failure> {
    lines
        .iter()
        .try_for_each(|line| Invocation::cargo(line.as_ref()).run())
}
