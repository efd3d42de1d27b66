//! Polars and DuckDB, from their Python wheels: this process becomes the interpreter, which answers in its stead.
//!
//! Their Rust crates take longer to build than all the other contenders together. What they do is in `data_frames.py`.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use crate::foreign;

/// Serves one of them, or says that it is not there.
pub(crate) fn serve(engine: &str) {
    let python = env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
    let mut interpreter = Command::new(python);
    interpreter.args(["-c", CODE, engine]);
    foreign::become_program(interpreter);
}

const CODE: &str = include_str!("data_frames.py");
/// The interpreter that has the packages.
const PYTHON: &str = "PEERS_PYTHON";
