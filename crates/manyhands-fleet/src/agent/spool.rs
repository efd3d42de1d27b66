//! The runs on an agent's disk: one folder each, laid out as the laboratory does, with a card that says for which job.

use super::host::make_own;
use crate::{
    FleetError, Name,
    file_lock::FileLock,
    wire::{self, Job},
};
use serde::{Deserialize, Serialize};
use std::{
    cell::RefCell,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    mem,
    path::{Path, PathBuf},
};

/// All runs of an agent, while it holds the lock of their folder.
#[derive(Debug)]
pub(super) struct Spool {
    runs: PathBuf,
    /// Why runs were set aside, until they are reported.
    unreported: RefCell<Vec<String>>,
    /// Held for as long as the spool is open.
    _lock: FileLock,
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
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(FleetError::file("create", parent))?;
        }
        make_own(folder, "--spool")?;
        let runs = folder.join("runs");
        fs::create_dir_all(&runs).map_err(FleetError::file("create", &runs))?;
        let path = folder.join("agent.lock");
        match FileLock::try_of(open_lock(&path)?, &path)? {
            Some(lock) => Ok(Self {
                runs,
                unreported: RefCell::default(),
                _lock: lock,
            }),
            None => Err(FleetError::FolderInUse {
                path: folder.to_owned(),
            }),
        }
    }

    /// All runs, the oldest first. What a killed agent left without a card is removed: nothing was measured there. What
    /// cannot be read is set aside.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, FleetError> {
        let read = fs::read_dir(&self.runs).map_err(FleetError::file("read", &self.runs))?;
        let mut entries = Vec::new();
        for found in read {
            let folder = found.map_err(FleetError::file("read", &self.runs))?.path();
            match read_regular(&folder.join(CARD)) {
                Ok(bytes) => match wire::from_bytes(&bytes) {
                    Ok(card) => entries.push(Entry { folder, card }),
                    Err(error) => self.set_aside(&folder, &error)?,
                },
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::remove_dir_all(&folder).map_err(FleetError::file("remove", &folder))?;
                }
                Err(error) => self.set_aside(&folder, &error)?,
            }
        }
        entries.sort_by(|one, other| one.card.run.cmp(&other.card.run));
        Ok(entries)
    }

    /// Moves a run out of the way that is of no use, for a person to look at, and remembers to report it.
    pub(super) fn set_aside(
        &self,
        folder: &Path,
        reason: &dyn std::error::Error,
    ) -> Result<(), FleetError> {
        let aside = self.runs.with_file_name(ASIDE);
        let place = aside.join(&*wire::new_id());
        let moved = fs::create_dir_all(&aside).and_then(|()| fs::rename(folder, &place));
        moved.map_err(FleetError::file("move", folder))?;
        let reported = format!("{reason}; it is set aside as '{}'", place.display());
        self.unreported.borrow_mut().push(reported);
        Ok(())
    }

    /// What was set aside and is not reported yet.
    pub(super) fn complaint(&self) -> Option<FleetError> {
        let mut unreported = mem::take(&mut *self.unreported.borrow_mut());
        let first = unreported.pop()?;
        let reason = match unreported.len() {
            0 => first,
            more => format!("{first}, and {more} more beside it"),
        };
        let what = "a run in the spool";
        Some(FleetError::Format { what, reason })
    }

    /// The run of this job, which may have begun before, or a new one. What was begun of the job before it was given anew
    /// is dropped.
    pub(super) fn entry(&self, job: &Job) -> Result<Entry, FleetError> {
        let mut entries = self.entries()?.into_iter();
        if let Some(entry) = entries.find(|entry| entry.card.job == *job) {
            return Ok(entry);
        }
        self.drop_job(&job.id)?;
        let run = wire::new_id();
        let folder = self.runs.join(&*run);
        fs::create_dir(&folder).map_err(FleetError::file("create", &folder))?;
        let job = job.clone();
        let card = Card { run, job };
        write_whole(&folder, CARD, &wire::to_bytes(&card)?)?;
        Ok(Entry { folder, card })
    }

    /// Drops what was begun of a job. What is finished stays until the server has answered it.
    pub(super) fn drop_job(&self, job: &Name) -> Result<(), FleetError> {
        let entries = self.entries()?.into_iter();
        let mut begun = entries.filter(|entry| entry.card.job.id == *job && !entry.is_finished());
        begun.try_for_each(|entry| entry.remove())
    }

    /// Ends a run that came to nothing: what is finished is kept for a person to look at.
    pub(super) fn give_up(&self, entry: &Entry, reason: &FleetError) -> Result<(), FleetError> {
        match entry.is_finished() {
            true => self.set_aside(&entry.folder, reason),
            false => entry.remove(),
        }
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

    /// Removes it, the card first: what a kill leaves without it is no run, and [`Spool::entries`] removes the rest.
    pub(super) fn remove(&self) -> Result<(), FleetError> {
        let removed = fs::remove_file(self.folder.join(CARD));
        let removed = removed.and_then(|()| fs::remove_dir_all(&self.folder));
        removed.map_err(FleetError::file("remove", &self.folder))
    }
}

