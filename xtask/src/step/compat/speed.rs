//! How fast rayon programs are on the façade, beside rayon's own core: small ones, and one benchmark for each of the
//! published programs whose tests `programs.rs` runs.

use std::path::PathBuf;

use anyhow::Result;

use super::RAYON_CORE;
use super::packages::Packages;
use super::pairs::{Comparison, compare};
use crate::step::section;
use crate::workspace;

/// How often each side of the small programs is run; some minutes, because the times of a process differ by half of them from one to the next.
const SMALL_ROUNDS: usize = 61;
/// How often each side of the published programs is run; some minutes.
const PROGRAM_ROUNDS: usize = 21;

pub(super) fn run() -> Result<()> {
    let small = Comparison {
        program: "small",
        features: "",
        arguments: Vec::new(),
        rounds: SMALL_ROUNDS,
    };
    let small = measure(&small, "speed");
    // Another table, so it is made whatever has become of the first.
    let programs = list_of_packages().and_then(|list| {
        let programs = Comparison {
            program: "programs",
            features: "programs",
            arguments: vec![list.into()],
            rounds: PROGRAM_ROUNDS,
        };
        measure(&programs, "program-speed")
    });
    small.and(programs)
}

/// Compares, and renews this section of the page.
fn measure(comparison: &Comparison, section: &str) -> Result<()> {
    let table = compare(comparison)?;
    let rounds = comparison.rounds;
    let text = format!("{rounds} rounds on {}.\n\n{table}", section::conditions());
    print!("\n{text}");
    section::renew(&format!("{RAYON_CORE}/README.md"), section, &text)
}

/// A file with the folders of all packages of the programs, where cargo has unpacked them: the same files wherever this
/// is run, because a lock file names the versions.
fn list_of_packages() -> Result<PathBuf> {
    let folders = Packages::unpack("--all-features")?.folders();
    let lines = folders
        .iter()
        .map(|folder| format!("{}\n", folder.display()));
    let list = workspace::target_subdir("compat").join("packages.txt");
    workspace::write(&list, lines.collect::<String>())?;
    Ok(list)
}
