//! Runs a command line of the agent's own list, without a shell, with all processes that it starts in a group that ends
//! with it.

use super::{Allowed, Ended, Session, sender::HEAD, spool::write_whole};
use crate::{FleetError, measured::head_of, time::pause, wire::Work};
use manyhands_lab::{clock::Stopwatch, machine::Machine, store::EVENTS};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// What a command left: the one event of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    pub(crate) wall_nanos: u64,
    /// `None` if a signal ended it.
    pub(crate) status: Option<i32>,
    /// The beginning of what it printed.
    pub(crate) output: String,
    /// The beginning of what it printed as errors.
    pub(crate) errors: String,
}

/// Runs the command of an entry, from its beginning. Every now and then it asks whether the job still needs somebody.
pub(super) fn run(
    allowed: &Allowed,
    session: &Session<'_>,
    is_superseded: &dyn Fn() -> bool,
) -> Result<Ended, FleetError> {
    let Session { entry, stop, .. } = *session;
    let work = &entry.job().work;
    let head = head_of(work, &[], Machine::here(), &session.started);
    let (Work::Command { name, holes, .. }, Some(head)) = (work, head) else {
        return Err(FleetError::Unable {
            reason: "the job is no command".to_owned(),
        });
    };
    let (program, arguments) = allowed.filled(name, holes)?;
    let head = serde_json::to_vec_pretty(&head).map_err(FleetError::format("a head"))?;
    let (out, err) = (entry.folder().join("output"), entry.folder().join("errors"));
    let (out, err) = (Output::to(&out)?, Output::to(&err)?);
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(out.file()?)
        .stderr(err.file()?);
    // Also those that it starts are of its group.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let watch = Stopwatch::start();
    let spawned = command.spawn().map_err(|error| FleetError::Unable {
        reason: format!("'{}' cannot be started: {error}", program.display()),
    });
    let mut child = Running(spawned?);
    let seconds_max = work.seconds_max();
    let mut asked = Stopwatch::start();
    let status = loop {
        let ended = child.0.try_wait();
        if let Some(status) = ended.map_err(FleetError::file("wait for", program))? {
            break status;
        }
        if stop.is_set() {
            return Ok(Ended::Interrupted);
        }
        if seconds_max.is_some_and(|seconds| watch.elapsed() > Duration::from_secs(seconds)) {
            let reason = format!("'{name}' was ended after the minutes that the plan gives a job");
            return Err(FleetError::Plan { reason });
        }
        if asked.elapsed() > ASK_AGAIN {
            if is_superseded() {
                return Ok(Ended::Superseded);
            }
            asked = Stopwatch::start();
        }
        out.bound()?;
        err.bound()?;
        pause(LOOK_AGAIN, stop);
    };
    let wall = watch.elapsed();
    // Whatever it has left running would be there beside the next measurement.
    drop(child);
    out.bound()?;
    err.bound()?;
    let outcome = Outcome {
        wall_nanos: u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX),
        status: status.code(),
        output: out.beginning()?,
        errors: err.beginning()?,
    };
    let mut line = serde_json::to_vec(&outcome).map_err(FleetError::format("an outcome"))?;
    line.push(b'\n');
    write_whole(entry.folder(), EVENTS, &line)?;
    write_whole(entry.folder(), HEAD, &head)?;
    entry.finish()?;
    Ok(Ended::Finished)
}

