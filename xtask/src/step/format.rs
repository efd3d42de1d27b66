//! Formatting, here and in the peers' workspace; nothing is rewritten.

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace::PEERS_MANIFEST;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("fmt --all --check").run()?;
    Invocation::cargo("fmt --all --check --manifest-path")
        .arg(PEERS_MANIFEST)
        .run()
}
