//! One line that says on what the numbers were measured.

use std::fs;
use std::thread;

/// CPU model, number of CPUs, kernel, and the compiler of this build.
pub(crate) fn line() -> String {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    format!(
        "Machine: {} · {cpus} CPUs · Linux {} · {}",
        cpu_model(),
        kernel(),
        env!("PEERS_RUSTC")
    )
}

fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find(|line| line.starts_with("model name"));
    let name = model
        .and_then(|line| line.split_once(':'))
        .map(|(_, name)| name.trim());
    name.unwrap_or("unknown CPU").to_owned()
}

fn kernel() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if text.trim().is_empty() {
        "of unknown version".to_owned()
    } else {
        text.trim().to_owned()
    }
}
