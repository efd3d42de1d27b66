//! Formatting, here and in the workspaces of the peers and of the crate for MPI; nothing is rewritten.

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace::{MPI_MANIFEST, PEERS_MANIFEST};

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("fmt --all --check").run()?;
    for manifest in [PEERS_MANIFEST, MPI_MANIFEST] {
        Invocation::cargo("fmt --all --check --manifest-path")
            .arg(manifest)
            .run()?;
    }
    Ok(())
}
