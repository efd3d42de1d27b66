//! What the library's feature `inspect` costs: instructions and time of an operation without the feature, with it but
//! closed, and with recording open.
//!
//! The program becomes a package outside the workspace, built twice, as one unit of code: where the compiler divides a library,
//! some of its functions are inlined with the feature and not without, or the other way round. Instructions are counted by
//! valgrind, which has to be installed; they are those of a long run less those of a shorter one, so that only the operations
//! are left. Times are medians of rounds in which the three take turns.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::step::scratch::Scratch;
use crate::workspace;

const PROGRAM: &str = include_str!("../../programs/inspect_costs.rs");
const OPERATIONS: [&str; 5] = [
    "spawn-and-join",
    "channel",
    "frame",
    "short-loop",
    "measured-loop",
];

/// The library, and whether it records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recording {
    /// The feature is off.
    Without,
    /// It is compiled in.
    Closed,
    Open,
}

const ALL: [Recording; 3] = [Recording::Without, Recording::Closed, Recording::Open];

pub(crate) fn run() -> Result<()> {
    let folder = workspace::target_subdir("inspect-costs");
    for recording in [Recording::Without, Recording::Closed] {
        package(&folder, recording).build()?;
    }
    let mut table = String::from(
        "\n                     instructions            nanoseconds\n\
         operation         without  closed    open   without  closed    open\n",
    );
    for operation in OPERATIONS {
        let instructions = each(|recording| instructions(&folder, recording, operation))?;
        let nanos = nanos(&folder, operation)?;
        let [a, b, c] = instructions.map(|count| format!("{count:7.1}"));
        let [d, e, f] = nanos.map(|time| format!("{time:7.1}"));
        table += &format!("{operation:16}  {a} {b} {c}   {d} {e} {f}\n");
    }
    print!("{table}");
    Ok(())
}

fn package(folder: &Path, recording: Recording) -> Scratch<'_> {
    let (name, features): (_, &[&str]) = match recording {
        Recording::Without => ("without", &[]),
        Recording::Closed | Recording::Open => ("with", &["inspect"]),
    };
    Scratch {
        folder,
        name,
        source: PROGRAM,
        features,
        profile: "[profile.release]\nlto = \"fat\"\ncodegen-units = 1\n",
    }
}

fn each<T>(mut of: impl FnMut(Recording) -> Result<T>) -> Result<[T; 3]> {
    let [without, closed, open] = ALL.map(&mut of);
    Ok([without?, closed?, open?])
}

/// The words after the program.
fn words(recording: Recording, operation: &str, count: u32) -> Vec<String> {
    let open = (recording == Recording::Open).then_some("open");
    let words = [operation, &count.to_string()].map(str::to_owned);
    words.into_iter().chain(open.map(str::to_owned)).collect()
}

/// Instructions of one operation.
fn instructions(folder: &Path, recording: Recording, operation: &str) -> Result<f64> {
    let counted = |count| {
        let out = folder.join("callgrind.out");
        Invocation::new("valgrind --quiet --tool=callgrind")
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(package(folder, recording).program())
            .args(&words(recording, operation, count))
            .stdout()?;
        let text = fs::read_to_string(&out).context("valgrind wrote no counts")?;
        total(&text).context("valgrind's counts have no total")
    };
    let (few, many) = (counted(COUNTED)?, counted(3 * COUNTED)?);
    Ok((many - few) / f64::from(2 * COUNTED))
}

/// The total in what callgrind writes.
fn total(text: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("totals: "))?;
    line.trim().parse().ok()
}

/// Medians of the nanoseconds of one operation.
fn nanos(folder: &Path, operation: &str) -> Result<[f64; 3]> {
    let mut rounds = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        let round = each(|recording| {
            let program = Invocation::program(package(folder, recording).program());
            let text = program.args(&words(recording, operation, TIMED)).stdout()?;
            let nanos = text.trim().parse::<f64>();
            nanos.with_context(|| format!("the program said `{text}`"))
        })?;
        for (times, nanos) in rounds.iter_mut().zip(round) {
            times.push(nanos / f64::from(TIMED));
        }
    }
    Ok(rounds.map(|mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    }))
}

const COUNTED: u32 = 1_000;
const TIMED: u32 = 200_000;
const ROUNDS: usize = 15;

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_of_valgrind_s_counts_is_read() {
        let text = "events: Ir\nfn=(1) main\n0 5\n\ntotals: 70123\n";
        assert_eq!(total(text), Some(70_123.0));
        assert_eq!(total("events: Ir\n"), None);
    }
}
