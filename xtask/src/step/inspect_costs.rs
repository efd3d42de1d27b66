//! What the library's feature `inspect` costs: instructions and time of an operation without the feature, with it but
//! closed, and with recording open.
//!
//! The program becomes a package outside the workspace, built twice, as one unit of code: where the compiler divides a library,
//! some of its functions are inlined with the feature and not without, or the other way round. Instructions are counted by
//! valgrind, which has to be installed; they are those of a long run less those of a shorter one, so that only the operations
//! are left. Times are medians of rounds in which the three take turns.

use std::fs;
use std::path::PathBuf;

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

/// A program, and the word by which it opens the recording.
type Way = (PathBuf, Option<&'static str>);

pub(crate) fn run() -> Result<()> {
    let folder = workspace::target_subdir("inspect-costs");
    let build = |name, features| {
        let package = Scratch {
            folder: &folder,
            name,
            source: PROGRAM,
            features,
            profile: "[profile.release]\nlto = \"fat\"\ncodegen-units = 1\n",
        };
        package.build()
    };
    let (without, with) = (build("without", &[])?, build("with", &["inspect"])?);
    let ways = [(without, None), (with.clone(), None), (with, Some("open"))];
    let mut table = String::from(
        "\n                      instructions            nanoseconds\n\
         operation         without  closed    open   without  closed    open\n",
    );
    for operation in OPERATIONS {
        let counted = ways.iter().map(|way| instructions(way, operation));
        let mut cells = counted.collect::<Result<Vec<f64>>>()?;
        cells.extend(nanos(&ways, operation)?);
        let cells = cells.iter().map(|cell| format!(" {cell:7.1}"));
        table += &format!("{operation:16} {}\n", cells.collect::<String>());
    }
    print!("{table}");
    Ok(())
}

/// Does the operation this number of times, by a program that runs the way's.
fn repeat(by: Invocation, way: &Way, operation: &str, count: u32) -> Result<String> {
    let words = by.arg(operation).arg(count.to_string());
    words.args(way.1.as_slice()).stdout()
}

/// Instructions of one operation.
fn instructions(way: &Way, operation: &str) -> Result<f64> {
    let out = way.0.with_extension("callgrind");
    let counted = |count| {
        let valgrind = Invocation::new("valgrind --quiet --tool=callgrind")
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(&way.0);
        repeat(valgrind, way, operation, count)?;
        let text = fs::read_to_string(&out).context("valgrind wrote no counts")?;
        total(&text).context("valgrind's counts have no total")
    };
    let (few, many) = (counted(COUNTED)?, counted(3 * COUNTED)?);
    Ok((many - few) / f64::from(2 * COUNTED))
}

/// The total in what callgrind writes.
fn total(text: &str) -> Option<f64> {
    let total = |line| str::strip_prefix(line, "totals: ");
    text.lines().find_map(total)?.trim().parse().ok()
}

/// Medians of the nanoseconds of one operation, by way.
fn nanos(ways: &[Way; 3], operation: &str) -> Result<[f64; 3]> {
    let mut rounds = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (way, times) in ways.iter().zip(&mut rounds) {
            let text = repeat(Invocation::program(&way.0), way, operation, TIMED)?;
            let nanos = text.trim().parse::<f64>();
            let nanos = nanos.with_context(|| format!("the program said `{text}`"))?;
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
