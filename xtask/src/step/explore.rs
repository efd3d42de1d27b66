//! Explorations: the programs of the library's `src/explore/` run on the whole library, under a
//! scheduler that chooses at random who runs at each step.
//!
//! Release, because there are hundreds of thousands of schedules, with debug assertions, because
//! they are part of what is looked for. A build output of its own: `--cfg shuttle` changes every
//! crate.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::clock::{self, Stopwatch};
use crate::command::Invocation;
use crate::step::loom;

/// How much to explore: without options the same schedules each time, this many of each program.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Extent {
    /// Schedules that were never run before, until the time is over
    #[arg(long, conflicts_with = "program")]
    minutes: Option<u64>,
    /// One schedule of one program, with the stacks of those who are blocked when it fails
    #[arg(long, requires = "seed")]
    program: Option<String>,
    #[arg(long, requires = "program")]
    seed: Option<String>,
}

pub(crate) fn run(extent: &Extent) -> Result<()> {
    let programs = loom::names(explorations())?;
    if let Some(minutes) = extent.minutes {
        return in_rounds(Duration::from_secs(60 * minutes), programs.len());
    }
    let (Some(program), Some(seed)) = (&extent.program, &extent.seed) else {
        println!("{} programs, {SCHEDULES} schedules each", programs.len());
        return explorations()
            .env("EXPLORE_SCHEDULES", SCHEDULES.to_string())
            .run();
    };
    let suffix = format!("::{program}");
    let Some(path) = programs.iter().find(|path| path.ends_with(&suffix)) else {
        bail!("there is no program `{program}`");
    };
    explorations()
        .args(&["--", "--exact", path.as_str()])
        .env("EXPLORE_SEED", seed)
        .env("EXPLORE_TRACES", "1")
        .run()
}

/// One round of all programs after the other, a few seconds for each.
fn in_rounds(limit: Duration, programs: usize) -> Result<()> {
    let watch = Stopwatch::start();
    let first = clock::seconds_since_1970() << SEEDS_A_SECOND_BITS;
    for round in 0.. {
        let left = limit.saturating_sub(watch.elapsed());
        // Two run at a time.
        let whole = left.as_secs() * 2 / programs as u64;
        if whole == 0 {
            break;
        }
        let seed = first + (round << SEEDS_A_ROUND_BITS);
        explorations()
            .env("EXPLORE_SECONDS", whole.min(SECONDS_A_PROGRAM).to_string())
            .env("EXPLORE_FIRST_SEED", seed.to_string())
            .run()?;
    }
    Ok(())
}

fn explorations() -> Invocation {
    loom::tests("shuttle", "explore::").env("RUST_TEST_THREADS", "2")
}

const SCHEDULES: u32 = 10_000;
const SECONDS_A_PROGRAM: u64 = 20;
/// More seeds than a program uses up in a round.
const SEEDS_A_ROUND_BITS: u32 = 24;
/// So that a later exploration begins where no earlier one has been.
const SEEDS_A_SECOND_BITS: u32 = 24;
