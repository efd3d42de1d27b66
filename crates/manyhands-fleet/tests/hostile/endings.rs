//! How commands end that say what has become of a plan, or write it.

use crate::{DEADLINE, Fleet, experiments, head};
use clap::Parser;
use manyhands_fleet::{
    FleetError,
    commands::{self, Program},
    export,
};
use manyhands_lab::{console, run::Interrupt};
use std::{fs, sync::mpsc, thread};

#[derive(Parser)]
struct Typed {
    #[command(subcommand)]
    fleet: commands::Fleet,
}

/// What `fleet watch` ends with, once the plan is over.
fn watched(fleet: &Fleet) -> Result<(), FleetError> {
    let folder = fleet.path();
    let folder = folder.parent().unwrap().to_str().unwrap();
    let typed = Typed::parse_from(["fleet", "watch", "--data", folder]);
    let program = Program {
        printing: console::Printing {
            quiet: true,
            ..console::Printing::default()
        },
        experiments,
        companion: console::alone,
    };
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(commands::run(typed.fleet, program, &Interrupt::default())));
    let end = end.recv_timeout(DEADLINE).expect("the plan is over");
    end.map(drop)
}

#[test]
fn who_watches_a_plan_whose_jobs_failed_gets_an_error() {
    let (good, bad) = (Fleet::new(), Fleet::new());
    for number in 0..2 {
        good.carry_out("good", &good.job(), &format!("r-{number}"));
    }
    assert!(watched(&good).is_ok());
    bad.carry_out("good", &bad.job(), "r-0");
    bad.report_all("evil", &bad.job(), "r-1", &["no", "run"]);
    let failed = watched(&bad);
    assert!(
        matches!(failed, Err(FleetError::NotDone { jobs: 1 })),
        "{failed:?}"
    );
    let shown = manyhands_fleet::watch::text(&bad.database()).unwrap();
    assert!(shown.contains(": failed: the head of a run"), "{shown}");
}

#[test]
fn what_a_job_has_brought_before_it_was_done_anew_is_in_no_later_export() {
    let fleet = Fleet::new();
    let plan = "name = 'x'\nexperiments = ['T1']\ncommands = [{ name = 'a' }]";
    let plan = commands::submit_to(&fleet.engine, plan, None, &experiments()).unwrap();
    fleet.step();
    let out = fleet.folder.path().join("out");
    let job = |number: u32| loop {
        let job = fleet.job();
        if job["id"] == format!("{plan}.{number}") {
            break job;
        }
    };
    let export = || export::export(&fleet.database(), &plan, &out, None, console::alone).unwrap();
    fleet.report_all("evil", &job(0), "r-0", &[&head(&experiments())]);
    fleet.carry_out("evil", &job(1), "r-1");
    export();
    assert!(out.join("commands.csv").exists());
    let own = out.join("agents").join("mine");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("notes"), "of a person").unwrap();
    fs::write(out.join("notes"), "of a person").unwrap();
    for number in 0..2 {
        let job = format!("{plan}.{number}").parse().unwrap();
        commands::redo_at(&fleet.engine, &job).unwrap();
    }
    fleet.step();
    fleet.report_all("good", &job(0), "r-2", &[&head(&experiments())]);
    export();
    assert!(!out.join("commands.csv").exists() && out.join("notes").exists());
    let found = fs::read_dir(out.join("agents")).unwrap();
    let mut names: Vec<_> = found.map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["good", "mine"]);
}
