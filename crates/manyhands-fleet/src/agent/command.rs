//! Runs a program of the agent's own list, without a shell.

use super::{Ended, Session, sender::HEAD, spool::write_whole};
use crate::{FleetError, time::pause, wire::Work};
use manyhands_lab::{
    Scale, clock::Stopwatch, machine::Machine, record::Settings, run, store::EVENTS,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// The programs an agent may run, by the names that plans use.
///
/// # Examples
/// ```
/// use manyhands_fleet::agent::Allowed;
///
/// let allowed = Allowed::parse("[commands]\nword-count = '/usr/bin/wc'")?;
/// assert!(Allowed::parse("[commands]\nword-count = 'wc'").is_err(), "a path is absolute");
/// # Ok::<(), manyhands_fleet::FleetError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    commands: BTreeMap<String, PathBuf>,
}

impl Allowed {
    /// Reads a list: a table `commands` of names and absolute paths.
    ///
    /// # Errors
    /// [`FleetError::Arguments`] if it is no such table.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let wrong = |reason| FleetError::Arguments { reason };
        let allowed: Self = toml::from_str(text)
            .map_err(|error| wrong(format!("the list of commands: {}", error.message())))?;
        let mut paths = allowed.commands.values();
        match paths.find(|path| !path.is_absolute()) {
            Some(path) => Err(wrong(format!("'{}' is no absolute path", path.display()))),
            None => Ok(allowed),
        }
    }
}

/// What a command left: the one event of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    let Work::Command {
        name,
        arguments,
        seconds_max,
    } = &entry.job().work
    else {
        return Err(FleetError::Arguments {
            reason: "the job is no command".to_owned(),
        });
    };
    let Some(program) = allowed.commands.get(name) else {
        let reason = format!("this agent's list has no command '{name}'");
        return Err(FleetError::Arguments { reason });
    };
    let settings = Settings::new(Scale::Quick, 1);
    let head = run::head(&[], settings, Machine::here(), session.started.as_str());
    let head = serde_json::to_vec_pretty(&head).map_err(FleetError::format("a head"))?;
    let (out, err) = (entry.folder().join("output"), entry.folder().join("errors"));
    let file = |path: &Path| File::create(path).map_err(FleetError::file("create", path));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file(&out)?)
        .stderr(file(&err)?);
    let watch = Stopwatch::start();
    let spawned = command.spawn().map_err(FleetError::file("start", program));
    let mut child = Running(spawned?);
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
        pause(LOOK_AGAIN, stop);
    };
    let outcome = Outcome {
        wall_nanos: u64::try_from(watch.elapsed().as_nanos()).unwrap_or(u64::MAX),
        status: status.code(),
        output: beginning(&out)?,
        errors: beginning(&err)?,
    };
    let mut line = serde_json::to_vec(&outcome).map_err(FleetError::format("an outcome"))?;
    line.push(b'\n');
    write_whole(entry.folder(), EVENTS, &line)?;
    write_whole(entry.folder(), HEAD, &head)?;
    entry.finish()?;
    Ok(Ended::Finished)
}

/// A program that does not outlive this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn beginning(path: &Path) -> Result<String, FleetError> {
    let bytes = fs::read(path).map_err(FleetError::file("read", path))?;
    let shown = &bytes[..bytes.len().min(PRINTED_MAX)];
    Ok(String::from_utf8_lossy(shown).into_owned())
}

/// Bytes of each output that are kept.
const PRINTED_MAX: usize = 64 << 10;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const ASK_AGAIN: Duration = Duration::from_secs(5);

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::{agent::spool::Spool, wire::Job};
    use manyhands_lab::run::Interrupt;

    /// Runs a program that would take a minute.
    fn run_long(seconds_max: Option<u64>, is_superseded: bool) -> Result<Ended, FleetError> {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::open(folder.path()).unwrap();
        let work = Work::Command {
            name: "long".to_owned(),
            arguments: vec!["60".to_owned()],
            seconds_max,
        };
        let entry = spool.entry(&Job {
            id: "p.0".to_owned(),
            plan: "p".to_owned(),
            work,
            attempts: 1,
            cpus: None,
        });
        let (entry, stop) = (entry.unwrap(), Interrupt::default());
        let session = Session {
            entry: &entry,
            started: "now".to_owned(),
            stop: &stop,
        };
        let allowed = Allowed::parse("[commands]\nlong = '/bin/sleep'").unwrap();
        let ended = run(&allowed, &session, &|| is_superseded);
        assert!(!entry.is_finished());
        ended
    }

    #[test]
    fn a_command_is_ended_after_the_minutes_of_its_plan_and_not_tried_again() {
        let refused = run_long(Some(0), false).unwrap_err();
        // This kind of error ends a job for good.
        assert!(matches!(refused, FleetError::Plan { .. }), "{refused}");
        assert!(refused.to_string().contains("'long'"), "{refused}");
    }

    #[test]
    fn a_command_that_nobody_wants_any_more_is_ended() {
        assert_eq!(run_long(None, true).unwrap(), Ended::Superseded);
    }
}
