//! The lint table of the workspace, warnings denied, over tests and examples too.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("clippy --workspace --all-targets --all-features -- -D warnings").run()
}
