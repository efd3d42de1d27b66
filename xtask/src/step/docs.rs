//! Documentation of every crate; a broken link fails.

use crate::command::Invocation;
use crate::failure::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    Invocation::cargo("doc --workspace --all-features --no-deps")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
