//! `fleet agent`: an agent on this machine, and how the machine ends with it.

use super::{Complaints, Program, ServerOptions, answer, remark};
use crate::{
    FleetError, Name,
    agent::{
        Agent, Allowed, End, Finding, Setup, Verdict, default_host_lock, host_name, preflight,
    },
};
use clap::{Args, ValueEnum};
use manyhands_lab::{
    console::{Ending, Printing},
    launcher::Launcher,
    machine::NOISE_PROBE,
    plain::plain,
    run::Interrupt,
};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// Options of an agent.
#[derive(Debug, PartialEq, Args)]
pub struct Pull {
    #[command(flatten)]
    server: ServerOptions,
    /// Name: letters, digits, '-', '_' and '.'; with keys the one of its token [default: the name of this machine]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,
    /// Folder for what is not sent yet [default: manyhands-agent/NAME]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,
    /// File that the agents of a machine lock in turn [default: one in this user's folder for what runs]
    #[arg(long, value_name = "FILE")]
    host_lock: Option<PathBuf>,
    /// File with the command lines that plans may run here, as TOML
    #[arg(long, value_name = "FILE")]
    allow: Option<PathBuf>,
    /// What this machine is called in the table of prices
    #[arg(long, value_name = "NAME")]
    machine: Option<Name>,
    /// Only look at server, clock, CPUs, disk and load, and fail if something is wrong
    #[arg(long)]
    check: bool,
    /// End after this number of seconds without a job
    #[arg(long, value_name = "SECONDS")]
    idle: Option<u64>,
    /// End after this number of hours, whatever there is to do: between two blocks, and what is measured is kept
    #[arg(long, value_name = "HOURS", value_parser = hours)]
    max_hours: Option<f64>,
    /// What --idle and --max-hours do when the agent has ended by them
    #[arg(long, value_enum, default_value_t = OnIdle::End)]
    on_idle: OnIdle,
}

/// What becomes of the machine when its agent has nothing left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnIdle {
    /// The agent ends
    End,
    /// The agent ends and switches the machine off
    PowerOff,
}

pub(super) fn pull(
    options: &Pull,
    program: Program,
    stop: &Interrupt,
) -> Result<Ending, FleetError> {
    let has_end = options.idle.is_some() || options.max_hours.is_some();
    if options.on_idle == OnIdle::PowerOff && !has_end {
        let reason = "'--on-idle power-off' needs --idle or --max-hours, which say when".to_owned();
        return Err(FleetError::Arguments { reason });
    }
    let printing = program.printing;
    let engine = options.server.connect()?;
    let setup = options.setup()?;
    if options.check {
        check(&preflight(&engine, &setup, NOISE_PROBE), printing)?;
        return Ok(Ending::Good);
    }
    let offer = format!(
        "Agent {} offers {} CPUs to {}. Ctrl-C ends it; what it has measured is kept in {}.",
        setup.name,
        setup.cpus,
        options.server.server,
        setup.spool.display()
    );
    remark(printing, &offer)?;
    let mut agent = Agent::new(setup, &engine, (program.experiments)())?;
    let mut complaints = Complaints::new(printing);
    let idle = options.idle.map(Duration::from_secs);
    let hours = options
        .max_hours
        .map(|hours| Duration::from_secs_f64(hours * SECONDS_PER_HOUR));
    let (ended, is_late) = within(hours, stop, || {
        agent.run(idle, stop, |error| {
            // Standard output may be gone; the agent goes on.
            let _ = complaints.hear(error);
        })
    });
    if is_late {
        remark(printing, "The hours that this agent may run are over.")?;
    }
    // A person who ends the agent may still want the machine.
    if !is_late && ended == End::Asked {
        return Ok(Ending::Interrupted);
    }
    if options.on_idle == OnIdle::PowerOff {
        remark(printing, "Switching the machine off.")?;
        power_off(POWER_OFF)?;
    }
    Ok(Ending::Good)
}

impl Pull {
    /// Whether it only looks at this machine.
    pub(super) fn is_check(&self) -> bool {
        self.check
    }

    fn setup(&self) -> Result<Setup, FleetError> {
        let name = self.name.clone().unwrap_or_else(host_name);
        let allowed = match &self.allow {
            Some(path) => {
                let text = fs::read_to_string(path).map_err(FleetError::file("read", path))?;
                Allowed::parse(&text)?
            }
            None => Allowed::default(),
        };
        let spool = self.spool.clone();
        let lock = self.host_lock.clone().map(Ok);
        Ok(Setup {
            spool: spool.unwrap_or_else(|| Path::new("manyhands-agent").join(&*name)),
            name,
            host_lock: lock.unwrap_or_else(default_host_lock)?,
            cpus: thread::available_parallelism().map_or(1, usize::from),
            machine: self.machine.clone(),
            allowed,
            launcher: Launcher::this_program().map_err(FleetError::file("find", "this program"))?,
        })
    }
}

