//! The fleet under faults: this program is the test, the server, the agents and their processes that measure.
//!
//! It has a main function of its own, because those programs must print nothing else. The long form, with the number
//! of faults and of agents:
//! `MANYHANDS_FLEET_FAULTS=200 MANYHANDS_FLEET_AGENTS=20 cargo test -p manyhands-fleet --test faults`
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test program says what it does, and an unwrap in it is an assertion"
)]

mod in_process;
#[cfg(unix)]
mod killed;
mod results;

use clap::Parser;
use manyhands_fleet::commands::{self, Fleet, Program};
use manyhands_lab::{Case, Experiment, child, console, run::Interrupt};
use std::{env, process};

#[derive(Parser)]
struct Typed {
    #[command(subcommand)]
    fleet: Fleet,
}

fn main() {
    if child::is_wanted() {
        child::serve(&experiments()).unwrap();
        return;
    }
    if env::args().nth(1).as_deref() == Some("serve-or-pull") {
        let fleet = Typed::parse_from(env::args().skip(1)).fleet;
        let program = Program {
            experiments,
            companion: console::alone,
        };
        if let Err(error) = commands::run(fleet, program, &Interrupt::on_signal().unwrap()) {
            println!("error: {error}");
            process::exit(1);
        }
        return;
    }
    run_all();
}

fn run_all() {
    test(
        "results come back once each through the engine in this process",
        || {
            in_process::results_come_back_once_each(in_process::Faults::None);
        },
    );
    test(
        "results come back once each when messages are lost, doubled and late",
        || {
            in_process::results_come_back_once_each(in_process::Faults::Seeded(1));
        },
    );
    #[cfg(unix)]
    match manyhands_fleet::engine::nats_server::find(None) {
        Ok(_) => test(
            "results come back once each when everything is killed",
            || {
                killed::results_come_back_once_each();
            },
        ),
        Err(error) => println!("skipped, the faults of processes: {error}"),
    }
}

/// Runs a test if its name contains what was asked for.
fn test(name: &str, body: impl FnOnce()) {
    let is_wanted = |word: String| word.starts_with('-') || name.contains(&word);
    if !env::args().skip(1).all(is_wanted) {
        return;
    }
    println!("test {name} ...");
    body();
    println!("test {name} ... ok");
}

/// Cases whose samples take no time worth speaking of.
fn experiments() -> Vec<Experiment> {
    let case = |name: &'static str, factor: usize| {
        Case::returning(name)
            .full_sizes([1_000, 4_000])
            .arm("loop", move |n| {
                (0..n).fold(0, |sum, i| sum + std::hint::black_box(i * factor))
            })
            .arm("formula", move |n| n * (n - 1) / 2 * factor)
    };
    vec![
        Experiment::new("T1", "Sums, two ways")
            .case(case("plain", 1))
            .case(case("doubled", 2)),
        Experiment::new("T2", "Sums, two ways again").case(case("tripled", 3)),
    ]
}

/// A plan for all of them: three jobs.
const PLAN: &str = "name = 'sums'\nexperiments = ['all']\nattempts = 1000\n";
const PLAN_JOBS: u64 = 3;
