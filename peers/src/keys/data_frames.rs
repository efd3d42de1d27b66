//! Polars and DuckDB, from their Python wheels: this process becomes the interpreter, which answers in its stead.
//!
//! Their Rust crates take longer to build than all the other contenders together. What they do is in `data_frames.py`.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use manyhands_lab::contest;

/// Serves one of them, or says that it is not there.
pub(crate) fn serve(engine: &str) {
    let python = env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
    let mut interpreter = Command::new(python);
    interpreter.args(["-c", CODE, engine]);
    contest::say_absent(&become_process(interpreter));
}

/// Returns only if that fails: why.
#[cfg(unix)]
fn become_process(mut command: Command) -> String {
    use std::os::unix::process::CommandExt;
    format!("the interpreter does not run: {}", command.exec())
}

#[cfg(not(unix))]
fn become_process(_command: Command) -> String {
    "only on Unix".to_owned()
}

const CODE: &str = include_str!("data_frames.py");
/// The interpreter that has the packages.
const PYTHON: &str = "PEERS_PYTHON";
