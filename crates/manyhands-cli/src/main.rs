//! The `manyhands` command: arguments as typed, then as meant, then run.
//!
//! The exit codes stand in the crate's README, and `tests/it/exit_codes.rs` walks that table.
//!
//! The program starts itself again as the processes that measure; those only serve.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod comparison;
#[cfg_attr(not(unix), path = "no_inspect.rs")]
mod inspect;
mod lab;
mod load;
mod meant;
mod output;
mod shell;
mod tour;
mod typed;
mod whole_commands;

use manyhands_lab::{
    CountingAllocator, LabError, child,
    console::{self, Ending},
    registry,
};
use output::Failure;
use std::process::ExitCode;
use typed::Typed;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    output::color(typed::color(&arguments));
    match typed::parse(&arguments)
        .map_err(Failure::Typed)
        .and_then(run)
    {
        Ok(ending) => ending.into(),
        Err(failure) => output::fail(failure, || typed::command(&arguments)),
    }
}

#[expect(clippy::exit, reason = "the main thread waits for something else")]
fn end_interrupted() {
    std::process::exit(console::INTERRUPTED.into())
}

fn run(typed: Typed) -> Result<Ending, Failure> {
    let printing = typed.printing;
    let command = meant::mean(typed).map_err(Failure::Arguments)?;
    if child::is_wanted() {
        return serve(command);
    }
    if command.may_end_at_any_time() {
        // What listens for a signal itself does so in its own place.
        ctrlc::set_handler(end_interrupted).map_err(LabError::Signal)?;
    }
    match command {
        meant::Command::Tour(run) => tour::run(run),
        meant::Command::Inspect(inspect) => inspect::run(&inspect, printing),
        meant::Command::List(ids, form) => lab::list(&ids, form),
        meant::Command::Run { ids, run } => lab::run(&ids, run),
        meant::Command::Resume(folder, damage) => lab::resume(&folder, damage, printing),
        meant::Command::Report {
            folder,
            damage,
            published,
        } => lab::report(&folder, damage, published, printing),
        meant::Command::Compare(asked) => comparison::run(&asked),
        meant::Command::SelfTest(asked) => lab::self_test(asked, printing),
        meant::Command::Completions(shell) => shell::completions(shell),
        meant::Command::Man(folder) => shell::manual(folder),
        meant::Command::Busy => load::compute(),
        meant::Command::WholeCommands(asked, run) => asked.run(run),
        #[cfg(feature = "fleet")]
        meant::Command::Fleet(command) => fleet(command, printing),
    }
}

/// A command of the fleet, with the experiments that come with the laboratory.
#[cfg(feature = "fleet")]
fn fleet(
    command: manyhands_fleet::commands::Fleet,
    printing: console::Printing,
) -> Result<Ending, Failure> {
    use manyhands_lab::run::Interrupt;
    let program = manyhands_fleet::commands::Program {
        experiments: registry::experiments,
        companion: manyhands_lab::published::companion,
        printing,
    };
    let interrupt = match command.may_end_at_any_time() {
        true => Interrupt::default(),
        false => Interrupt::on_signal()?,
    };
    Ok(manyhands_fleet::commands::run(
        command, program, &interrupt,
    )?)
}

/// A process that measures for another one knows from the same arguments what there is to measure.
fn serve(command: meant::Command) -> Result<Ending, Failure> {
    let experiments = match command {
        meant::Command::WholeCommands(asked, _) => vec![asked.experiment()],
        meant::Command::Tour(_) => tour::experiments()?,
        _ => registry::experiments(),
    };
    child::serve(&experiments)?;
    Ok(Ending::Good)
}
