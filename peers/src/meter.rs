//! Wall time, CPU time and memory of one stretch of work, in the child.

use std::fs;
use std::time::{Duration, Instant};

use crate::clock;

/// Measures from its start to its stop.
#[derive(Debug)]
pub(crate) struct Meter {
    resident_bytes: u64,
    cpu: Duration,
    start: Instant,
}

/// What the work took.
#[derive(Debug)]
pub(crate) struct Cost {
    pub(crate) nanos: f64,
    pub(crate) cpu_nanos: f64,
    /// Resident memory at the peak above that at the start.
    pub(crate) megabytes: f64,
}

impl Meter {
    /// Sets the memory peak back to the present use; the error says why it cannot be.
    pub(crate) fn start() -> Result<Self, String> {
        fs::write("/proc/self/clear_refs", "5")
            .map_err(|error| format!("the memory peak cannot be reset: {error}"))?;
        Ok(Self {
            resident_bytes: status_bytes("VmRSS:")?,
            cpu: clock::process_cpu(),
            start: clock::now(),
        })
    }

    pub(crate) fn stop(self) -> Result<Cost, String> {
        let nanos = clock::nanos_since(self.start);
        let cpu_nanos = (clock::process_cpu() - self.cpu).as_secs_f64() * 1e9;
        let grown_bytes = status_bytes("VmHWM:")?.saturating_sub(self.resident_bytes);
        Ok(Cost {
            nanos,
            cpu_nanos,
            megabytes: grown_bytes as f64 / 1e6,
        })
    }
}

/// A field of the process's status, given there in KiB.
fn status_bytes(field: &str) -> Result<u64, String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes
        .map(|kibibytes| kibibytes * 1024)
        .ok_or_else(|| format!("no {field} in the status"))
}
