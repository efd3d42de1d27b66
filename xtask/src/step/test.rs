//! The README's test command: unit, integration and documentation tests of every crate, here also of the terminal
//! view. Then those of the library that know its features, with all of them.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("test --workspace --features")
        .arg(TESTED_FEATURES)
        .run()?;
    let with_features = "test -p manyhands --all-features";
    Invocation::cargo(&format!(
        "{with_features} --lib --test ecosystem --test inference --test inspect"
    ))
    .run()?;
    Invocation::cargo(&format!("{with_features} --doc")).run()
}

/// What is tested besides the default.
pub(crate) const TESTED_FEATURES: &str = "manyhands-cli/top";
