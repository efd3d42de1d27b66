//! The runs on an agent's disk: one folder each, laid out as the laboratory does, with a card that says for which job.

use crate::{
    FleetError, Name,
    wire::{self, Job},
};
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// All runs of an agent, while it holds the lock of their folder.
#[derive(Debug)]
pub(super) struct Spool {
    runs: PathBuf,
    /// Held for as long as the spool is open.
    _lock: File,
}

/// A run.
#[derive(Debug)]
pub(super) struct Entry {
    folder: PathBuf,
    card: Card,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    run: Name,
    job: Job,
}

impl Spool {
    pub(super) fn open(folder: &Path) -> Result<Self, FleetError> {
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(FleetError::file("create", &runs))?;
        let path = folder.join("agent.lock");
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = opened.map_err(FleetError::file("open", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { runs, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FleetError::FolderInUse {
                path: folder.to_owned(),
            }),
            Err(TryLockError::Error(error)) => Err(FleetError::file("lock", &path)(error)),
        }
    }

    /// All runs, the oldest first. What a killed agent left without a card is removed: nothing was measured there.
    ///
    /// # Errors
    /// [`FleetError::File`], and [`FleetError::Format`] once for each run that cannot be read: it is set aside.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, FleetError> {
        let read = fs::read_dir(&self.runs).map_err(FleetError::file("read", &self.runs))?;
        let mut entries = Vec::new();
        for found in read {
            let folder = found.map_err(FleetError::file("read", &self.runs))?.path();
            match fs::read(folder.join(CARD)) {
                Ok(bytes) => match wire::from_bytes(&bytes) {
                    Ok(card) => entries.push(Entry { folder, card }),
                    Err(error) => return Err(self.set_aside(&folder, &error.to_string())),
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::remove_dir_all(&folder).map_err(FleetError::file("remove", &folder))?;
                }
                Err(error) => return Err(self.set_aside(&folder, &error.to_string())),
            }
        }
        entries.sort_by(|one, other| one.card.run.cmp(&other.card.run));
        Ok(entries)
    }

    /// Moves a run out of the way that is of no use, for a person to look at. The answer says so.
    pub(super) fn set_aside(&self, folder: &Path, reason: &str) -> FleetError {
        let aside = self.runs.with_file_name(ASIDE);
        let place = aside.join(&*wire::new_id());
        let moved = fs::create_dir_all(&aside).and_then(|()| fs::rename(folder, &place));
        match moved {
            Ok(()) => FleetError::Format {
                what: "a run in the spool",
                reason: format!("{reason}; it is set aside as '{}'", place.display()),
            },
            Err(error) => FleetError::file("move", folder)(error),
        }
    }

    /// The run of this job, which may have begun before, or a new one.
    pub(super) fn entry(&self, job: &Job) -> Result<Entry, FleetError> {
        let mut entries = self.entries()?.into_iter();
        if let Some(entry) = entries.find(|entry| entry.card.job.id == job.id) {
            if entry.card.job == *job {
                return Ok(entry);
            }
            // The job is given anew, and what was begun before counts no more.
            entry.remove()?;
        }
        let run = wire::new_id();
        let folder = self.runs.join(&*run);
        fs::create_dir(&folder).map_err(FleetError::file("create", &folder))?;
        let job = job.clone();
        let card = Card { run, job };
        write_whole(&folder, CARD, &wire::to_bytes(&card)?)?;
        Ok(Entry { folder, card })
    }

    /// Writes and removes a file as long as a part of a run.
    ///
    /// # Errors
    /// [`FleetError::File`] if there is no room for it.
    pub(super) fn try_room(&self) -> Result<(), FleetError> {
        let folder = self.runs.parent().unwrap_or(&self.runs);
        write_whole(folder, ROOM, &[0; ROOM_BYTES])?;
        let path = folder.join(ROOM);
        fs::remove_file(&path).map_err(FleetError::file("remove", &path))
    }

