//! A run is killed again and again: no finished block is lost and no process stays behind.

use crate::program::{self, PIDS, Simple};
use manyhands_lab::{
    LabError,
    director::Director,
    launcher::Live,
    record::{Event, Scale, Settings},
    run::{self, Interrupt, Observer, Progress},
    store::{self, Damage, Existing, Store},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Names the folder in which this program, started by a test, begins a run or goes on with one.
const RUN: &str = "LAB_TEST_RUN";
/// Names the case it runs.
const CASE: &str = "LAB_TEST_CASE";

/// Only here for the processes that the tests below start.
#[test]
fn runs_where_it_is_wanted() {
    let Some(folder) = env::var_os(RUN).map(PathBuf::from) else {
        return;
    };
    let case = env::var(CASE).unwrap();
    let head = program::head(&[&case], Settings::new(Scale::Standard, 3));
    let (mut store, mut director) = if folder.join("run.json").exists() {
        let (store, recording) = Store::resume(&folder, Damage::Refuse).unwrap();
        let analyst = Box::new(Simple);
        let (events, spent) = (&recording.events, recording.spent);
        let director = Director::resume(&recording.head, analyst, events, spent).unwrap();
        (store, director)
    } else {
        let store = Store::create(&folder, &head, Existing::Replace).unwrap();
        (store, Director::new(&head, Box::new(Simple)))
    };
    let mut live = Live::new(program::launcher(), &head.settings);
    let interrupt = Interrupt::default();
    run::execute(&mut director, &mut live, &mut store, &mut Loud, &interrupt).unwrap();
}

/// Prints a line for each event.
struct Loud;

impl Observer for Loud {
    #[expect(
        clippy::print_stdout,
        reason = "the test that started this counts the lines"
    )]
    fn happened(&mut self, event: &Event, _: &Progress) -> Result<(), LabError> {
        println!("{REPORTED}{event:?}");
        Ok(())
    }
}

const REPORTED: &str = "reported of ";

fn is_event(line: &str) -> bool {
    line.starts_with(REPORTED)
}

/// Starts the run of a case.
fn start(folder: &Path, case: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "kills::runs_where_it_is_wanted", "--nocapture"])
        .env(RUN, folder)
        .env(CASE, case)
        .env(PIDS, folder.join("pids"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts the run and kills it after it reported this many events; returns how many it reported.
fn run_and_kill(folder: &Path, after: usize) -> usize {
    let mut run = start(folder, "fine");
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let mut reported = 0;
    for line in lines {
        reported += usize::from(is_event(&line.unwrap()));
        if reported == after {
            // What it still says after this is read too.
            run.kill().unwrap();
        }
    }
    run.wait().unwrap();
    reported
}

#[test]
fn a_run_killed_again_and_again_keeps_every_block_and_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("pids")).unwrap();
    let mut rng = StdRng::seed_from_u64(4);
    let mut kept: Vec<Event> = Vec::new();
    let mut kills = 0;
    loop {
        let after = rng.random_range(1..8);
        let reported = run_and_kill(folder.path(), after);
        let events = store::read(folder.path(), Damage::Refuse).unwrap().events;
        assert!(events.starts_with(&kept), "what was kept has changed");
        assert!(events.len() >= kept.len() + reported, "an event is lost");
        kept = events;
        if reported < after {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 20, "{kills} kills");
    let blocks = kept
        .iter()
        .filter(|event| matches!(event, Event::Block { .. }));
    assert_eq!(blocks.count(), 3 * 36);
    #[cfg(target_os = "linux")]
    assert_all_end(&folder.path().join("pids"), 20);
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_hangs_in_an_arm_ends_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    fs::create_dir(&pids).unwrap();
    let mut run = start(folder.path(), "hangs");
    let hangs = pids.join(program::HANGS);
    let looked_for = hangs.clone();
    wait_until(move || looked_for.exists(), "an arm hangs");
    fs::remove_file(hangs).unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    assert_all_end(&pids, 1);
}

/// Waits for processes that nobody ends but themselves.
#[cfg(target_os = "linux")]
fn assert_all_end(pids: &Path, at_least: usize) {
    let entries = fs::read_dir(pids).unwrap();
    let names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.len() >= at_least, "{names:?}");
    for name in names {
        let process = Path::new("/proc").join(&name);
        wait_until(move || !is_running(&process), "a process ends");
    }
}

#[cfg(target_os = "linux")]
fn wait_until(condition: impl Fn() -> bool + Send + 'static, what: &str) {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while !condition() {
            std::thread::yield_now();
        }
        // The test may have given up.
        let _ = done.send(());
    });
    let deadline = std::time::Duration::from_secs(30);
    is_done
        .recv_timeout(deadline)
        .unwrap_or_else(|_| panic!("never: {what}"));
}

/// A process that has ended may stay listed until its new parent looks.
#[cfg(target_os = "linux")]
fn is_running(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    state.is_some_and(|state| state != "Z")
}