/// A program that does not outlive this value, nor does what it has started in its group.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // All of it fails only for processes that have ended.
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.0.id()) {
            use nix::{sys::signal, unistd::Pid};
            let _ = signal::killpg(Pid::from_raw(group), signal::Signal::SIGKILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file for what a program prints. Its beginning is kept, and it does not grow without end.
struct Output<'path> {
    file: File,
    path: &'path Path,
}

impl<'path> Output<'path> {
    fn to(path: &'path Path) -> Result<Self, FleetError> {
        // What is appended goes behind what is there, also after the rest was cut off.
        let opened = File::create(path).and_then(|_| File::options().append(true).open(path));
        let file = opened.map_err(FleetError::file("create", path))?;
        Ok(Self { file, path })
    }

    fn file(&self) -> Result<File, FleetError> {
        let file = self.file.try_clone();
        file.map_err(FleetError::file("open", self.path))
    }

    /// Cuts off what is not kept, once there is much of it.
    fn bound(&self) -> Result<(), FleetError> {
        let cut = self.file.metadata().and_then(|known| {
            if known.len() > OUTPUT_MAX {
                self.file.set_len(PRINTED_MAX)?;
            }
            Ok(())
        });
        cut.map_err(FleetError::file("cut", self.path))
    }

    fn beginning(&self) -> Result<String, FleetError> {
        let mut bytes = Vec::new();
        let opened = File::open(self.path);
        let read = opened.and_then(|file| file.take(PRINTED_MAX).read_to_end(&mut bytes));
        read.map_err(FleetError::file("read", self.path))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Bytes of each output that are kept: both fit into a message, however they have to be written there.
const PRINTED_MAX: u64 = 32 << 10;
/// Bytes of each output that may be on the disk.
const OUTPUT_MAX: u64 = 1 << 20;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const ASK_AGAIN: Duration = Duration::from_secs(5);

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::spool::Spool,
        wire::{Job, Seconds, Text, a_job},
    };
    use manyhands_lab::run::Interrupt;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::{cell::RefCell, fs};

    const DEADLINE: Duration = Duration::from_secs(60);

    /// Runs a shell's words as an agent's own command, with one hole that holds a folder. The answer is how it ended, and
    /// the run's folder.
    fn run_shell(
        words: &str,
        seconds_max: Option<u64>,
        is_superseded: &dyn Fn(&Path) -> bool,
    ) -> (Result<Ended, FleetError>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(&folder.path().join("spool")).unwrap();
        let here = Text::of(folder.path().to_str().unwrap());
        let work = Work::Command {
            name: "shell".parse().unwrap(),
            holes: [("folder".parse().unwrap(), here)].into(),
            seconds_max: seconds_max.map(Seconds::nearest),
        };
        let entry = spool.entry(&Job { work, ..a_job() }).unwrap();
        let stop = Interrupt::default();
        let session = Session {
            entry: &entry,
            started: "now".to_owned(),
            stop: &stop,
        };
        let list = format!(
            "[commands.shell]\nline = ['/bin/sh', '-c', '{words}', '{{folder}}']\nholes.folder = '/[A-Za-z0-9._/-]+'"
        );
        let allowed = Allowed::parse(&list).unwrap();
        let ended = run(&allowed, &session, &|| is_superseded(folder.path()));
        fs::rename(entry.folder(), folder.path().join("run")).unwrap();
        (ended, folder)
    }

    #[test]
    fn a_command_is_ended_after_the_minutes_of_its_plan_for_its_own_sake() {
        let (ended, folder) = run_shell("sleep 60", Some(1), &|_| false);
        let refused = ended.unwrap_err();
        assert!(matches!(refused, FleetError::Plan { .. }), "{refused}");
        assert!(refused.to_string().contains("'shell'"), "{refused}");
        assert!(!folder.path().join("run").join(EVENTS).exists());
    }

    #[test]
    fn a_command_that_nobody_wants_any_more_is_ended_with_all_that_it_has_started() {
        // Its processes hold an end of a pipe, whose other end says when the last of them is gone.
        let words = "mkfifo $0/pipe; sleep 600 3> $0/pipe & sleep 600 3> $0/pipe & sleep 600";
        let reader = RefCell::new(None);
        let (ended, _folder) = run_shell(words, None, &|folder| {
            let pipe = folder.join("pipe");
            let is_there = pipe.exists();
            if is_there {
                // When the first of them has opened it too.
                *reader.borrow_mut() = File::open(pipe).ok();
            }
            is_there
        });
        assert_eq!(ended.unwrap(), Ended::Superseded);
        let mut reader = reader.into_inner().unwrap();
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let watch = Stopwatch::start();
        while reader.read(&mut [0]).is_err() {
            assert!(watch.elapsed() < DEADLINE, "one of them lives on");
            pause(LOOK_AGAIN, &Interrupt::default());
        }
    }

    #[test]
    fn what_a_command_prints_is_bounded_in_its_outcome_and_on_the_disk() {
        let words = "yes | head -c 40000000; echo end >&2; exit 3";
        let (ended, folder) = run_shell(words, None, &|_| false);
        assert_eq!(ended.unwrap(), Ended::Finished);
        let run = folder.path().join("run");
        let outcome: Outcome =
            serde_json::from_slice(&fs::read(run.join(EVENTS)).unwrap()).unwrap();
        assert_eq!(
            (outcome.status, outcome.errors.as_str()),
            (Some(3), "end\n")
        );
        assert_eq!(outcome.output.len() as u64, PRINTED_MAX);
        assert!(fs::metadata(run.join("output")).unwrap().len() <= OUTPUT_MAX);
    }
}