/// Opens a file to read it. What is no file, such as a pipe, is refused: to open or to read it could take for ever.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true), path)
}

/// What is in a file, if it fits into a message.
pub(super) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(BYTES_MAX + 1)
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Opens a file to lock it, and makes it for its owner alone.
pub(super) fn open_lock(path: &Path) -> Result<File, FleetError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    regular(&mut options, path).map_err(FleetError::file("open", path))
}

fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, O_NOFOLLOW | O_NONBLOCK);
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file")),
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
/// Of a file that is read whole.
const BYTES_MAX: u64 = 1 << 20;
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
        spool.drop_job(&job("a").id).unwrap();
        assert_ne!(*spool.entry(&job("a")).unwrap().run(), run);
    }

    #[test]
    fn what_is_finished_stays_until_it_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let entry = spool.entry(&job("a")).unwrap();
        entry.finish().unwrap();
        spool.drop_job(&job("a").id).unwrap();
        assert_eq!(spool.entry(&job("a")).unwrap().run(), entry.run());
        let anew = Job {
            ticket: wire::new_ticket(),
            ..job("a")
        };
        assert_ne!(spool.entry(&anew).unwrap().run(), entry.run());
        assert_eq!(spool.entries().unwrap().len(), 2);
        let why = FleetError::Format {
            what: "a line",
            reason: "it is too long".to_owned(),
        };
        spool.give_up(&entry, &why).unwrap();
        assert_eq!(spool.entries().unwrap().len(), 1);
        let said = spool.complaint().unwrap().to_string();
        assert!(said.contains("too long; it is set aside as"), "{said}");
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

    #[cfg(unix)]
    #[test]
    fn what_cannot_be_read_is_set_aside_and_the_others_stay() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let good = spool.entry(&job("a")).unwrap();
        let bad = |name: &str, make: &dyn Fn(&Path)| {
            let folder = folder.path().join("runs").join(name);
            fs::create_dir(&folder).unwrap();
            make(&folder.join(CARD));
        };
        bad("text", &|card| fs::write(card, "{\"run\":\"x\"}").unwrap());
        let long = vec![b' '; 2 << 20];
        bad("long", &|card| fs::write(card, &long).unwrap());
        let other = good.folder().join(CARD);
        bad("link", &|card| symlink(&other, card).unwrap());
        bad("folder", &|card| fs::create_dir(card).unwrap());
        // To open it would take until somebody writes into it.
        bad("pipe", &|card| {
            let made = std::process::Command::new("mkfifo").arg(card).status();
            assert!(made.unwrap().success());
        });
        let entries = spool.entries().unwrap();
        assert_eq!((entries.len(), entries[0].run()), (1, good.run()));
        let said = spool.complaint().unwrap().to_string();
        assert!(
            said.contains("set aside") && said.contains("4 more"),
            "{said}"
        );
        assert!(spool.complaint().is_none(), "it is said once");
        assert_eq!(fs::read_dir(folder.path().join(ASIDE)).unwrap().count(), 5);
    }

    #[cfg(unix)]
    #[test]
    fn a_spool_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("agents").join("spool");
        drop(Spool::open(&own).unwrap());
        let mode = fs::metadata(&own).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = Spool::open(&own).unwrap_err().to_string();
        assert!(refused.contains("--spool"), "{refused}");
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
