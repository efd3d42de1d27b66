//! The lint table of the workspace, warnings denied, over tests and examples too; and over the library and the
//! laboratory as who asks for no feature gets them.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()?;
    for package in ["manyhands", "manyhands-lab --no-default-features"] {
        Invocation::cargo(&format!("clippy --package {package} -- -D warnings")).run()?;
    }
    Ok(())
}
