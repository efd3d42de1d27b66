//! Which files of a folder this program wrote: only these are ever replaced or removed.
//!
//! A name is in the manifest before its file is there, and a file that is there without being named belongs to somebody
//! else. So a process that is killed at any point leaves nothing that the next one would take for its own by mistake.

use super::{remove, replace};
use crate::LabError;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// Names of files within the folder, with slashes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    files: BTreeSet<String>,
}

impl Manifest {
    /// The manifest of a folder; empty if there is none.
    pub(super) fn of(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(MANIFEST);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            other => other.map_err(LabError::file("read", &path))?,
        };
        let damaged = |reason: String| LabError::Damaged {
            path: path.clone(),
            line: 1,
            reason,
        };
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        // Files are removed by these names, so none may lead out of the folder.
        match manifest.files.iter().find(|name| !stays_inside(name)) {
            Some(name) => Err(damaged(format!("'{name}' is no file of this folder"))),
            None => Ok(manifest),
        }
    }

    /// A file that somebody else made where one of this name is to be, or where that is written first.
    pub(super) fn foreign(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let path = folder.join(name);
        let places = [replace::beside(&path), path].into_iter();
        let places = places.filter(|_| !self.files.contains(name));
        places.rev().find(|path| path.symlink_metadata().is_ok())
    }

    /// Claims these names, which must not be foreign.
    pub(super) fn claim<'name>(
        &mut self,
        folder: &Path,
        names: impl IntoIterator<Item = &'name str>,
    ) -> Result<(), LabError> {
        let before = self.files.len();
        self.files.extend(names.into_iter().map(str::to_owned));
        if self.files.len() == before {
            return Ok(());
        }
        replace::json(&folder.join(MANIFEST), self)
    }

    /// Removes all files named here, and forgets their names; others stay.
    pub(super) fn remove_all(&mut self, folder: &Path) -> Result<(), LabError> {
        for name in &self.files {
            let path = folder.join(name);
            remove(&path)?;
            remove(&replace::beside(&path))?;
        }
        self.files.clear();
        Ok(())
    }
}

fn stays_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The manifest's own file.
pub(super) const MANIFEST: &str = "run.files.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_out_of_the_folder_is_damage() {
        for name in ["../notes.txt", "/etc/passwd", "charts/../../x", ""] {
            let folder = tempfile::tempdir().unwrap();
            let json = serde_json::json!({ "files": [name] }).to_string();
            fs::write(folder.path().join(MANIFEST), json).unwrap();
            let error = Manifest::of(folder.path()).unwrap_err();
            assert!(matches!(error, LabError::Damaged { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn what_is_claimed_is_ours_and_everything_else_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::write(path.join("a"), "theirs").unwrap();
        let mut manifest = Manifest::of(path).unwrap();
        assert_eq!(manifest.foreign(path, "a"), Some(path.join("a")));
        assert_eq!(manifest.foreign(path, "b"), None);
        manifest.claim(path, ["b"]).unwrap();
        fs::write(path.join("b"), "ours").unwrap();
        fs::write(path.join("b.new"), "what a killed process left").unwrap();
        let mut manifest = Manifest::of(path).unwrap();
        assert_eq!(manifest.foreign(path, "b"), None);
        manifest.remove_all(path).unwrap();
        let left = ["a", "b", "b.new"].map(|name| path.join(name).exists());
        assert_eq!(left, [true, false, false]);
        fs::write(path.join("b"), "theirs").unwrap();
        assert!(manifest.foreign(path, "b").is_some());
    }
}
