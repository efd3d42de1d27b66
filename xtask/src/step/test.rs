//! The README's test command: unit, integration and documentation tests of every crate.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("test --workspace --all-features").run()
}
