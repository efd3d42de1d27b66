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
    names.iter().try_for_each(|name| example(name).run())
}

pub(crate) fn run_of_cluster() -> Result<()> {
    let build = Invocation::cargo("build --workspace --features").arg(TESTED_FEATURES);
    let names = OF_CLUSTER.iter().map(|(name, _)| name);
    names
        .fold(build, |build, name| build.args(&["--example", name]))
        .run()?;
    OF_CLUSTER.iter().try_for_each(|(name, arguments)| {
        let example = example(name).arg(arguments);
        example.env("MANYHANDS_CLUSTER", "local:4").run()
    })
}

fn example(name: &str) -> Invocation {
    let program = workspace::target_subdir("debug/examples").join(name);
    Invocation::program(program).limit(EXAMPLE_LIMIT)
}
