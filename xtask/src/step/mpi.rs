//! The crate that speaks MPI, a workspace of its own: lints, documentation, and its tests under `mpirun`. Where there is no
//! MPI, or nothing to read its headers with, this says so and does nothing.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::command::{Invocation, is_on_the_path};
use crate::workspace::{self, MPI_MANIFEST};

pub(crate) fn run() -> Result<()> {
    if let Some(absent) = absent() {
        println!("skipped: there is no {absent}");
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

/// What it cannot do without.
fn absent() -> Option<&'static str> {
    let programs = ["mpicc", "mpirun"];
    let program = programs
        .into_iter()
        .find(|program| !is_on_the_path(program));
    program.or_else(|| (!has_libclang()).then_some("libclang"))
}

/// Whether it is where Debian's packages have it, or where the variable says that it is.
fn has_libclang() -> bool {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let is = |entry: &fs::DirEntry, start, part| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(start) && name.contains(part)
    };
    let versions = entries("/usr/lib".into()).filter(|entry| is(entry, "llvm-", ""));
    let mut files = versions.flat_map(|version| entries(version.path().join("lib")));
    env::var_os("LIBCLANG_PATH").is_some() || files.any(|file| is(&file, "libclang", ".so"))
}
