//! Model checks: loom tries every interleaving of the small programs in the library's
//! `src/models/` with at most this many preemptions.
//!
//! Release, because there are millions of interleavings, with debug assertions, because they
//! are what the models check. A build output of its own: `--cfg loom` changes every crate.

use anyhow::{Result, ensure};

use crate::command::Invocation;
use crate::workspace;

/// Two preemptions find the known kinds of protocol error in minutes; three take hours.
pub(crate) const PREEMPTIONS_DEFAULT: u32 = 2;

pub(crate) fn run(preemptions_max: u32) -> Result<()> {
    let count = names(models(preemptions_max))?.len();
    println!("{count} models, at most {preemptions_max} preemptions");
    models(preemptions_max).run()
}

fn models(preemptions_max: u32) -> Invocation {
    tests("loom", "models").env("LOOM_MAX_PREEMPTIONS", preemptions_max.to_string())
}

/// Those of these tests that there are; none at all is an error.
pub(super) fn names(tests: Invocation) -> Result<Vec<String>> {
    let list = tests.args(&["--", "--list"]).stdout()?;
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let names: Vec<String> = names.map(str::to_owned).collect();
    ensure!(!names.is_empty(), "the library has none of these tests");
    Ok(names)
}

/// Unit tests of the library with this `cfg` and build output.
pub(super) fn tests(cfg: &str, module: &str) -> Invocation {
    Invocation::cargo("test -p manyhands --lib --release --target-dir")
        .arg(workspace::target_subdir(cfg))
        .arg(module)
        .env("RUSTFLAGS", format!("--cfg {cfg}"))
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
}
