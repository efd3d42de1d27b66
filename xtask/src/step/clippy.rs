//! The lint table of the workspace, warnings denied, over tests and examples too; and over the library and the
//! laboratory as who asks for no feature gets them, and the library with what it records but no type of that.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()?;
    for package in [
        "manyhands",
        "manyhands --features inspect",
        "manyhands-lab --no-default-features",
    ] {
        Invocation::cargo(&format!("clippy --package {package} -- -D warnings")).run()?;
    }
    Ok(())
}
