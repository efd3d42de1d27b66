//! Where things are.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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

/// The text of a file, whose path begins at the root of the workspace, as those below.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String> {
    let path = root().join(path);
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<()> {
    let path = root().join(path);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file, with who may run it.
pub(crate) fn copy_file(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
    let from = root().join(from);
    let copied = fs::copy(&from, root().join(to));
    copied.with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// What stands before `end` in the names of a folder that end so, in order.
pub(crate) fn names(folder: impl AsRef<Path>, end: &str) -> Result<Vec<String>> {
    let folder = root().join(folder);
    let cannot = || format!("cannot list {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(cannot)? {
        let name = entry.with_context(cannot)?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(end).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Removes a folder that may be there.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", folder.display())),
    }
}
