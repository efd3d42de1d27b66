//! Soak: the library's random programs, for as long as asked, in several processes, by turns with and without
//! debug assertions. What it checks and how one program is run again is at the head of the test `soak` of the
//! library.
//!
//! Release, because debug builds hide most races; with line tables, so that a hang's stack traces have lines.

use std::collections::BTreeMap;
use std::thread;

use crate::command::Invocation;
use crate::failure::Failure;
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

pub(crate) fn run(plan: Plan) -> Result<(), Failure> {
    for build in [Build::Checked, Build::Unchecked] {
        build.command().arg("--no-run").run()?;
    }
    let jobs: Vec<_> = (0..plan.jobs)
        .map(|job| thread::spawn(move || turns(plan, job)))
        .collect();
    let mut total = Counts::default();
    let mut outcome = Ok(());
    for job in jobs {
        let (counts, result) = job
            .join()
            .map_err(|_| Failure::new("a thread that waits for a process panicked"))?;
        total.add(&counts);
        outcome = outcome.and(result);
    }
    print!("{}", total.table());
    outcome
}

/// With or without debug assertions.
#[derive(Debug, Clone, Copy)]
enum Build {
    Checked,
    Unchecked,
}

impl Build {
    fn command(self) -> Invocation {
        let test = Invocation::cargo("test -p manyhands --test soak --release --target-dir");
        match self {
            Self::Checked => test
                .arg(workspace::target_subdir("soak-checked"))
                .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true"),
            Self::Unchecked => test.arg(workspace::target_subdir("soak")),
        }
    }
}

/// One process after the other until the time is over; goes on after a fault, with other seeds.
fn turns(plan: Plan, job: u64) -> (Counts, Result<(), Failure>) {
    let turns = plan.minutes.div_ceil(TURN_MINUTES_MAX).max(2);
    let mut counts = Counts::default();
    let mut outcome = Ok(());
    for turn in 0..turns {
        let build = if (job + turn).is_multiple_of(2) {
            Build::Checked
        } else {
            Build::Unchecked
        };
        let seed = plan.seed + (job * turns + turn) * SEEDS_APART;
        let invocation = build
            .command()
            .env("MANYHANDS_SOAK_SEED", seed.to_string())
            .env(
                "MANYHANDS_SOAK_SECONDS",
                (plan.minutes * 60 / turns).to_string(),
            )
            .args(&["--", "--nocapture"]);
        match invocation.stdout_even_if_it_fails() {
            Ok((text, result)) => {
                counts.read(&text);
                outcome = outcome.and(result);
            }
            Err(failure) => outcome = outcome.and(Err(failure)),
        }
    }
    (counts, outcome)
}

/// Operations run and faults, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts(BTreeMap<String, (u64, u64)>);

impl Counts {
    /// Adds a table that the test has printed; what is no row of it is left out.
    fn read(&mut self, text: &str) {
        for line in text.lines() {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let ["", kind, run, faults, _, ""] = cells.as_slice() else {
                continue;
            };
            if let (Ok(run), Ok(faults)) = (run.parse(), faults.parse()) {
                self.note(kind, (run, faults));
            }
        }
    }

    fn add(&mut self, other: &Self) {
        for (kind, &counts) in &other.0 {
            self.note(kind, counts);
        }
    }

    fn note(&mut self, kind: &str, (run, faults): (u64, u64)) {
        let counts = self.0.entry(kind.to_owned()).or_default();
        counts.0 += run;
        counts.1 += faults;
    }

    /// One line for each kind, and one for all.
    fn table(&self) -> String {
        let row = |kind: &str, run: &str, faults: &str| {
            format!("| {kind:<64} | {run:>12} | {faults:>6} |\n")
        };
        let mut table = row("operation", "run", "faults");
        let (each, all): (Vec<_>, Vec<_>) = self.0.iter().partition(|(kind, _)| *kind != ALL);
        for (kind, (run, faults)) in each.into_iter().chain(all) {
            table += &row(kind, &run.to_string(), &faults.to_string());
        }
        table
    }
}

/// The kind of the test's last row.
const ALL: &str = "all";
/// Longer turns would only be lost as a whole when a process aborts.
const TURN_MINUTES_MAX: u64 = 10;
/// More programs than a turn can run.
const SEEDS_APART: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_and_added_up() {
        let text =
            "first seed 1\n| loop: map | 12 | 0 | 5 |\n| all | 12 | 0 | 5 |\n3 programs, 1.0 s\n";
        let mut counts = Counts::default();
        counts.read(text);
        counts.read(text);
        let mut total = Counts::default();
        total.add(&counts);
        assert_eq!(total.0["loop: map"], (24, 0));
        let table = total.table();
        assert!(
            table
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("| all "))
        );
        assert_eq!(table.lines().count(), 3);
    }

    #[test]
    fn other_lines_are_left_out() {
        let mut counts = Counts::default();
        counts.read("| operation | run | faults | ms |\n| a | b |\ntest result: ok\n");
        assert_eq!(counts, Counts::default());
    }
}
