//! Starts programs under `mpirun`, and looks at what they print and what is left of them.

use crate::{
    calls,
    children::{Ended, ends, output},
    programs::{BUILDS, CALLS, DIES, FLOODS, LEAVES, PANICS, PRINTS, STOPS, WAITS},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    env, fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{self, ChildStdout, Command, Output, Stdio},
};

pub(crate) fn is_there() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join("mpirun").is_file())
}

pub(crate) fn calls_pass() {
    let printed = printed_well(&mut ranks(5, CALLS));
    let names: Vec<_> = calls::ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), names);
}

pub(crate) fn what_bodies_print_is_apart() {
    let output = output(&mut ranks(3, PRINTS));
    assert_eq!(text(&output), "driver\n");
    let beside = String::from_utf8(output.stderr).unwrap();
    assert!(
        (0..20).all(|i| beside.contains(&format!("body {i}\n"))),
        "{beside}"
    );
}

pub(crate) fn a_stopped_rank_loses_nothing() {
    let sum: u64 = (0..3_000).map(|i| i * 3).sum();
    let mark = env::temp_dir().join(format!("manyhands-mpi-stops-{}", process::id()));
    drop(fs::remove_file(&mark));
    let printed = printed_well(ranks(4, STOPS).arg(&mark));
    assert_eq!(printed, format!("{sum}\n"));
    assert!(fs::remove_file(mark).is_ok(), "a rank has stopped");
}

pub(crate) fn a_stopped_rank_keeps_no_message_from_others() {
    let mark = env::temp_dir().join(format!("manyhands-mpi-floods-{}", process::id()));
    drop(fs::remove_file(&mark));
    let printed = printed_well(ranks(4, FLOODS).arg(&mark));
    fs::remove_file(mark).unwrap();
    assert_eq!(printed, format!("Ok({})\n", (9 * (8 << 20)) + 20_000));
}

pub(crate) fn a_rank_of_another_build_gets_no_work() {
    let program = env::current_exe().unwrap();
    let mut command = mpirun();
    for build in ["one", "other"] {
        let build = format!("MANYHANDS_BUILD={build}");
        command.args(["-n", "2", "env", &build]);
        command.arg(&program).args([BUILDS, ":"]);
    }
    assert_eq!(printed_well(&mut command), "{\"one\"}\n");
}

/// A test ends before such a body does.
pub(crate) fn a_body_that_goes_on_keeps_nobody() {
    assert_eq!(printed_well(&mut ranks(3, LEAVES)), "Err(DeadlinePassed)\n");
}

pub(crate) fn a_driver_alone_says_so() {
    let printed = printed_well(&mut ranks(1, PRINTS));
    assert!(
        printed.starts_with("error: MANYHANDS_CLUSTER: 'mpi' needs other ranks"),
        "{printed}"
    );
}

pub(crate) fn all_end_with_a_worker_that_dies() {
    let mut started = Started::read(DIES);
    started.has_ended_badly();
}

pub(crate) fn all_end_with_a_driver_that_is_killed() {
    let mut started = Started::read(WAITS);
    kill(started.ids[0], Signal::SIGKILL).unwrap();
    started.has_ended_badly();
}

pub(crate) fn all_end_with_a_driver_that_panics() {
    Started::read(PANICS).has_ended_badly();
}

/// A program that has said which processes it is.
struct Started {
    mpirun: Ended,
    printed: BufReader<ChildStdout>,
    /// The driver and some worker.
    ids: [Pid; 2],
}

impl Started {
    fn read(role: &str) -> Self {
        let mut mpirun = Ended::start(ranks(4, role).stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut printed = BufReader::new(mpirun.child().stdout.take().unwrap());
        let mut line = String::new();
        printed.read_line(&mut line).unwrap();
        let (driver, worker) = line.trim().split_once(' ').unwrap();
        let ids = [driver, worker].map(|id| Pid::from_raw(id.parse().unwrap()));
        Self {
            mpirun,
            printed,
            ids,
        }
    }

    fn has_ended_badly(&mut self) {
        let mut more = String::new();
        self.printed.read_to_string(&mut more).unwrap();
        assert_eq!(more, "", "nothing goes on");
        let status = self.mpirun.child().wait().unwrap();
        assert!(!status.success(), "{status}");
        for id in self.ids {
            assert!(ends(id), "{id} is there after half a minute");
        }
    }
}

/// This program under `mpirun`.
fn ranks(count: usize, role: &str) -> Command {
    let program: PathBuf = env::current_exe().unwrap();
    let mut command = mpirun();
    command.args(["-n", &count.to_string()]);
    command.arg(program).arg(role);
    command
}

/// `mpirun`, also for an administrator and with more ranks than processors.
fn mpirun() -> Command {
    let mut command = Command::new("mpirun");
    command
        .env("MANYHANDS_CLUSTER", "mpi")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command
}

/// What a program prints that ends as it should.
fn printed_well(command: &mut Command) -> String {
    let output = output(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    text(&output)
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}
