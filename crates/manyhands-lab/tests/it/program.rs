//! The program under test: its experiments, and what it does as a child.

use manyhands_lab::director::{Analyst, Measured};
use manyhands_lab::{
    Case, Experiment,
    break_even::Probe,
    child,
    launcher::Launcher,
    machine::Machine,
    meter::item_ended,
    record::{Block, CaseCard, FORMAT, Head, Scale, Settings},
};
use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

/// Only here for the processes that this program starts.
#[test]
fn serves_where_it_is_wanted() {
    if child::is_wanted() {
        child::serve(&experiments()).unwrap();
    }
}

/// Starts this program so that it runs the test above.
pub(crate) fn launcher() -> Launcher {
    let arguments = [
        "--exact",
        "program::serves_where_it_is_wanted",
        "--nocapture",
    ];
    Launcher::new(env::current_exe().unwrap(), arguments)
        .build_arguments(arguments)
        .deadline(Duration::from_secs(60))
        .batch(child::Batch {
            at_least: Duration::from_micros(50),
            ..child::Batch::default()
        })
}

/// Something is wrong with every case but the first at this size.
pub(crate) const BAD: usize = 13;

/// Where arms write their process, if somebody wants to know.
pub(crate) const PIDS: &str = "LAB_TEST_PIDS";

/// An arm that hangs makes this file there before.
pub(crate) const HANGS: &str = "hangs";

/// Calls of the arm that prints.
static CALLS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn experiments() -> Vec<Experiment> {
    let experiment = Experiment::new("T", "Tests")
        .case(case("fine", |n| n))
        .case(case("prints", |n| {
            // Not print!, which the test harness would catch. Seldom, or the test's own output drowns.
            use std::io::Write;
            if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(4_096) {
                std::io::stdout()
                    .write_all(b"an arm prints\x1b[0m")
                    .unwrap();
            }
            n
        }))
        .case(case(
            "dies",
            |n| if n == BAD { process::abort() } else { n },
        ))
        .case(case("hangs", |n| if n == BAD { hang() } else { n }))
        .case(case("panics", |n| {
            assert_ne!(n, BAD, "an arm may panic");
            n
        }))
        .case(case("disagrees", |n| if n == BAD { n + 1 } else { n }))
        .case(case("changes", |n| if n == BAD { changing() } else { n }))
        .case(case("babbles", |n| {
            if n == BAD {
                use std::io::Write;
                std::io::stdout().write_all(b"\x1e{}\n").unwrap();
            }
            n
        }))
        .case(
            Case::returning("memory")
                .full_sizes([1 << 25])
                .arm("little", |n| n)
                .arm("much", |n| std::hint::black_box(vec![1_u8; n]).len()),
        )
        .case(
            Case::returning("items")
                .full_sizes([100])
                .arm("silent", |n| n)
                .arm("says so", |n| {
                    (0..n).for_each(|_| item_ended());
                    n
                }),
        )
        .case(cpus("pinned").pinned_to(1))
        .case(cpus("free"));
    vec![experiment]
}

fn case(
    name: &'static str,
    challenger: impl Fn(usize) -> usize + Send + Sync + 'static,
) -> Case<usize, manyhands_lab::Returned> {
    Case::returning(name)
        .full_sizes([7, BAD, 20])
        .arm("plain", |n| {
            tell_pid();
            n
        })
        .arm("special", challenger)
}

/// How many CPUs its processes may use is its result.
fn cpus(name: &'static str) -> Case<usize, manyhands_lab::Returned> {
    let cpus = |_| thread::available_parallelism().unwrap().get();
    Case::returning(name)
        .full_sizes([1])
        .arm("one", cpus)
        .arm("two", cpus)
}

fn tell_pid() {
    static REPORTED: Mutex<bool> = Mutex::new(false);
    let mut reported = REPORTED.lock().unwrap();
    if !*reported && let Some(folder) = env::var_os(PIDS) {
        fs::write(PathBuf::from(folder).join(process::id().to_string()), "").unwrap();
    }
    *reported = true;
}

fn hang() -> ! {
    if let Some(folder) = env::var_os(PIDS) {
        fs::write(PathBuf::from(folder).join(HANGS), "").unwrap();
    }
    loop {
        thread::park();
    }
}

fn changing() -> usize {
    static CALLS: Mutex<usize> = Mutex::new(0);
    let mut calls = CALLS.lock().unwrap();
    *calls += 1;
    *calls
}

/// A run of these cases.
pub(crate) fn head(cases: &[&str], settings: Settings) -> Head {
    let mut card = experiments()[0].card(settings.scale);
    card.cases
        .retain(|card| cases.contains(&card.name.as_str()));
    Head {
        format: FORMAT,
        version: "0".to_owned(),
        started: String::new(),
        settings,
        machine: Machine::here(),
        experiments: vec![card],
    }
}

pub(crate) fn quick() -> Settings {
    Settings::new(Scale::Quick, 3)
}

/// Every block counts and decides.
pub(crate) struct Simple;

impl Analyst for Simple {
    fn clean(&self, _: &CaseCard, blocks: &[Block]) -> usize {
        blocks.len()
    }

    fn is_decided(&self, _: &CaseCard, _: usize, _: &[Block]) -> bool {
        true
    }

    fn probe(&self, _: &CaseCard, _: Measured<'_>) -> Option<Probe> {
        None
    }
}
