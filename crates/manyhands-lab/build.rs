//! Passes on what the compiler knows about this build, for the machine card.

use std::{env, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=LAB_RUSTC={}", compiler());
    for (name, source) in [
        ("LAB_TARGET", "TARGET"),
        ("LAB_OPT_LEVEL", "OPT_LEVEL"),
        ("LAB_TARGET_FEATURES", "CARGO_CFG_TARGET_FEATURE"),
    ] {
        let value = env::var(source).unwrap_or_default();
        println!("cargo::rustc-env={name}={value}");
    }
}

/// First line of the compiler's own answer; empty if it gives none.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let answer = Command::new(rustc).arg("--version").output();
    let text = answer.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let line = text
        .ok()
        .and_then(|text| text.lines().next().map(str::to_owned));
    line.unwrap_or_default()
}
