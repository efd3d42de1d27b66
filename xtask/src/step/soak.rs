//! Soak: the library's random programs, for as long as asked, in several processes, by turns with and without
//! debug assertions. Each process prints a table of its operations and faults. What it checks and how one program is run again is at the head of the test `soak` of the
//! library.
//!
//! Release, because debug builds hide most races; with line tables, so that a hang's stack traces have lines.

use anyhow::Result;

use crate::command::Invocation;
use crate::step::commands::at_once;
use crate::workspace;

/// How long, from which seed, in how many processes.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Plan {
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Processes
    #[arg(long, default_value_t = 1)]
    jobs: u64,
}

pub(crate) fn run(plan: Plan) -> Result<()> {
    for is_checked in [true, false] {
        command(is_checked).arg("--no-run").run()?;
    }
    at_once((0..plan.jobs).map(|job| move || turns(plan, job)))
}

/// With debug assertions, or without.
fn command(is_checked: bool) -> Invocation {
    let test = Invocation::cargo("test -p manyhands --test soak --release --target-dir");
    if !is_checked {
        return test.arg(workspace::target_subdir("soak"));
    }
    test.arg(workspace::target_subdir("soak-checked"))
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
}

/// One process after the other until the time is over; goes on after a fault, with other seeds.
fn turns(plan: Plan, job: u64) -> Result<()> {
    let turns = plan.minutes.div_ceil(TURN_MINUTES_MAX).max(2);
    let mut outcome = Ok(());
    for turn in 0..turns {
        let seed = plan.seed + (job * turns + turn) * SEEDS_APART;
        let seconds = plan.minutes * 60 / turns;
        let invocation = command((job + turn).is_multiple_of(2))
            .env("MANYHANDS_SOAK_SEED", seed.to_string())
            .env("MANYHANDS_SOAK_SECONDS", seconds.to_string())
            .args(&["--", "--nocapture"]);
        outcome = outcome.and(invocation.run());
    }
    outcome
}

/// Longer turns would only be lost as a whole when a process aborts.
const TURN_MINUTES_MAX: u64 = 10;
/// More programs than a turn can run.
const SEEDS_APART: u64 = 1_000_000;
