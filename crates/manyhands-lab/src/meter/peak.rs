//! Peak memory of a piece of work, in a process that does nothing else.
//!
//! The kernel keeps the highest resident size of a process and forgets it when asked to.

use std::fs;

/// A started measurement of peak memory.
///
/// # Examples
/// ```
/// use manyhands_lab::meter::PeakMemory;
///
/// if let Some(peak) = PeakMemory::start() {
///     let list = vec![1_u8; 50_000_000];
///     assert!(peak.bytes().is_some_and(|bytes| bytes > 40_000_000));
///     drop(list);
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct PeakMemory {
    before: u64,
}

impl PeakMemory {
    /// Forgets the peak so far. `None` where the system cannot.
    pub fn start() -> Option<Self> {
        fs::write("/proc/self/clear_refs", "5").ok()?;
        let before = status_bytes("VmRSS")?;
        Some(Self { before })
    }

    /// Highest resident bytes since the start, less what was resident then.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        status_bytes("VmHWM").map(|peak| peak.saturating_sub(self.before))
    }
}

fn status_bytes(field: &str) -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, field)
}

fn bytes_of(status: &str, field: &str) -> Option<u64> {
    let value = status
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find_map(|(name, value)| (name == field).then_some(value))?;
    let kibibytes: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = "Name:\tcat\nVmPeak:\t    3060 kB\nVmHWM:\t    1732 kB\nThreads:\t1\n";

    #[test]
    fn sizes_are_in_kibibytes() {
        assert_eq!(bytes_of(RECORDED, "VmHWM"), Some(1_732 * 1_024));
    }

    #[test]
    fn absent_and_malformed_sizes_are_none() {
        assert_eq!(bytes_of(RECORDED, "VmRSS"), None);
        assert_eq!(bytes_of(RECORDED, "Threads"), None);
        for text in [
            "",
            "VmHWM",
            "VmHWM: kB",
            "VmHWM: -1 kB",
            "VmHWM: 99999999999999999999 kB",
        ] {
            assert_eq!(bytes_of(text, "VmHWM"), None, "{text:?}");
        }
    }

    #[test]
    fn memory_given_back_before_the_end_is_in_the_peak() {
        const BYTES: usize = 64 << 20;
        if PeakMemory::start().is_none() {
            return;
        }
        // Another test may give back as much meanwhile, or begin a peak of its own, which is the process's too.
        let is_seen = |_| {
            let peak = PeakMemory::start().expect("it could be started");
            drop(std::hint::black_box(vec![1_u8; BYTES]));
            peak.bytes().expect("it could be started") > BYTES as u64 / 2
        };
        assert!((0..100).any(is_seen));
    }
}
