//! Where things are.

use std::path::{Path, PathBuf};

/// Manifest of the comparison programs, a workspace of its own; relative to [`root`].
pub(crate) const PEERS_MANIFEST: &str = "peers/Cargo.toml";

/// Manifest of the crate that needs an MPI, a workspace of its own; relative to [`root`].
pub(crate) const MPI_MANIFEST: &str = "crates/manyhands-mpi/Cargo.toml";

/// The folder with the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// A folder under the build output, so that a step with other flags keeps its own artefacts
/// and does not make the next normal build start again.
pub(crate) fn target_subdir(name: &str) -> PathBuf {
    target().join(name)
}

/// The build output.
pub(crate) fn target() -> PathBuf {
    let base = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(base)
}
