//! The lint table of the workspace, warnings denied, over tests and examples too; and over the library as who
//! asks for no feature gets it.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()?;
    Invocation::cargo("clippy --package manyhands -- -D warnings").run()
}
