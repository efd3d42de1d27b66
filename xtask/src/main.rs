//! Project automation: every check of this repository is a command here.
//!
//! `cargo xtask ci` is what the build server runs, so a change that passes on your machine
//! passes there. It is not a build system: each step starts cargo the way you would by hand
//! and prints the command line it used.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool: its output is the point"
)]

use std::process::ExitCode;

use clap::Parser;

mod ci;
mod clock;
mod command;
mod request;
mod step;
mod tidy;
mod workspace;

fn main() -> ExitCode {
    let Err(failure) = request::Request::parse().run() else {
        return ExitCode::SUCCESS;
    };
    eprintln!("xtask: {failure:#}");
    ExitCode::FAILURE
}
