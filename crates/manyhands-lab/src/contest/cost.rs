//! Wall time, processor time and memory of one piece of work, in the child.
//!
//! Errors are lines for the answer to the parent.

use crate::{clock::Stopwatch, meter::PeakMemory, system};
use std::time::Duration;

/// A started measurement of all three.
///
/// # Examples
/// ```
/// use manyhands_lab::contest::CostMeter;
///
/// # if !cfg!(target_os = "linux") { return Ok(()) }
/// let meter = CostMeter::start()?;
/// let list = std::hint::black_box(vec![1_u8; 50_000_000]);
/// let cost = meter.stop()?;
/// assert!(cost.megabytes > 40.0 && cost.nanos > 0.0);
/// # drop(list);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct CostMeter {
    peak: PeakMemory,
    cpu: Duration,
    watch: Stopwatch,
}

/// What the work took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// From the start to the stop.
    pub nanos: f64,
    /// Processor time of all threads of this process.
    pub cpu_nanos: f64,
    /// Resident memory at its peak above that at the start.
    pub megabytes: f64,
}

impl CostMeter {
    /// Starts, from the memory in use now.
    ///
    /// # Errors
    /// That the system does not say one of the three.
    pub fn start() -> Result<Self, String> {
        Ok(Self {
            peak: PeakMemory::start().ok_or("the memory peak cannot be reset")?,
            cpu: cpu_time()?,
            watch: Stopwatch::start(),
        })
    }

    /// What came since the start.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn stop(self) -> Result<Cost, String> {
        let nanos = self.watch.nanos();
        let cpu = cpu_time()?.saturating_sub(self.cpu);
        let bytes = self.peak.bytes().ok_or("the memory peak cannot be read")?;
        Ok(Cost {
            nanos,
            cpu_nanos: cpu.as_secs_f64() * 1e9,
            megabytes: bytes as f64 / 1e6,
        })
    }
}

/// Processor time of this process so far, all threads, with that of the processes that it started and that have ended.
///
/// # Errors
/// That the system does not say.
pub fn cpu_time() -> Result<Duration, String> {
    let nanos = system::cpu_nanos().ok_or("the processor time cannot be read")?;
    Ok(Duration::from_nanos(nanos))
}

/// Processor time of the calling thread so far.
///
/// # Errors
/// That the system does not say.
pub fn thread_cpu_time() -> Result<Duration, String> {
    let nanos = system::thread_cpu_nanos().ok_or("the processor time cannot be read")?;
    Ok(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_has_all_three_costs() {
        const BYTES: usize = 32 << 20;
        if CostMeter::start().is_err() {
            return;
        }
        // Another test may begin a peak of its own meanwhile, which is the process's too.
        let is_seen = |_| {
            let meter = CostMeter::start().unwrap();
            let from = cpu_time().unwrap();
            while cpu_time().unwrap() - from < Duration::from_millis(5) {
                drop(std::hint::black_box(vec![1_u8; BYTES]));
            }
            let cost = meter.stop().unwrap();
            assert!(cost.cpu_nanos >= 5e6 && cost.nanos > 0.0, "{cost:?}");
            cost.megabytes > BYTES as f64 / 2e6
        };
        assert!((0..100).any(is_seen));
    }

    #[test]
    fn a_thread_has_the_time_that_it_worked_and_no_other_has() {
        const WORK: Duration = Duration::from_millis(5);
        let before = thread_cpu_time().unwrap();
        let worker = std::thread::spawn(|| {
            let from = thread_cpu_time().unwrap();
            while thread_cpu_time().unwrap() - from < WORK {}
            from
        });
        assert!(worker.join().unwrap() < WORK, "a thread begins with none");
        let process = cpu_time().unwrap();
        assert!(process >= WORK + (thread_cpu_time().unwrap() - before));
    }
}
