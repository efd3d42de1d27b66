//! The crate that speaks MPI, a workspace of its own: lints, documentation, and its tests under `mpirun`. Where there is no
//! MPI, or nothing to read its headers with, this says so and does nothing.

use std::env;
use std::fs;
use std::path::Path;

use crate::command::Invocation;
use crate::failure::Failure;
use crate::workspace::{self, MPI_MANIFEST};

pub(crate) fn run() -> Result<(), Failure> {
    if let Some(absent) = absent() {
        println!("skipped: there is no {absent}");
        return Ok(());
    }
    for line in [
        "clippy --all-targets --manifest-path",
        "doc --no-deps --manifest-path",
        "test --manifest-path",
    ] {
        let mut invocation = Invocation::cargo(line)
            .arg(MPI_MANIFEST)
            .arg("--target-dir")
            .arg(workspace::target())
            .env("RUSTDOCFLAGS", "-D warnings");
        if line.starts_with("clippy") {
            invocation = invocation.arg("--").arg("-D").arg("warnings");
        }
        invocation.run()?;
    }
    Ok(())
}

/// What it cannot do without.
fn absent() -> Option<&'static str> {
    let path = env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let programs = ["mpicc", "mpirun"];
    let program = programs.into_iter().find(|program| !has(program));
    program.or_else(|| (!has_libclang()).then_some("libclang"))
}

/// Whether it is where Debian's packages have it, or where the variable says that it is.
fn has_libclang() -> bool {
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let versions = versions.map(|entry| entry.path());
    let is_llvm = |path: &Path| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("llvm-")
    };
    let has_it = |folder: &Path| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = files.map(|entry| entry.file_name());
        let names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names
            .iter()
            .any(|name| name.starts_with("libclang") && name.contains(".so"))
    };
    env::var_os("LIBCLANG_PATH").is_some()
        || versions
            .filter(|path| is_llvm(path))
            .any(|path| has_it(&path.join("lib")))
}
