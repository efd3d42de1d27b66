//! The `manyhands` command: arguments as typed, then as meant, then run.
//!
//! Exit codes: 0 done · 1 a result is wrong, a file cannot be written or a program cannot be looked at · 2 bad arguments · 3 the
//! machine was not quiet enough · 130 interrupted.
//!
//! The program starts itself again as the processes that measure; those only serve.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod comparison;
mod inspect;
mod lab;
mod load;
mod meant;
mod output;
mod pair;
mod tour;
mod typed;

use manyhands_lab::{CountingAllocator, child, console::Ending, registry};
use output::Failure;
use std::process::ExitCode;
use typed::Typed;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> ExitCode {
    let typed = match typed::parse(std::env::args_os()) {
        Ok(typed) => typed,
        Err(answer) => return output::answer(&answer),
    };
    match run(typed) {
        Ok(ending) => ending.into(),
        Err(failure) => output::fail(&failure),
    }
}

fn run(typed: Typed) -> Result<Ending, Failure> {
    let command = meant::mean(typed).map_err(Failure::Arguments)?;
    if child::is_wanted() {
        return serve(command);
    }
    match command {
        meant::Command::Tour(run) => tour::run(run),
        meant::Command::Inspect(inspect) => inspect::run(&inspect),
        meant::Command::List(ids, form) => lab::list(&ids, form),
        meant::Command::Run { ids, run } => lab::run(&ids, run),
        meant::Command::Resume(folder, damage) => lab::resume(&folder, damage),
        meant::Command::Report {
            folder,
            damage,
            published,
        } => lab::report(&folder, damage, published),
        meant::Command::Compare(asked) => comparison::run(&asked),
        meant::Command::SelfTest { quick, seed, load } => lab::self_test(quick, seed, load),
        meant::Command::Busy => load::compute(),
        meant::Command::Pair { first, second, run } => pair::run(&first, &second, run),
        #[cfg(feature = "fleet")]
        meant::Command::Fleet(command) => fleet(command),
    }
}

/// A command of the fleet, with the experiments that come with the laboratory.
#[cfg(feature = "fleet")]
fn fleet(command: manyhands_fleet::commands::Fleet) -> Result<Ending, Failure> {
    let program = manyhands_fleet::commands::Program {
        experiments: registry::experiments,
        companion: manyhands_lab::published::companion,
    };
    let interrupt = manyhands_lab::run::Interrupt::on_signal()?;
    Ok(manyhands_fleet::commands::run(
        command, program, &interrupt,
    )?)
}

/// A process that measures for another one knows from the same arguments what there is to measure.
fn serve(command: meant::Command) -> Result<Ending, Failure> {
    let experiments = match command {
        meant::Command::Pair { first, second, .. } => vec![pair::experiment(&first, &second)],
        meant::Command::Tour(_) => tour::experiments()?,
        _ => registry::experiments(),
    };
    child::serve(&experiments)?;
    Ok(Ending::Good)
}
