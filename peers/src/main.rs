//! manyhands side by side with its peers.
//!
//! The parent process starts one child process per contender, each this same executable, and lets
//! them measure one at a time in shuffled rounds; see `team` for the method and each problem's
//! `mod.rs` for what is compared.

mod against;
mod case_result;
mod channels;
mod cli;
mod clock;
mod idle;
mod io;
mod items;
mod joins;
mod keys;
mod loops;
mod machine;
mod meter;
mod mixed;
mod peer;
mod plan;
mod protocol;
mod queries;
mod report;
mod server;
mod shuffle;
mod sized;
mod starvation;
mod stats;
mod tally;
mod tasks;
mod team;
mod timers;
mod window;

use std::process::ExitCode;

use cli::{Command, Settings};
use report::Report;
use team::Outcome;

fn main() -> ExitCode {
    let arguments = match cli::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match arguments.command {
        Command::Loops(settings) => compare(&settings, &loops::ARMS, loops::compare),
        Command::Joins(settings) => compare(&settings, &joins::ARMS, joins::compare),
        Command::Items(settings) => compare(&settings, &items::ARMS, items::compare),
        Command::Tasks(settings) => compare(&settings, &tasks::ARMS, tasks::compare),
        Command::Timers(arguments) => {
            let run = |settings: &Settings, report: &mut Report| {
                timers::compare(settings, &arguments.size, report)
            };
            compare(&arguments.settings, &timers::ARMS, run)
        }
        Command::Channels(settings) => compare(&settings, &channels::ARMS, channels::compare),
        Command::Io(settings) => compare(&settings, &io::ARMS, io::compare),
        Command::Starvation(settings) => compare(&settings, &starvation::ARMS, starvation::compare),
        Command::Mixed(settings) => compare(&settings, &mixed::ARMS, mixed::compare),
        Command::Server(settings) => compare(&settings, &server::ARMS, server::compare),
        Command::Keys(settings) => compare(&settings, &keys::ARMS, keys::compare),
        Command::Queries(settings) => compare(&settings, &queries::ARMS, queries::compare),
        Command::Idle(settings) => compare(&settings, &idle::ARMS, idle::compare),
        Command::Child { problem, contender } => child(&problem, &contender),
    }
}

/// Runs one comparison after checking what can be checked before the first measurement.
fn compare(
    settings: &Settings,
    arms: &[team::Arm],
    run: impl FnOnce(&Settings, &mut Report) -> Outcome,
) -> ExitCode {
    if let Err(message) = plan::check_names(arms, &settings.only) {
        return cli::refuse(&message);
    }
    let mut report = match Report::new(settings.out.as_deref()) {
        Ok(report) => report,
        Err(message) => return cli::refuse(&message),
    };
    match run(settings, &mut report) {
        Outcome::Agreed => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::Refused(message) => cli::refuse(&message),
    }
}

/// The hidden subcommand: one contender, until its parent closes the pipe.
fn child(problem: &str, contender: &str) -> ExitCode {
    peer::die_with_parent();
    let known = match problem {
        "loops" => loops::serve(contender),
        "joins" => joins::serve(contender),
        "items" => items::serve(contender),
        "tasks" => tasks::serve(contender),
        "timers" => timers::serve(contender),
        "channels" => channels::serve(contender),
        "io" => io::serve(contender),
        "starvation" => starvation::serve(contender),
        "mixed" => mixed::serve(contender),
        "server" => server::serve(contender),
        "keys" => keys::serve(contender),
        "queries" => queries::serve(contender),
        "idle" => idle::serve(contender),
        _ => false,
    };
    if known {
        ExitCode::SUCCESS
    } else {
        cli::refuse(&format!("no contender '{contender}' for '{problem}'"))
    }
}
