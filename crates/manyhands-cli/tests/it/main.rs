//! The binary from outside: what it prints, with which exit code, and the files it leaves.

mod arguments;
#[cfg(unix)]
mod inspect;
mod lab;
mod load;
mod signals;
mod tour;

use std::process::{Command, Output};

/// Runs the binary to its end.
fn manyhands(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
    command.args(arguments).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}
