//! Every example of the library is built and run, and, as another step, those of the cluster, with four worker
//! processes; one that fails or hangs fails the step. They are not optimised, because the tests need most of the same
//! crates so; in release, building them takes twenty times as long as running them.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::command::Invocation;
use crate::step::test_programs::TESTED_FEATURES;
use crate::workspace;

const FOLDER: &str = "crates/manyhands/examples";
/// Names and arguments of the cluster's, but for the one that measures.
const OF_CLUSTER: [(&str, &str); 2] =
    [("bcrypt", "40"), ("word_count", "crates/manyhands-cluster")];
const EXAMPLE_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn run() -> Result<()> {
    let names = workspace::names(FOLDER, ".rs")?;
    // A moved folder must not turn this step into one that always passes.
    ensure!(!names.is_empty(), "no examples in {FOLDER}");
    // Built first and together, so that the limit below covers running only.
    Invocation::cargo("build --examples -p manyhands --all-features").run()?;
    for name in &names {
        Invocation::program(workspace::target_subdir("debug/examples").join(name))
            .limit(EXAMPLE_LIMIT)
            .run()?;
    }
    println!("{} examples ran", names.len());
    Ok(())
}

pub(crate) fn run_of_cluster() -> Result<()> {
    let mut build = Invocation::cargo("build --workspace --features").arg(TESTED_FEATURES);
    for (name, _) in OF_CLUSTER {
        build = build.arg("--example").arg(name);
    }
    build.run()?;
    for (name, arguments) in OF_CLUSTER {
        Invocation::program(workspace::target_subdir("debug/examples").join(name))
            .arg(arguments)
            .env("MANYHANDS_CLUSTER", "local:4")
            .limit(EXAMPLE_LIMIT)
            .run()?;
    }
    Ok(())
}
