//! Steps that are nothing but lines of commands, and how several run at once.

use std::panic::resume_unwind;
use std::thread;

use anyhow::Result;

use crate::command::Invocation;
use crate::step::section;

/// Formatting, here and in the workspaces of the peers, of the crate for MPI and of the book; nothing is rewritten.
pub(crate) fn format() -> Result<()> {
    run(&[
        "fmt --all --check",
        "fmt --all --check --manifest-path peers/Cargo.toml",
        "fmt --all --check --manifest-path crates/manyhands-mpi/Cargo.toml",
        "fmt --all --check --manifest-path docs/book/Cargo.toml",
    ])
}

/// The lint table of the workspace, warnings denied, over tests and examples too; and over the library and the
/// laboratory as who asks for no feature gets them, and the library with what it records but no type of that.
pub(crate) fn clippy() -> Result<()> {
    run(&[
        "clippy --workspace --all-targets --all-features -- -D warnings",
        "clippy --package manyhands -- -D warnings",
        "clippy --package manyhands --features inspect -- -D warnings",
        "clippy --package manyhands-lab --no-default-features -- -D warnings",
    ])
}

/// Documentation of every crate, and the book; a broken link fails.
pub(crate) fn docs() -> Result<()> {
    let docs = Invocation::cargo("doc --workspace --all-features --no-deps");
    docs.env("RUSTDOCFLAGS", "-D warnings").run()?;
    // mdBook is a dependency of its builder, so a fresh machine needs nothing for it.
    run(&["test", "run"]
        .map(|verb| format!("{verb} --quiet --locked --manifest-path docs/book/Cargo.toml")))
}

/// The comparison programs compile and are free of warnings: clippy does all that `cargo check` does. Nothing is
/// measured: numbers from a busy build server would mean nothing.
pub(crate) fn peers() -> Result<()> {
    run(&["clippy --workspace --all-targets --manifest-path peers/Cargo.toml -- -D warnings"])
}

/// What the cluster's chunks cost: an example that measures itself, in release, with its own `nats-server`. It is built
/// before it runs, so that one may stop what else the machine does in between.
pub(crate) fn cluster_costs() -> Result<()> {
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

/// Does all of it at the same time, each in a thread, and tells of the first that failed.
pub(in crate::step) fn at_once<Task: FnOnce() -> Result<()> + Send>(
    tasks: impl IntoIterator<Item = Task>,
) -> Result<()> {
    thread::scope(|scope| {
        let started: Vec<_> = tasks.into_iter().map(|task| scope.spawn(task)).collect();
        let ended = started.into_iter().map(|task| match task.join() {
            Ok(outcome) => outcome,
            Err(payload) => resume_unwind(payload),
        });
        ended.fold(Ok(()), Result::and)
    })
}

/// Runs cargo with each of these lines.
fn run(lines: &[impl AsRef<str>]) -> Result<()> {
    lines
        .iter()
        .try_for_each(|line| Invocation::cargo(line.as_ref()).run())
}
