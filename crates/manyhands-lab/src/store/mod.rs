//! A run as a folder: `run.json` is its head, `events.ndjson` has an event in each line, and all
//! other files are computed from these two.
//!
//! A finished block is never lost: its line is in the file before the next block begins, and what a killed process left of
//! a line that it was writing is cut off. The head is written whole before the first event. Only files that this program
//! wrote are ever replaced or removed; which these are is kept in a manifest beside them.
//!
//! # Threads
//! One process writes a folder at a time; a lock that the system drops with the process sees to
//! that.

mod manifest;
mod read;
mod replace;

pub use read::{Damage, Recording, read};
pub(crate) use replace::replace_file;

use crate::{
    LabError,
    record::{Event, Head},
    report,
};
use manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// What to do with a run that is in the folder already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and refuse.
    Keep,
    /// Replace it.
    Replace,
}

/// A run's folder, open for writing.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    events: File,
    manifest: Manifest,
    /// Held for as long as the store lives.
    lock: File,
}

impl Store {
    /// Begins a run in a folder, which is made if it is not there. A run that is replaced goes
    /// with everything that was computed from it; all other files stay.
    ///
    /// # Errors
    /// [`LabError::FolderInUse`] if it holds a run, finished or not, that is not to be replaced,
    /// [`LabError::ForeignFile`] if a file that is not of this program has the name of one that
    /// will be written, [`LabError::FolderLocked`] if another process writes it: then nothing is changed.
    /// [`LabError::File`] if it cannot be written.
    pub fn create(folder: &Path, head: &Head, existing: Existing) -> Result<Self, LabError> {
        // Before the lock, which is a file too.
        refuse(folder, existing)?;
        fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
        let lock = lock(folder)?;
        let mut manifest = refuse(folder, existing)?;
        // Old events must not be seen beside a new head, whenever this process is killed.
        remove(&folder.join(HEAD))?;
        manifest.remove_all(folder)?;
        manifest.claim(folder, [HEAD, EVENTS])?;
        let path = folder.join(EVENTS);
        let events = File::create_new(&path).map_err(LabError::file("create", &path))?;
        replace::json(&folder.join(HEAD), head)?;
        Ok(Self {
            folder: folder.to_owned(),
            events,
            manifest,
            lock,
        })
    }

    /// Opens the run in a folder to go on with it.
    ///
    /// # Errors
    /// Those of [`read`], and [`LabError::FolderLocked`] if another process writes it.
    pub fn resume(folder: &Path, damage: Damage) -> Result<(Self, Recording), LabError> {
        let lock = lock(folder)?;
        let recording = read(folder, damage)?;
        let manifest = Manifest::of(folder)?;
        let path = folder.join(EVENTS);
        let mut events = OpenOptions::new()
            .write(true)
            .open(&path)
            .map_err(LabError::file("open", &path))?;
        events
            .set_len(recording.whole_bytes)
            .and_then(|()| events.seek(SeekFrom::End(0)))
            .map_err(LabError::file("cut", &path))?;
        let store = Self {
            folder: folder.to_owned(),
            events,
            manifest,
            lock,
        };
        Ok((store, recording))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds an event, with the time that the run had taken when it happened: its line is with the
    /// system when this returns, and survives this process.
    ///
    /// # Errors
    /// [`LabError::File`] if it cannot be written.
    pub fn append(&mut self, event: &Event, spent: Duration) -> Result<(), LabError> {
        let spent_millis = u64::try_from(spent.as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_vec(&Line {
            event,
            spent_millis,
        });
        let written = line.map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.events.write_all(&line)
        });
        written.map_err(LabError::file("write", self.folder.join(EVENTS)))
    }

    /// Waits until all events are on the disk, where they survive the machine.
    ///
    /// # Errors
    /// [`LabError::File`] if the disk fails.
    pub fn sync(&mut self) -> Result<(), LabError> {
        let synced = self.events.sync_data();
        synced.map_err(LabError::file("write", self.folder.join(EVENTS)))
    }

    /// Writes files that are computed from the run, by name and content; a reader sees the old one or the new one, whole.
    /// The answer is the names that were left alone, because a file that somebody else made has them.
    ///
    /// # Errors
    /// [`LabError::File`] if one cannot be written.
    pub fn write<'file>(
        &mut self,
        files: &[(&'file str, &[u8])],
    ) -> Result<Vec<&'file str>, LabError> {
        let foreign = |(name, _): &(&str, &[u8])| self.manifest.foreign(&self.folder, name);
        let is_foreign = |file: &_| foreign(file).is_some();
        let (theirs, ours): (Vec<_>, Vec<_>) = files.iter().copied().partition(is_foreign);
        let names = ours.iter().map(|(name, _)| *name);
        self.manifest.claim(&self.folder, names)?;
        for (name, bytes) in ours {
            replace_file(&self.folder.join(name), bytes)?;
        }
        Ok(theirs.into_iter().map(|(name, _)| name).collect())
    }
}

impl Drop for Store {
    /// Closing the file would do, but for a process that is just being started and has a copy of it for a moment.
    fn drop(&mut self) {
        // If this fails, the lock ends with this process.
        let _ = self.lock.unlock();
    }
}

/// The manifest of a folder in which a run may begin.
fn refuse(folder: &Path, existing: Existing) -> Result<Manifest, LabError> {
    // Events without a head are no run: a process was killed while it began or replaced one.
    if existing == Existing::Keep && folder.join(HEAD).exists() {
        return Err(LabError::FolderInUse {
            path: folder.to_owned(),
        });
    }
    let manifest = Manifest::of(folder)?;
    let mut names = [HEAD, EVENTS].into_iter().chain(report::FILES);
    match names.find_map(|name| manifest.foreign(folder, name)) {
        Some(path) => Err(LabError::ForeignFile { path }),
        None => Ok(manifest),
    }
}

fn remove(path: &Path) -> Result<(), LabError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(LabError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

fn lock(folder: &Path) -> Result<File, LabError> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = opened.map_err(LabError::file("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LabError::FolderLocked {
            path: folder.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(LabError::file("lock", &path)(error)),
    }
}

/// A line of the events' file.
#[derive(Serialize, Deserialize)]
struct Line<E> {
    #[serde(flatten)]
    event: E,
    /// Time that the run had taken, in all its sessions; zero in files of earlier versions.
    #[serde(default)]
    spent_millis: u64,
}

const HEAD: &str = "run.json";
/// File with the events of a run, one in each line.
pub const EVENTS: &str = "events.ndjson";
const LOCK: &str = "run.lock";

#[cfg(test)]
mod tests;
