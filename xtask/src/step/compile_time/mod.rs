//! How long a query takes to compile: a chain of twelve operators beside its sequential twin.
//!
//! Both become a package of their own outside the workspace, with the workspace's lock file, so that nothing
//! but the chain is in what is timed; the library is built before. Builds of the two take turns. The programs
//! are run too: they print the same, or one is not the other's twin.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Result, ensure};

use crate::clock::Stopwatch;
use crate::step::scratch::Scratch;
use crate::step::spread::median;
use crate::workspace;

const SEQUENTIAL: &str = include_str!("chain.rs");
static PARALLEL: LazyLock<String> = LazyLock::new(|| {
    let query = SEQUENTIAL.replace(".iter()", ".par_query()");
    query.replace("fn main", "use manyhands::query::prelude::*;\n\nfn main")
});

/// Builds in debug and in release, and compares what the two print.
pub(crate) fn run_build() -> Result<()> {
    run(&["build", "build --release"])?;
    let folder = workspace::target_subdir("compile-time");
    let [parallel, sequential] = chains(&folder).map(|chain| chain.cargo("run --release").stdout());
    let (parallel, sequential) = (parallel?, sequential?);
    ensure!(
        parallel == sequential,
        "the chains are no twins: {parallel} and {sequential}"
    );
    Ok(())
}

/// Measures how long these commands of cargo take.
pub(crate) fn run(commands: &[&str]) -> Result<()> {
    let folder = workspace::target_subdir("compile-time");
    let mut table = String::from("\ncommand              parallel  sequential  difference\n");
    for command in commands {
        let [parallel, sequential] = medians(command, &chains(&folder))?;
        table += &format!(
            "cargo {command:15} {parallel:6.2} s    {sequential:6.2} s    {:6.2} s\n",
            parallel - sequential
        );
    }
    print!("{table}");
    Ok(())
}

fn chains(folder: &Path) -> [Scratch<'_>; 2] {
    let chains = [("parallel", PARALLEL.as_str()), ("sequential", SEQUENTIAL)];
    chains.map(|(name, source)| Scratch {
        folder,
        name,
        source,
        features: &[],
        profile: "",
    })
}

/// The median seconds that `command` takes for each chain, its dependencies being built already.
fn medians(command: &str, chains: &[Scratch<'_>; 2]) -> Result<[f64; 2]> {
    let mut seconds = [[0.0; ROUNDS]; 2];
    for chain in chains {
        chain.write()?;
        chain.cargo(command).run()?;
    }
    for round in 0..ROUNDS {
        for (chain, seconds) in chains.iter().zip(&mut seconds) {
            chain.write()?;
            let watch = Stopwatch::start();
            chain.cargo(command).run()?;
            seconds[round] = watch.elapsed().as_secs_f64();
        }
    }
    Ok(seconds.map(|mut seconds| median(&mut seconds)))
}

/// Enough for a median.
const ROUNDS: usize = 3;
