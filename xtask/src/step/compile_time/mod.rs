//! How long a query takes to compile: a chain of twelve operators beside its sequential twin.
//!
//! Both become a package of their own outside the workspace, with the workspace's lock file, so that nothing
//! but the chain is in what is timed; the library is built before. Builds of the two take turns. The programs
//! are run too: they print the same, or one is not the other's twin.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace;

/// How the two are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Checked only, as an editor does.
    Check,
    /// Built, in debug and in release.
    Build,
}

/// One of the two.
struct Chain {
    name: &'static str,
    source: &'static str,
}

const CHAINS: [Chain; 2] = [
    Chain {
        name: "parallel",
        source: include_str!("parallel.rs"),
    },
    Chain {
        name: "sequential",
        source: include_str!("sequential.rs"),
    },
];

pub(crate) fn run(how: How) -> Result<(), Failure> {
    let folder = workspace::target_subdir("compile-time");
    for chain in &CHAINS {
        write(chain, &folder)
            .map_err(|error| Failure::new(format!("cannot use {}: {error}", folder.display())))?;
    }
    let commands: &[&str] = match how {
        How::Check => &["check"],
        How::Build => &["build", "build --release"],
    };
    let mut table = String::from("\ncommand              parallel  sequential  difference\n");
    for command in commands {
        let [parallel, sequential] = medians(command, &folder)?;
        table += &format!(
            "cargo {command:15} {parallel:6.2} s    {sequential:6.2} s    {:6.2} s\n",
            parallel - sequential
        );
    }
    if how == How::Build {
        compare_output(&folder)?;
    }
    print!("{table}");
    Ok(())
}

/// Makes the package of one chain.
fn write(chain: &Chain, folder: &Path) -> io::Result<()> {
    let package = folder.join(chain.name);
    fs::create_dir_all(package.join("src"))?;
    let root = workspace::root();
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"{}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nmanyhands = {{ path = {:?} }}\n",
        chain.name,
        root.join("crates/manyhands")
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    fs::write(package.join("src/main.rs"), chain.source)?;
    fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock"))?;
    Ok(())
}

/// The median seconds that `command` takes for each chain, its dependencies being built already.
fn medians(command: &str, folder: &Path) -> Result<[f64; 2], Failure> {
    for chain in &CHAINS {
        cargo(command, chain, folder).run()?;
    }
    let mut seconds = [[0.0; ROUNDS]; 2];
    for round in 0..ROUNDS {
        for (chain, seconds) in CHAINS.iter().zip(&mut seconds) {
            seconds[round] = timed(command, chain, folder)?.as_secs_f64();
        }
    }
    Ok(seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[ROUNDS / 2]
    }))
}

fn timed(command: &str, chain: &Chain, folder: &Path) -> Result<Duration, Failure> {
    let main = folder.join(chain.name).join("src/main.rs");
    // Written again, so that cargo takes it for changed.
    fs::write(&main, chain.source)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", main.display())))?;
    let watch = Stopwatch::start();
    cargo(command, chain, folder).run()?;
    Ok(watch.elapsed())
}

/// Both share what they depend on.
fn cargo(command: &str, chain: &Chain, folder: &Path) -> Invocation {
    Invocation::cargo(&format!("{command} --quiet --manifest-path"))
        .arg(folder.join(chain.name).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.join("target"))
}

fn compare_output(folder: &Path) -> Result<(), Failure> {
    let [parallel, sequential] = CHAINS
        .each_ref()
        .map(|chain| cargo("run --release", chain, folder).stdout());
    let (parallel, sequential) = (parallel?, sequential?);
    if parallel == sequential {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the chains are no twins: {} and {}",
        parallel.trim(),
        sequential.trim()
    )))
}

/// Enough for a median.
const ROUNDS: usize = 3;