/// Prints what was looked at.
fn check(findings: &[Finding], printing: Printing) -> Result<(), FleetError> {
    let line = |finding: &Finding| {
        let verdict = match finding.verdict {
            Verdict::Fine => "fine    ",
            Verdict::Doubtful => "doubtful",
            Verdict::Wrong => "wrong   ",
        };
        format!("{verdict}  {}: {}\n", finding.subject, plain(&finding.says))
    };
    let lines = || findings.iter().map(line).collect();
    let answered = answer(printing, &json!({ "findings": findings }), lines);
    let is_wrong = |finding: &&Finding| finding.verdict == Verdict::Wrong;
    match findings.iter().filter(is_wrong).count() {
        0 => answered,
        // Whether anybody reads why or not.
        wrong => Err(FleetError::Unfit { wrong }),
    }
}

/// Runs a body that ends when `stop` is set, and sets it after this time. Whether it was this that ended the body.
fn within<R>(limit: Option<Duration>, stop: &Interrupt, body: impl FnOnce() -> R) -> (R, bool) {
    let Some(limit) = limit else {
        return (body(), false);
    };
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let watching = scope.spawn(move || {
            let is_late = is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            // Somebody may have asked for the end before, and then it is not the hours that ended it.
            let is_late = is_late && !stop.is_set();
            if is_late {
                stop.set();
            }
            is_late
        });
        let ended = body();
        drop(done);
        (ended, watching.join().unwrap_or(false))
    })
}

/// Starts the first of these programs that is there.
fn power_off(programs: &[&[&str]]) -> Result<(), FleetError> {
    let mut failures = Vec::new();
    for words in programs {
        let [program, arguments @ ..] = words else {
            continue;
        };
        match Command::new(program).args(arguments).status() {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => failures.push(format!("'{program}' ended with {status}")),
            Err(error) => failures.push(format!("'{program}': {error}")),
        }
    }
    let reason = failures.join(", ");
    Err(FleetError::PowerOff { reason })
}

/// A number of hours that a thread can wait.
pub(super) fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if hours > 0.0 && hours <= HOURS_MAX {
        Ok(hours)
    } else {
        Err(format!("hours lie between 0 and {HOURS_MAX}"))
    }
}

/// Programs that switch a machine off, with their arguments; nothing of a plan or of the network is in them.
const POWER_OFF: &[&[&str]] = &[
    &["/usr/bin/systemctl", "poweroff"],
    &["/sbin/poweroff"],
    &["/sbin/shutdown", "-h", "now"],
];
pub(super) const SECONDS_PER_HOUR: f64 = 3_600.0;
/// A year.
const HOURS_MAX: f64 = 8_760.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::pause;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_runs_for_too_long_is_asked_to_end() {
        let stop = Interrupt::default();
        let (is_set, is_late) = within(Some(Duration::from_millis(1)), &stop, || {
            pause(LONG, &stop);
            stop.is_set()
        });
        assert!(is_set && is_late);
    }

    #[test]
    fn what_ends_by_itself_is_not_late() {
        let stop = Interrupt::default();
        let ended = within(Some(Duration::from_hours(24 * 365)), &stop, || 7);
        assert_eq!(ended, (7, false));
        assert!(!stop.is_set());
        assert_eq!(within(None, &stop, || 8), (8, false));
    }

    #[cfg(unix)]
    #[test]
    fn the_first_program_that_is_there_switches_the_machine_off() {
        let folder = tempfile::tempdir().unwrap();
        let sign = folder.path().join("sign");
        let sign_text = sign.to_str().unwrap();
        let programs: [&[&str]; 3] = [
            &["/does/not/exist"],
            &["/bin/sh", "-c", "exit 3"],
            &["/bin/cp", "/dev/null", sign_text],
        ];
        power_off(&programs).unwrap();
        assert!(sign.exists());
        let says = power_off(&programs[..2]).unwrap_err().to_string();
        assert!(says.contains("exist") && says.contains("3"), "{says}");
    }

    #[test]
    fn hours_are_a_number_that_makes_sense() {
        assert_eq!(hours("0.5"), Ok(0.5));
        for text in ["0", "-1", "nan", "inf", "9000", "x"] {
            assert!(hours(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_check_fails_only_for_what_is_wrong() {
        let finding = |verdict| Finding {
            subject: "x",
            verdict,
            says: String::new(),
        };
        let doubtful = [finding(Verdict::Fine), finding(Verdict::Doubtful)];
        assert!(check(&doubtful, Printing::default()).is_ok());
        let wrong = [finding(Verdict::Wrong), finding(Verdict::Wrong)];
        let refused = check(&wrong, Printing::default()).unwrap_err();
        assert!(matches!(refused, FleetError::Unfit { wrong: 2 }));
    }
}
