//! The comparison programs compile and are free of warnings. Nothing is measured: numbers
//! from a busy build server would mean nothing.

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace::PEERS_MANIFEST;

pub(crate) fn run() -> Result<(), Failure> {
    // Clippy does all that `cargo check` does.
    Invocation::cargo("clippy --workspace --all-targets --manifest-path")
        .arg(PEERS_MANIFEST)
        .arg("--")
        .arg("-D")
        .arg("warnings")
        .run()
}
