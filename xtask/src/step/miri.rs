//! The library under Miri: the unit tests of what touches memory by pointer, and small programs on whole pools
//! (`tests/pool.rs`), by both of its models of borrowing and by several schedules.
//!
//! Miri runs each instruction itself, some thousand times slower than the processor, so tests do less under
//! `cfg(miri)`. Its clock counts what it has run and its schedule is drawn from a seed, so a run can be repeated.
//! A thread that waits for ever is a deadlock that it reports.

use anyhow::{Context, Result};

use crate::command::Invocation;
use crate::step::commands::at_once;
use crate::workspace;

/// Schedules of each program, where nobody says how many.
pub(crate) const SEEDS_DEFAULT: u32 = 1;

/// The unit tests that are run: what keeps pointers, or moves what was not initialised. Not those that try very
/// many cases, which take hours here.
const UNIT_TESTS: &str = "queue:: job:: channel:: task::state timer::moment timer::wheel::tests::a_ sync::short_lock \
                          engine::ranges parallel::sort::merge parallel::ordered_collect";

/// What chooses Miri's models of borrowing: Stacked Borrows, which is its default, and Tree Borrows.
const MODELS: &[&str] = &["", "-Zmiri-tree-borrows"];

pub(crate) fn run(seeds: u32) -> Result<()> {
    Invocation::new("rustup run nightly cargo miri --version")
        .stdout()
        .context(
            "Miri is not installed; it takes `rustup toolchain install nightly --component miri,rust-src`",
        )?;
    tests("", 1).words("--lib --test pool --no-run").run()?;
    // Memory of small cells, slots and registries is kept for as long as the process lives.
    let units = tests("-Zmiri-ignore-leaks", 1)
        .words("--lib --")
        .words(UNIT_TESTS);
    let pools = MODELS
        .iter()
        .map(|flag| tests(flag, seeds).args(&["--test", "pool"]));
    // At the same time, because Miri interprets on one thread.
    let all = pools.chain([units]);
    at_once(all.map(|tests| || print_when_over(tests)))
}

/// What one run says stays together.
fn print_when_over(tests: Invocation) -> Result<()> {
    let line = tests.to_string();
    let (text, result) = tests.stdout_even_if_it_fails()?;
    println!("--- {line}\n{text}");
    result
}

fn tests(model: &str, seeds: u32) -> Invocation {
    Invocation::new("rustup run nightly cargo miri test -p manyhands")
        .arg("--target-dir")
        .arg(workspace::target_subdir("miri"))
        .env("MIRIFLAGS", flags(model, seeds))
}

fn flags(model: &str, seeds: u32) -> String {
    let seeds = if seeds > 1 {
        format!("-Zmiri-many-seeds=0..{seeds}")
    } else {
        "-Zmiri-seed=0".to_owned()
    };
    format!("{model} {seeds}").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{UNIT_TESTS, flags};
    use crate::workspace;

    #[test]
    fn the_unit_tests_are_of_modules_that_exist() {
        let source = workspace::root().join("crates/manyhands/src");
        for name in UNIT_TESTS.split_whitespace() {
            let module = name.split("::tests").next().unwrap_or(name);
            let path = source.join(module.trim_end_matches("::").replace("::", "/"));
            let exists = path.is_dir() || path.with_extension("rs").is_file();
            assert!(exists, "{name} names no module");
        }
    }

    #[test]
    fn one_schedule_or_several_are_asked_for() {
        assert_eq!(flags("", 1), "-Zmiri-seed=0");
        let several = flags("-Zmiri-tree-borrows", 8);
        assert_eq!(several, "-Zmiri-tree-borrows -Zmiri-many-seeds=0..8");
    }
}
