//! One benchmark program built twice, with rayon's own core and with the façade: both processes take turns, and what is
//! compared are the times within a round.
//!
//! Not here: what is measured (the workspace `compat/speed`), and where the table stands (`section.rs`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::SPEED;
use super::packages::{Core, copy};
use crate::command::Invocation;
use crate::step::spread::{Spread, median};
use crate::workspace;

/// For one process.
const LIMIT: Duration = Duration::from_secs(300);
/// What the façade may take, as a multiple of the original's time.
const ALLOWED: f64 = 1.05;

/// What is compared.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The program's name in `compat/speed`, and the features that it needs there.
    pub(super) program: &'static str,
    pub(super) features: &'static str,
    pub(super) arguments: Vec<OsString>,
    /// How often each side is run.
    pub(super) rounds: usize,
}

/// Which of a round's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Original,
    Facade,
    /// The original once more: how far two processes of the same program differ.
    Control,
}

const SIDES: [Side; 3] = [Side::Original, Side::Facade, Side::Control];

/// Builds, runs and compares; returns a table.
pub(super) fn compare(comparison: &Comparison) -> Result<String> {
    let original = build(comparison, Core::Original)?;
    let facade = build(comparison, Core::Facade)?;
    let mut times = Times::default();
    for round in 0..comparison.rounds {
        println!("\nround {} of {}", round + 1, comparison.rounds);
        for turn in 0..SIDES.len() {
            let side = SIDES[(round + turn) % SIDES.len()];
            let program = match side {
                Side::Original | Side::Control => &original,
                Side::Facade => &facade,
            };
            let invocation = Invocation::program(program).args(&comparison.arguments);
            let text = invocation.limit(LIMIT).stdout()?;
            times.read(&text, side)?;
        }
    }
    Ok(times.table())
}

fn build(comparison: &Comparison, core: Core) -> Result<PathBuf> {
    let builds = workspace::target_subdir("compat").join("speed");
    let speed = workspace::root().join(SPEED);
    let folder = builds.join("package");
    copy(&speed.join("src"), &folder.join("src"))?;
    workspace::write(
        folder.join("Cargo.lock"),
        workspace::read(speed.join("Cargo.lock"))?,
    )?;
    core.put_into(&speed, &folder)?;
    Invocation::cargo("build --release --bin")
        .args(&[comparison.program, "--features", comparison.features])
        .build_of(folder.join("Cargo.toml"), builds.join("build"))
        .run()?;
    core.check(&folder)?;
    // The build with the other core would overwrite it.
    let program = builds.join(format!("{}-{core:?}", comparison.program));
    let built = builds.join("build/release").join(comparison.program);
    fs::copy(built, &program).with_context(|| format!("cannot write {}", program.display()))?;
    Ok(program)
}

/// What the processes have printed.
#[derive(Debug, Default)]
struct Times {
    /// In the order in which they were measured.
    names: Vec<String>,
    /// The median nanoseconds of each process.
    medians: BTreeMap<(String, Side), Vec<f64>>,
    digests: BTreeMap<String, String>,
}

impl Times {
    /// Adds one process' lines `name,nanoseconds,digest`. Results that differ are a failure.
    fn read(&mut self, text: &str, side: Side) -> Result<()> {
        let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for line in text.lines() {
            let Some((name, nanos, digest)) = fields(line) else {
                bail!("not a name, a time and a digest: `{line}`");
            };
            if !self.names.iter().any(|known| known == name) {
                self.names.push(name.to_owned());
            }
            let known = self
                .digests
                .entry(name.to_owned())
                .or_insert(digest.to_owned());
            ensure!(known == digest, "`{name}` has other results");
            samples.entry(name.to_owned()).or_default().push(nanos);
        }
        for (name, mut nanos) in samples {
            let median = median(&mut nanos);
            self.medians.entry((name, side)).or_default().push(median);
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut table = String::from(
            "| program | original | ours | ours / original | control | |\n\
             |---|--:|--:|--:|--:|---|\n",
        );
        for name in &self.names {
            let times = |side| {
                let times = self.medians.get(&(name.clone(), side));
                times.cloned().unwrap_or_default()
            };
            let [original, facade, control] = SIDES.map(times);
            let ratio = ratios(&facade, &original);
            table += &format!(
                "| {name} | {} | {} | {ratio} | {} | {} |\n",
                milliseconds(original.clone()),
                milliseconds(facade),
                ratios(&control, &original),
                verdict(ratio)
            );
        }
        table
    }
}

/// Names may have commas.
fn fields(line: &str) -> Option<(&str, f64, &str)> {
    let mut fields = line.rsplitn(3, ',');
    let digest = fields.next()?;
    let nanos = fields.next()?.parse().ok()?;
    Some((fields.next()?, nanos, digest))
}

fn milliseconds(mut nanos: Vec<f64>) -> String {
    format!("{:.2} ms", median(&mut nanos) / 1e6)
}

/// Of the ratios within each round.
fn ratios(ours: &[f64], theirs: &[f64]) -> Spread {
    let pairs = ours.iter().zip(theirs);
    Spread::of(pairs.map(|(ours, theirs)| ours / theirs).collect())
}

fn verdict(ratio: Spread) -> &'static str {
    match ratio {
        Spread { low, .. } if low > ALLOWED => "**slower**",
        Spread { high, .. } if high < 1.0 => "faster",
        Spread { high, .. } if high <= ALLOWED => "alike",
        _ => "undecided",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_within_a_round() {
        let mut times = Times::default();
        for round in 1..=9 {
            let line = |nanos: u64| format!("a, b,{},d\n", nanos * round * 1_000_000);
            times.read(&line(2), Side::Original).unwrap();
            times.read(&line(3), Side::Facade).unwrap();
            times.read(&line(2), Side::Control).unwrap();
        }
        let table = times.table();
        let expected =
            "| a, b | 10.00 ms | 15.00 ms | 1.50 (1.50 … 1.50) | 1.00 (1.00 … 1.00) | **slower** |";
        assert_eq!(table.lines().last(), Some(expected));
    }

    #[test]
    fn other_results_and_other_lines_are_failures() {
        let mut times = Times::default();
        times.read("a,1,d\n", Side::Original).unwrap();
        let other = times.read("a,1,e\n", Side::Facade).unwrap_err();
        assert_eq!(other.to_string(), "`a` has other results");
        assert!(times.read("a\n", Side::Facade).is_err());
    }

    #[test]
    fn verdicts_follow_the_interval() {
        let verdict = |low, high| {
            let median = 1.0;
            verdict(Spread { low, median, high })
        };
        assert_eq!(verdict(1.06, 1.2), "**slower**");
        assert_eq!(verdict(0.8, 0.99), "faster");
        assert_eq!(verdict(0.8, 1.05), "alike");
        assert_eq!(verdict(0.8, 1.2), "undecided");
    }
}
