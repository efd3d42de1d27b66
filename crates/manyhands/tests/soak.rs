//! Soak: random programs over the whole public interface, under random delays; each operation is compared with a
//! sequential oracle or counted.
//!
//! A program is made of its seed: the pool, the delays, which threads call, and what. The schedule is not. One that
//! does not end in time is a fault too: what every thread does is printed, and the process aborts. At the end
//! a table says how often each kind of operation has been run, and how often it failed.
//!
//! - `MANYHANDS_SOAK_SECONDS`: how long; 10 by default.
//! - `MANYHANDS_SOAK_SEED`: the first program's seed; those after it count up.
//! - `MANYHANDS_SOAK_SAME`: if set, each program is the first one again.
//! - `MANYHANDS_SOAK_KINDS`: only kinds of operations whose names contain this.
//!
//! `cargo xtask soak` runs it for longer, in release, with and without debug assertions.

#[path = "soak/async_loops.rs"]
mod async_loops;
#[path = "soak/blocking.rs"]
mod blocking;
#[path = "soak/broadcasts.rs"]
mod broadcasts;
#[path = "soak/cancellations.rs"]
mod cancellations;
#[path = "soak/channels.rs"]
mod channels;
#[path = "soak/counted.rs"]
mod counted;
mod delays;
#[path = "soak/folds.rs"]
mod folds;
#[path = "soak/forks.rs"]
mod forks;
#[path = "soak/groups.rs"]
mod groups;
#[path = "soak/keyed.rs"]
mod keyed;
#[path = "soak/loops.rs"]
mod loops;
#[path = "soak/program.rs"]
mod program;
#[path = "soak/queries.rs"]
mod queries;
#[path = "soak/runtimes.rs"]
mod runtimes;
#[path = "soak/sorts.rs"]
mod sorts;
#[path = "soak/steps.rs"]
mod steps;
#[path = "soak/table.rs"]
mod table;
#[path = "soak/tasks.rs"]
mod tasks;
#[path = "soak/terminals.rs"]
mod terminals;
#[path = "soak/threads.rs"]
mod threads;
#[path = "soak/timers.rs"]
mod timers;
#[path = "soak/watchdog.rs"]
mod watchdog;
#[path = "soak/world.rs"]
mod world;

use program::Program;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use table::Table;
use watchdog::Watchdog;

#[test]
#[cfg_attr(miri, ignore = "it would take days")]
#[expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it ends by the clock, and the table is for people"
)]
fn random_programs_agree_with_their_oracles() {
    let seconds = number("MANYHANDS_SOAK_SECONDS").unwrap_or(SECONDS_DEFAULT);
    let first = number("MANYHANDS_SOAK_SEED");
    let first = first.unwrap_or_else(|| RandomState::new().hash_one(0) >> 16);
    let is_same = env::var_os("MANYHANDS_SOAK_SAME").is_some();
    let wanted = env::var("MANYHANDS_SOAK_KINDS").unwrap_or_default();
    let table = Table::of_kinds_named(&wanted);
    let watchdog = Watchdog::begin_watching();
    sorts::silence_planned_panics();
    let (begun, mut run) = (Instant::now(), 0);
    println!("first seed {first}");
    let end = begun + Duration::from_secs(seconds);
    while Instant::now() < end {
        let seed = first.wrapping_add(if is_same { 0 } else { run });
        Program::of_seed(seed).run(&table, &watchdog, end);
        run += 1;
        assert!(table.faults() < FAULTS_MAX, "too many faults\n{table}");
    }
    drop(watchdog);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{table}{run} programs, {seconds:.1} s");
    assert_eq!(table.faults(), 0, "see above");
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

const SECONDS_DEFAULT: u64 = 10;
const FAULTS_MAX: u64 = 20;
