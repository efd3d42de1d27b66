//! Writes a file so that it is there whole or not at all.

use crate::LabError;
use serde::Serialize;
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Writes a value as JSON.
pub(super) fn json(path: &Path, value: &impl Serialize) -> Result<(), LabError> {
    let json = serde_json::to_vec_pretty(value).map_err(io::Error::from);
    replace_file(path, &json.map_err(LabError::file("write", path))?)
}

/// Writes beside the file, then renames.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(LabError::file("create", parent))?;
    }
    let beside = beside(path);
    // What a killed process has left there, and a link is not followed.
    super::remove(&beside)?;
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    written
        .and_then(|()| fs::rename(&beside, path))
        .map_err(LabError::file("write", path))?;
    sync_folder(path)
}

/// Where a file is written first.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    beside.into()
}

/// The new name is on the disk only when its folder is. Only Unix lets a folder be synced.
fn sync_folder(path: &Path) -> Result<(), LabError> {
    match path.parent() {
        Some(folder) if cfg!(unix) => {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(LabError::file("write", folder))
        }
        _ => Ok(()),
    }
}
