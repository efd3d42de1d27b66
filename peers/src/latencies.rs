//! How late tasks run that a thread outside the pool sends on a clock: each notes its own time, and the sender
//! waits for the last.
//!
//! Not here: when they are sent, and from which moment a problem counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long each task waited.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    nanos: Arc<[AtomicU64]>,
    noted: Arc<AtomicUsize>,
}

impl Latencies {
    /// Room for a task at every tick of this long, at least for one.
    pub(crate) fn of_clock(length: Duration, tick: Duration) -> Self {
        let count = length.as_nanos() / tick.as_nanos().max(1);
        let count = usize::try_from(count).unwrap_or(usize::MAX).max(1);
        Self {
            nanos: (0..count).map(|_| AtomicU64::new(0)).collect(),
            noted: Arc::default(),
        }
    }

    /// How many tasks there are.
    pub(crate) fn count(&self) -> usize {
        self.nanos.len()
    }

    /// Called once by each task: it has waited from `since` until now.
    pub(crate) fn note(&self, index: usize, since: Instant) {
        let nanos = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: published by the count.
        self.nanos[index].store(nanos, Ordering::Relaxed);
        // Release: pairs with the Acquire in `wait`.
        self.noted.fetch_add(1, Ordering::Release);
    }

    /// All of them, when the last task has run. The parent ends a child that waits too long.
    pub(crate) fn wait(self) -> Vec<u64> {
        // Acquire: pairs with the Release in `note`.
        while self.noted.load(Ordering::Acquire) < self.count() {
            thread::sleep(Duration::from_millis(1));
        }
        // Relaxed: as above.
        let read = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed);
        self.nanos.iter().map(read).collect()
    }
}

/// The nanoseconds within which this percentage of the tasks ran. There is at least one task.
pub(crate) fn within(nanos: &mut [u64], percent: usize) -> f64 {
    nanos.sort_unstable();
    nanos[(nanos.len() - 1) * percent / 100] as f64
}

#[cfg(test)]
mod tests {
    use super::{Latencies, within};
    use std::time::{Duration, Instant};

    #[test]
    fn ninety_nine_of_a_hundred_and_one_ran_within_the_hundredth_time() {
        let mut nanos: Vec<u64> = (0..=100).rev().collect();
        assert_eq!(within(&mut nanos, 50).to_bits(), 50_f64.to_bits());
        assert_eq!(within(&mut nanos, 99).to_bits(), 99_f64.to_bits());
    }

    #[test]
    fn each_task_s_time_is_kept_at_its_place() {
        let latencies = Latencies::of_clock(Duration::from_secs(1), Duration::from_millis(400));
        assert_eq!(latencies.count(), 2);
        let now = Instant::now();
        latencies.note(1, now);
        latencies.note(0, now.checked_sub(Duration::from_secs(5)).unwrap_or(now));
        let nanos = latencies.wait();
        assert!(
            nanos[0] >= 5_000_000_000 && nanos[1] < nanos[0],
            "{nanos:?}"
        );
    }
}
