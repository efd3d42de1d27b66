//! The crate that speaks MPI, a workspace of its own: lints, documentation, and its tests under `mpirun`. Where there is no
//! MPI, this says so and does nothing.

use anyhow::Result;

use crate::command::{Invocation, is_on_the_path};
use crate::workspace::{self, MPI_MANIFEST};

pub(crate) fn run() -> Result<()> {
    if !["mpicc", "mpirun"].into_iter().all(is_on_the_path) {
        println!("skipped: there is no MPI");
        return Ok(());
    }
    for (verb, more) in [
        ("clippy --all-targets", "-- -D warnings"),
        ("doc --no-deps", ""),
        ("test", ""),
    ] {
        Invocation::cargo(verb)
            .build_of(MPI_MANIFEST, workspace::target())
            .words(more)
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()?;
    }
    Ok(())
}
