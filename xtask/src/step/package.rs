//! Each crate builds from its own archive, as those who download it get it: nothing that it needs is left
//! out, such as a template, a font or a licence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    if let Some(home) = cargo_home() {
        forget_unpacked(&home.join("registry").join("src")).map_err(|error| {
            Failure::new(format!(
                "cannot remove unpacked archives of earlier runs: {error}"
            ))
        })?;
    }
    // By hand it also says whether what is not committed yet would build.
    let mut invocation = Invocation::cargo("package --locked --allow-dirty");
    for name in CRATES {
        invocation = invocation.arg("--package").arg(name);
    }
    invocation.run()
}

/// The crates that are published, each after those it depends on.
const CRATES: [&str; 7] = [
    "manyhands",
    "manyhands-lab",
    "manyhands-inspect",
    "manyhands-nats",
    "manyhands-fleet",
    "manyhands-cluster",
    "manyhands-cli",
];

/// Where cargo keeps what it has downloaded and unpacked.
fn cargo_home() -> Option<PathBuf> {
    let by_name = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    by_name.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// Removes what earlier runs have unpacked of these crates. Cargo unpacks an archive once for each version and
/// place of the workspace. A later run with the same version would build a crate against its older neighbours.
fn forget_unpacked(sources: &Path) -> io::Result<()> {
    let registries = match fs::read_dir(sources) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed?,
    };
    for registry in registries {
        let registry = registry?;
        // The name of a registry begins with its host; one in a folder has none.
        if !registry.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for unpacked in fs::read_dir(registry.path())? {
            let unpacked = unpacked?;
            if is_ours(&unpacked.file_name().to_string_lossy()) {
                fs::remove_dir_all(unpacked.path())?;
            }
        }
    }
    Ok(())
}

/// Whether `folder` is a version of one of the crates, such as `manyhands-lab-0.1.0`.
fn is_ours(folder: &str) -> bool {
    CRATES.iter().any(|name| {
        let version = folder
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('-'));
        version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_unpacked_archives_only_those_of_these_crates_in_a_folder_are_removed() {
        let sources =
            std::env::temp_dir().join(format!("manyhands-unpacked-{}", std::process::id()));
        let kept = [
            "-0123456789abcdef/manyhands-rival-1.0.0",
            "-0123456789abcdef/serde-1.0.0",
            "index.example-0123456789abcdef/manyhands-0.1.0",
        ];
        let removed = [
            "-0123456789abcdef/manyhands-0.1.0",
            "-0123456789abcdef/manyhands-lab-0.1.0",
            "-fedcba9876543210/manyhands-cli-0.2.0",
        ];
        for folder in kept.iter().chain(&removed) {
            fs::create_dir_all(sources.join(folder).join("src")).unwrap();
        }
        forget_unpacked(&sources).unwrap();
        let are_there = |folders: [&str; 3]| folders.map(|folder| sources.join(folder).exists());
        let seen = (are_there(kept), are_there(removed));
        fs::remove_dir_all(&sources).unwrap();
        assert_eq!(seen, ([true; 3], [false; 3]));
        assert!(
            forget_unpacked(&sources).is_ok(),
            "there is nothing yet on a fresh machine"
        );
    }
}
