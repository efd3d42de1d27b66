//! Published packages. Cargo unpacks those that the workspace `compat/speed` depends on; what is built are copies of them
//! below the build output.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{RAYON_CORE, SPEED};
use crate::command::Invocation;
use crate::workspace;

/// What cargo says of the packages that it has unpacked.
pub(super) struct Packages(Value);

/// A package as it was published.
pub(super) struct Published {
    pub(super) version: String,
    pub(super) folder: PathBuf,
}

impl Packages {
    /// Has cargo unpack what `compat/speed` depends on with these features.
    pub(super) fn unpack(features: &str) -> Result<Self> {
        let host = Invocation::new("rustc --print host-tuple").stdout()?;
        let metadata = Invocation::cargo("metadata --format-version 1 --locked")
            .words(features)
            .args(&["--filter-platform", host.trim()])
            .arg("--manifest-path")
            .arg(workspace::root().join(SPEED).join("Cargo.toml"))
            .stdout()?;
        Ok(Self(serde_json::from_str(&metadata)?))
    }

    fn all(&self) -> impl Iterator<Item = &Value> {
        self.0["packages"].as_array().into_iter().flatten()
    }

    /// The package of this name, in the version that the manifest asks for: there may be others, for other packages.
    pub(super) fn find(&self, name: &str) -> Result<Published> {
        let is_root = |package: &&Value| package["id"] == self.0["resolve"]["root"];
        let root = self.all().find(is_root);
        let dependencies = root.and_then(|root| root["dependencies"].as_array());
        let mut dependencies = dependencies.into_iter().flatten();
        let asked = dependencies.find(|dependency| dependency["name"] == name);
        let asked = asked.and_then(|dependency| dependency["req"].as_str()?.strip_prefix('='));
        let is_it = |package: &&Value| {
            package["name"] == name && asked.is_none_or(|version| package["version"] == version)
        };
        let found = self.all().find(is_it).and_then(|package| {
            Some(Published {
                version: package["version"].as_str()?.to_owned(),
                folder: folder_of(package)?,
            })
        });
        found.with_context(|| format!("cargo has not unpacked {name}"))
    }

    /// The folders of all packages, but for those of this repository.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let is_other = |folder: &PathBuf| !folder.starts_with(workspace::root());
        let folders = self.all().filter_map(folder_of);
        let mut folders: Vec<PathBuf> = folders.filter(is_other).collect();
        folders.sort_unstable();
        folders
    }
}

fn folder_of(package: &Value) -> Option<PathBuf> {
    let manifest = Path::new(package["manifest_path"].as_str()?);
    Some(manifest.parent()?.to_path_buf())
}

/// Copies what is in a folder into another one. Files keep their times, so nothing is built again for that.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    workspace::make_folder(to)?;
    let copy = Invocation::new("cp --archive").arg(from.join("."));
    copy.arg(to).run()
}

/// Which rayon-core a package gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Core {
    Original,
    Facade,
}

impl Core {
    /// Gives the copy of a package a manifest of its own, by which it gets this core.
    pub(super) fn put_into(self, original: &Path, copy: &Path) -> Result<()> {
        let crates = workspace::root().join("crates");
        let manifest = workspace::read(original.join("Cargo.toml"))?;
        let manifest = manifest.replace("../../crates", &crates.display().to_string());
        let is_root = manifest.contains("[workspace]");
        let root = if is_root { "" } else { "\n[workspace]\n" };
        workspace::write(copy.join("Cargo.toml"), manifest + root + &self.patch())
    }

    pub(super) fn patch(self) -> String {
        match self {
            Self::Original => String::new(),
            Self::Facade => {
                let facade = workspace::root().join(RAYON_CORE).display().to_string();
                format!("\n[patch.crates-io]\nrayon-core = {{ path = {facade:?} }}\n")
            }
        }
    }

    /// Fails when the package's lock file says that it was built with the other core.
    pub(super) fn check(self, folder: &Path) -> Result<()> {
        let is_it = core_in(&workspace::read(folder.join("Cargo.lock"))?) == Some(self);
        let folder = folder.display();
        ensure!(is_it, "{folder} has not the {self:?} rayon-core");
        Ok(())
    }
}

/// The core that a lock file names: what comes from a registry has a source.
fn core_in(lock: &str) -> Option<Core> {
    let mut packages = lock.split("[[package]]");
    let core = packages.find(|package| package.contains("name = \"rayon-core\""))?;
    Some(match core.contains("source = ") {
        true => Core::Original,
        false => Core::Facade,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_version_that_is_asked_for_is_found_among_others() {
        let package = |name: &str, version: &str| {
            let manifest = format!("/r/{name}-{version}/Cargo.toml");
            json!({"id": name, "name": name, "version": version, "manifest_path": manifest})
        };
        let mut speed = package("speed", "0");
        speed["manifest_path"] = json!(workspace::root().join("compat/speed/Cargo.toml"));
        speed["dependencies"] = json!([{"name": "a", "req": "=1.2"}, {"name": "c", "req": "=1"}]);
        let all = [
            speed,
            package("a", "1.1"),
            package("a", "1.2"),
            package("b", "3"),
        ];
        let packages = Packages(json!({"packages": all, "resolve": {"root": "speed"}}));
        let found = packages.find("a").unwrap();
        assert_eq!(found.version, "1.2");
        assert_eq!(found.folder, PathBuf::from("/r/a-1.2"));
        assert_eq!(packages.find("b").unwrap().version, "3");
        assert!(packages.find("c").is_err());
        let folders = ["/r/a-1.1", "/r/a-1.2", "/r/b-3"].map(PathBuf::from);
        assert_eq!(packages.folders(), folders);
    }

    #[test]
    fn a_lock_file_says_which_core_is_used() {
        let before = "[[package]]\nname = \"a\"\nsource = \"registry\"\n\n";
        let patched = format!("{before}[[package]]\nname = \"rayon-core\"\nversion = \"1\"\n");
        assert_eq!(core_in(&patched), Some(Core::Facade));
        let original = format!("{patched}source = \"registry\"\n");
        assert_eq!(core_in(&original), Some(Core::Original));
        assert_eq!(core_in(before), None);
    }
}
