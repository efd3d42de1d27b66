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

mod ci;
mod clock;
mod command;
mod failure;
mod request;
mod step;
mod tidy;
mod workspace;

use request::Request;

fn main() -> ExitCode {
    let request = match Request::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(complaint) => {
            eprintln!("xtask: {complaint}; `cargo xtask help` lists the commands");
            return ExitCode::from(2);
        }
    };
    let outcome = match request {
        Request::Help => {
            print!("{}", request::HELP);
            Ok(())
        }
        Request::Ci => ci::run(),
        Request::CiBeside => ci::run_beside(),
        Request::Loom { preemptions_max } => step::loom::run(preemptions_max),
        Request::Explore(extent) => step::explore::run(&extent),
        Request::Miri { seeds } => step::miri::run(seeds),
        Request::Tidy(mode) => tidy::run(mode),
        Request::Docs => step::docs::run(),
        Request::Surface(mode) => step::surface::run(mode),
        Request::Package => step::package::run(),
        Request::Examples => step::examples::run().and_then(|()| step::examples::run_of_cluster()),
        Request::Soak(plan) => step::soak::run(plan),
        Request::Aarch64 => step::aarch64::run(),
        Request::Sanitize => step::sanitize::run(),
        Request::Compat(part) => step::compat::run(part),
        Request::CompileTime(how) => step::compile_time::run(how),
        Request::InspectCosts => step::inspect_costs::run(),
        Request::InspectPageCosts => step::inspect_costs::run_page(),
        Request::ClusterCosts => step::cluster_costs::run(),
        Request::InspectPictures => step::inspect_pictures::run(),
        Request::Against { revision, words } => step::against::run(&revision, &words),
        Request::Results(words) => step::results::run(&words),
        Request::LabResults { parts, minutes } => step::lab_results::run(&parts, minutes),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
