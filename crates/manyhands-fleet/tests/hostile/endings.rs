//! How commands end that say what has become of a plan.

use crate::{DEADLINE, Fleet, experiments};
use clap::Parser;
use manyhands_fleet::{
    FleetError,
    commands::{self, Program},
};
use manyhands_lab::{console, run::Interrupt};
use std::{sync::mpsc, thread};

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
