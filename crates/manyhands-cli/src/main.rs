//! The `manyhands` command: arguments as typed, then as meant, then run.
//!
//! Exit codes: 0 done · 1 a result is wrong or a file cannot be written · 2 bad arguments.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod meant;
mod output;
mod progress;
mod tour;
mod typed;

use output::Failure;
use std::process::ExitCode;
use typed::Typed;

fn main() -> ExitCode {
    let typed = match typed::parse(std::env::args_os()) {
        Ok(typed) => typed,
        Err(answer) => return output::answer(&answer),
    };
    match run(typed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::fail(&failure),
    }
}

fn run(typed: Typed) -> Result<(), Failure> {
    match meant::mean(typed).map_err(Failure::Arguments)? {
        meant::Command::Tour(meant) => tour::run(&meant),
    }
}
