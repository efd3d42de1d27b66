//! What a shell and a manual know of this command line.

use crate::{
    output::{self, Failure},
    typed::Typed,
};
use clap::CommandFactory;
use clap_complete::Shell;
use manyhands_lab::console::Ending;
use std::{fs, path::PathBuf};

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Result<Ending, Failure> {
    // Not straight to standard output: that may be closed, and the generator would panic.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Typed::command(), "manyhands", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Good)
}

/// Writes a page for each command.
pub(crate) fn manual(path: PathBuf) -> Result<Ending, Failure> {
    let pages =
        fs::create_dir_all(&path).and_then(|()| clap_mangen::generate_to(Typed::command(), &path));
    pages.map_err(|source| Failure::Files { path, source })?;
    Ok(Ending::Good)
}
