//! Which processors this process and its threads may run on.
//!
//! Not here: the cgroup quota, which the system reports in files (`usable_processors.rs`), and other systems
//! (`no_affinity.rs`).
//!
//! Unsafe: system calls that fill and read a mask.

use std::fmt;

/// A set of processors.
#[derive(Clone, Copy)]
pub struct CpuSet(libc::cpu_set_t);

impl CpuSet {
    /// The processors that thread `thread` may run on; 0 is the calling thread.
    pub fn of_thread(thread: i32) -> Option<Self> {
        // SAFETY: an all-zero mask is a valid value of this plain C struct.
        let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to as many writable bytes as are named.
        let failed = unsafe { libc::sched_getaffinity(thread, size_of_val(&mask), &raw mut mask) };
        (failed == 0).then_some(Self(mask))
    }

    /// Lets thread `thread` run on these processors only; 0 is the calling thread. Returns whether it may.
    pub fn assign_to_thread(&self, thread: i32) -> bool {
        // SAFETY: the pointer is to as many readable bytes as are named.
        unsafe { libc::sched_setaffinity(thread, size_of_val(&self.0), &raw const self.0) == 0 }
    }

    /// The set without one of its processors.
    #[must_use]
    pub fn without(mut self, cpu: usize) -> Self {
        if cpu < 8 * size_of_val(&self.0) {
            // SAFETY: the number is within the mask.
            unsafe { libc::CPU_CLR(cpu, &mut self.0) };
        }
        self
    }

    /// How many processors it holds.
    pub fn count(&self) -> usize {
        // SAFETY: reads the mask.
        let count = unsafe { libc::CPU_COUNT(&self.0) };
        usize::try_from(count).unwrap_or(0)
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CpuSet").field(&self.count()).finish()
    }
}

/// The processor that the calling thread was running on a moment ago.
#[inline]
pub fn current_cpu() -> Option<usize> {
    // SAFETY: takes nothing, returns a number.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The number of processors in the affinity mask, or `None` if the system does not report it.
pub(crate) fn allowed_cpus() -> Option<usize> {
    let count = CpuSet::of_thread(0)?.count();
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::{CpuSet, current_cpu};

    #[test]
    fn a_thread_can_be_kept_off_a_processor_and_set_free_again() {
        let all = CpuSet::of_thread(0).unwrap();
        if all.count() < 2 {
            return;
        }
        let here = current_cpu().unwrap();
        assert!(all.without(here).assign_to_thread(0));
        assert_ne!(current_cpu().unwrap(), here);
        assert!(all.assign_to_thread(0));
        assert_eq!(CpuSet::of_thread(0).unwrap().count(), all.count());
    }
}
