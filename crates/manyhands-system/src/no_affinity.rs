//! As `affinity.rs`, where threads are kept off no processor: on systems other than Linux, under Miri and in explorations.

/// A set of processors. There is none here.
#[derive(Debug, Clone, Copy)]
pub struct CpuSet(());

impl CpuSet {
    /// The system does not say.
    pub fn of_thread(_thread: i32) -> Option<Self> {
        None
    }

    /// Not called, because no thread has one.
    pub fn assign_to_thread(&self, _thread: i32) -> bool {
        false
    }

    /// Not called, because no thread has one.
    #[must_use]
    pub fn without(self, _cpu: usize) -> Self {
        self
    }

    /// Not called, because no thread has one.
    pub fn count(&self) -> usize {
        0
    }
}

/// The system does not say.
#[inline]
pub fn current_cpu() -> Option<usize> {
    None
}

/// The number of processors that this process may use, or `None` if the system does not report it.
pub(crate) fn allowed_cpus() -> Option<usize> {
    // Under the controlled scheduler processors do not exist.
    let known = std::thread::available_parallelism().ok();
    known.filter(|_| !cfg!(shuttle)).map(std::num::NonZero::get)
}
