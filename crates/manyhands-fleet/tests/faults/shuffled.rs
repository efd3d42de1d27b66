//! A real `nats-server` whose messages come twice and out of order, and agents whose clocks are hours apart.

use crate::{
    PLAN, PLAN_JOBS,
    credentials::{Keyed, key},
    machines::{Circumstances, Machines, said_in},
    results,
    shuffler::{Odds, Shuffler},
};
use manyhands_fleet::server::Database;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

/// How much of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) agents: usize,
    pub(crate) odds: Odds,
    /// What the plan has beside its experiments.
    pub(crate) options: &'static str,
}

impl Size {
    pub(crate) const SHORT: Self = Self {
        agents: 2,
        odds: Odds {
            twice: 50,
            late: 20,
            too_late: 0,
            acknowledged_twice: 30,
            asked_twice: 3,
        },
        options: "",
    };
    /// The same, and some messages that come after their sender has given them up.
    pub(crate) const LONG: Self = Self {
        agents: 6,
        odds: Odds {
            too_late: 1,
            ..Self::SHORT.odds
        },
        options: "scale = 'standard'\n",
    };
}

pub(crate) fn results_come_back_once_each(size: Size, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let nats = Keyed::start(folder.path(), &[&key(folder.path(), "it")], "");
    let shuffler = Shuffler::to(nats.port, size.odds, seed);
    let mut machines = Machines::join(folder.path(), shuffler.port(), "it.nk");
    machines.submit(&format!("{PLAN}{}", size.options), "--nkey it.nk");
    let library = libfaketime();
    if library.is_none() {
        println!(
            "  with clocks that are right: there is no libfaketime (Debian's package of that name)"
        );
    }
    for number in 0..size.agents {
        let hours = if number % 2 == 0 { HOURS } else { -HOURS };
        let around = library.as_deref().map(|library| hours_off(library, hours));
        if let Some(around) = around.as_ref().filter(|_| number == 0) {
            check_clock(folder.path(), shuffler.port(), around);
        }
        let around = around.unwrap_or_default();
        machines.add_agent_in(&format!("a{number}"), "--nkey it.nk", around);
    }
    machines.wait_until_done(PLAN_JOBS);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), 1, PLAN_JOBS);
    check_times(&database);
    let counts = shuffler.counts();
    println!("  {counts:?}");
    for count in [&counts.repeated, &counts.renamed, &counts.overtaken] {
        assert!(count.load(Ordering::SeqCst) > 0, "{counts:?}");
    }
}

/// All runs began in the last minutes, by the clock of the `nats-server`, which is that of this process.
fn check_times(database: &Path) {
    let database = Database::open_to_read(database).unwrap();
    for plan in database.plans().unwrap() {
        for job in database.jobs(&plan.id).unwrap() {
            let run = job.run.unwrap();
            let line = database.lines(&run.id).unwrap().remove(0);
            let head: serde_json::Value = serde_json::from_str(&line).unwrap();
            let started: jiff::Timestamp = head["started"].as_str().unwrap().parse().unwrap();
            let ago = jiff::Timestamp::now().as_second() - started.as_second();
            assert!((-60..1_800).contains(&ago), "{}: {started}", run.agent);
        }
    }
}

/// An agent in these circumstances finds that its clock is hours off.
fn check_clock(folder: &Path, port: u16, around: &Circumstances) {
    let words = format!("agent --check --server nats://127.0.0.1:{port} --nkey it.nk --name look");
    let said = said_in(folder, &words, around);
    let clock = said.lines().find_map(|line| line.split_once("clock: "));
    let (verdict, says) = clock.unwrap_or_else(|| panic!("no clock: {said}"));
    let seconds: f64 = says.split(' ').next().unwrap().parse().unwrap();
    let is_off = (seconds / 3_600.0 - HOURS as f64).abs() < 0.2;
    assert!(is_off && verdict.trim() == "doubtful", "{said}");
}

/// A clock that is so far off: only what the time of day is, and not how it passes.
fn hours_off(library: &Path, hours: i64) -> Circumstances {
    let variables = [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME", format!("{hours:+}h")),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ];
    Circumstances {
        network: None,
        variables: variables.into(),
    }
}

/// The library behind Debian's command `faketime`.
fn libfaketime() -> Option<PathBuf> {
    let mut folders = fs::read_dir("/usr/lib").ok()?.flatten();
    folders.find_map(|folder| {
        let library = folder.path().join("faketime/libfaketime.so.1");
        library.exists().then_some(library)
    })
}

const HOURS: i64 = 3;
