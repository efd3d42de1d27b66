//! The README's test command: unit, integration and documentation tests of every crate, here also of the terminal
//! view. Then those of the library that know its features, with all of them. Only a test that fails is named, so that
//! it is not lost among thousands that pass.

use crate::command::Invocation;
use crate::failure::Failure;

const WITH_FEATURES: &str = "test -p manyhands --all-features";
const THAT_KNOW_FEATURES: &str = "--lib --test ecosystem --test inference --test inspect";
/// What is tested besides the default.
pub(crate) const TESTED_FEATURES: &str = "manyhands-cli/top";

/// Builds all that [`run`] runs, but for documentation tests.
pub(crate) fn build() -> Result<(), Failure> {
    everything().arg("--no-run").run()?;
    knowing_features().arg("--no-run").run()
}

pub(crate) fn run() -> Result<(), Failure> {
    let documentation = Invocation::cargo(&format!("{WITH_FEATURES} --doc"));
    for tests in [everything(), knowing_features(), documentation] {
        tests.arg("--").arg("--quiet").run()?;
    }
    Ok(())
}

fn everything() -> Invocation {
    Invocation::cargo("test --workspace --features").arg(TESTED_FEATURES)
}

fn knowing_features() -> Invocation {
    Invocation::cargo(&format!("{WITH_FEATURES} {THAT_KNOW_FEATURES}"))
}
