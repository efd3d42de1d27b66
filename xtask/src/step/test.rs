//! The README's test command: unit, integration and documentation tests of every crate, here also of the terminal
//! view. Then those of the library that know its features, with all of them, and those of pairs of operators, which take
//! minutes to compile. Only a test that fails is named, so that it is not lost among thousands that pass.

use crate::command::Invocation;
use crate::failure::Failure;

const WITH_FEATURES: &str = "test -p manyhands --all-features";
const OF_PAIRS: &str = "test -p manyhands --test pairs";
const THAT_KNOW_FEATURES: &str = "--lib --test ecosystem --test inference --test inspect";
/// What is tested besides the default.
pub(crate) const TESTED_FEATURES: &str = "manyhands-cli/top";

/// Builds all that [`run`] runs, but for documentation tests.
pub(crate) fn build() -> Result<(), Failure> {
    for tests in [everything(), knowing_features(), of_pairs()] {
        tests.arg("--no-run").run()?;
    }
    Ok(())
}

pub(crate) fn run() -> Result<(), Failure> {
    let documentation = Invocation::cargo(&format!("{WITH_FEATURES} --doc"));
    for tests in [everything(), knowing_features(), of_pairs(), documentation] {
        tests.arg("--").arg("--quiet").run()?;
    }
    Ok(())
}

fn everything() -> Invocation {
    Invocation::cargo("test --workspace --features").arg(TESTED_FEATURES)
}

fn of_pairs() -> Invocation {
    Invocation::cargo(OF_PAIRS)
}

fn knowing_features() -> Invocation {
    Invocation::cargo(&format!("{WITH_FEATURES} {THAT_KNOW_FEATURES}"))
}