    /// Drops the run of a job, if there is one.
    pub(super) fn drop_job(&self, job: &Name) -> Result<(), FleetError> {
        let entries = self.entries()?.into_iter();
        let mut entries = entries.filter(|entry| entry.card.job.id == *job);
        entries.try_for_each(|entry| entry.remove())
    }
}

impl Entry {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn run(&self) -> &Name {
        &self.card.run
    }

    pub(super) fn job(&self) -> &Job {
        &self.card.job
    }

    pub(super) fn is_finished(&self) -> bool {
        self.folder.join(FINISHED).exists()
    }

    /// From now on the run is only sent.
    pub(super) fn finish(&self) -> Result<(), FleetError> {
        write_whole(&self.folder, FINISHED, b"")
    }

    /// Removes it, the card last but for the folder: what is left after a kill is still known as this run.
    pub(super) fn remove(&self) -> Result<(), FleetError> {
        fs::remove_dir_all(&self.folder).map_err(FleetError::file("remove", &self.folder))
    }
}

/// A reader sees the file whole or not at all, also after the machine has lost its power.
pub(super) fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FleetError> {
    let (path, temporary) = (folder.join(name), folder.join(format!("{name}.new")));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| {
        fs::rename(&temporary, &path)?;
        // The name is on the disk when its folder is.
        #[cfg(unix)]
        File::open(folder)?.sync_all()?;
        Ok(())
    });
    renamed.map_err(|error| {
        // What a full disk got of it would keep it full. If it is not there, nothing is to be done.
        let _ = fs::remove_file(&temporary);
        FleetError::file("write", &path)(error)
    })
}

const ASIDE: &str = "aside";
const ROOM: &str = "room";
const ROOM_BYTES: usize = 256 << 10;
const CARD: &str = "fleet.json";
/// A file that is there as soon as all lines are.
const FINISHED: &str = "fleet.finished";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str) -> Job {
        Job {
            id: id.parse().unwrap(),
            ..wire::a_job()
        }
    }

    #[test]
    fn a_job_that_comes_again_gets_the_run_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let run = spool.entry(&job("a")).unwrap().run().clone();
        assert_ne!(*spool.entry(&job("b")).unwrap().run(), run);
        drop(spool);
        let spool = Spool::open(folder.path()).unwrap();
        let again = spool.entry(&job("a")).unwrap();
        assert_eq!(*again.run(), run);
        assert!(!again.is_finished());
        again.finish().unwrap();
        assert!(spool.entry(&job("a")).unwrap().is_finished());
        spool.drop_job(&job("a").id).unwrap();
        assert_ne!(*spool.entry(&job("a")).unwrap().run(), run);
    }

    #[test]
    fn a_second_agent_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _first = Spool::open(folder.path()).unwrap();
        let error = Spool::open(folder.path()).unwrap_err();
        assert!(matches!(error, FleetError::FolderInUse { .. }), "{error}");
    }

    #[test]
    fn what_has_no_card_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        spool.entry(&job("a")).unwrap();
        let half = folder.path().join("runs").join("half");
        fs::create_dir(&half).unwrap();
        assert_eq!(spool.entries().unwrap().len(), 1);
        assert!(!half.exists());
    }

    #[test]
    fn what_cannot_be_read_is_set_aside_once_and_the_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let good = spool.entry(&job("a")).unwrap();
        let bad = folder.path().join("runs").join("bad");
        fs::create_dir(&bad).unwrap();
        fs::write(bad.join(CARD), "{\"run\":\"x\"}").unwrap();
        let said = spool.entries().unwrap_err().to_string();
        assert!(said.contains("set aside"), "{said}");
        let entries = spool.entries().unwrap();
        assert_eq!((entries.len(), entries[0].run()), (1, good.run()));
        assert_eq!(fs::read_dir(folder.path().join(ASIDE)).unwrap().count(), 1);
    }

    #[test]
    fn a_job_that_is_given_anew_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let before = spool.entry(&job("a")).unwrap().run().clone();
        let anew = Job {
            ticket: wire::new_ticket(),
            ..job("a")
        };
        assert_ne!(*spool.entry(&anew).unwrap().run(), before);
        assert_eq!(spool.entries().unwrap().len(), 1);
    }
}
