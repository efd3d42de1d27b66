//! A contender that is another program: this process becomes it, and it answers in this one's stead.
//!
//! It keeps the process's id, its pipes and the death signal of its parent. Not here: which program that is.

use std::process::Command;

use manyhands_lab::contest;

/// Becomes `program`; where that fails, says that the contender is absent, and why.
pub(crate) fn become_program(program: Command) {
    contest::say_absent(&replace_process(program));
}

/// Returns only if that fails: why.
#[cfg(unix)]
fn replace_process(mut program: Command) -> String {
    use std::os::unix::process::CommandExt;
    let error = program.exec();
    format!("{} does not run: {error}", program.get_program().display())
}

#[cfg(not(unix))]
fn replace_process(_program: Command) -> String {
    "only on Unix".to_owned()
}
