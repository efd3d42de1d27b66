//! manyhands side by side with its peers.
//!
//! The parent process starts one child process per contender, each this same executable, and lets
//! them measure one at a time in shuffled rounds; see `manyhands_lab::contest` for the method and each
//! problem's `mod.rs` for what is compared.

mod against;
mod channels;
mod cli;
mod climbing;
mod contended;
mod cores;
mod dotnet;
mod foreign;
mod idle;
mod io;
mod items;
mod joins;
mod keys;
mod latencies;
mod loops;
mod mix;
mod mixed;
mod plan;
mod problem;
mod queries;
mod report;
mod results;
mod saturation;
mod server;
mod shapes;
mod sized;
mod starvation;
mod tally;
mod tasks;
mod timers;
mod window;

use std::process::ExitCode;

use manyhands_lab::contest;

use cli::{Command, Settings};
use problem::Problem;
use report::{Outcome, Report};

fn main() -> ExitCode {
    let arguments = match cli::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match arguments.command {
        Command::Compare(comparison) => {
            let (problem, settings) = comparison.meant();
            match compare(problem, &settings) {
                Ok(Outcome::Agreed) => ExitCode::SUCCESS,
                Ok(Outcome::Failed) => ExitCode::FAILURE,
                Err(message) => cli::refuse(&message),
            }
        }
        Command::Results(arguments) => results::run(&arguments),
        Command::Child { problem, contender } => child(&problem, &contender),
    }
}

/// Runs one comparison after checking what can be checked before the first measurement.
fn compare(problem: &str, settings: &Settings) -> Result<Outcome, String> {
    let problem = Problem::named(problem).ok_or("no such comparison")?;
    plan::check_names(problem.arms, &settings.only)?;
    let mut report = Report::to_file(settings.out.as_deref())?;
    (problem.compare)(settings, &mut report)
}

/// The hidden subcommand: one contender, until its parent closes the pipe.
fn child(problem: &str, contender: &str) -> ExitCode {
    contest::end_with_parent();
    match Problem::named(problem) {
        Some(problem) if problem.serves(contender) => ExitCode::SUCCESS,
        _ => cli::refuse(&format!("no contender '{contender}' for '{problem}'")),
    }
}
