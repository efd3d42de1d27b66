//! How fast rayon programs are on the façade, beside rayon's own core: small ones, and one benchmark for each of the
//! published programs whose tests `programs.rs` runs. Each is built with both cores, and the builds take turns.
//!
//! Not here: what is measured, and how (the workspace `compat/speed`).

use std::path::PathBuf;

use anyhow::Result;

use super::packages::{Core, Packages, copy};
use super::{RAYON_CORE, SPEED};
use crate::command::Invocation;
use crate::step::section;
use crate::workspace;

/// The programs of `compat/speed` with the features that they need there, how often each side is run, which takes some
/// minutes, and the section of the page.
const PROGRAMS: [[&str; 4]; 2] = [
    ["small", "", "61", "speed"],
    ["programs", "programs", "21", "program-speed"],
];

pub(super) fn run() -> Result<()> {
    // Each is another table, so it is made whatever has become of the first.
    let measured = PROGRAMS.map(measure).into_iter();
    measured.fold(Ok(()), Result::and)
}

/// Compares, and renews a section of the page.
fn measure([program, features, rounds, section]: [&str; 4]) -> Result<()> {
    let [original, facade] =
        [Core::Original, Core::Facade].map(|core| build(program, features, core));
    let (original, facade) = (original?, facade?);
    let measured = Invocation::program(facade).arg(original).arg(rounds);
    let measured = match features {
        "" => measured,
        _ => measured.env("SPEED_FOLDERS", list_of_packages()?),
    };
    let table = measured.stdout()?;
    let text = format!("{rounds} rounds on {}.\n\n{table}", section::conditions());
    print!("\n{text}");
    section::renew(&format!("{RAYON_CORE}/README.md"), section, &text)
}

fn build(program: &str, features: &str, core: Core) -> Result<PathBuf> {
    let builds = workspace::target_subdir("compat").join("speed");
    let speed = workspace::root().join(SPEED);
    let folder = builds.join("package");
    copy(&speed.join("src"), &folder.join("src"))?;
    workspace::copy_file(speed.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    core.put_into(&speed, &folder)?;
    Invocation::cargo("build --release --bin")
        .args(&[program, "--features", features])
        .build_of(folder.join("Cargo.toml"), builds.join("build"))
        .run()?;
    core.check(&folder)?;
    // The build with the other core would overwrite it.
    let kept = builds.join(format!("{program}-{core:?}"));
    workspace::copy_file(builds.join("build/release").join(program), &kept)?;
    Ok(kept)
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
