//! The scheduler decides where threads run; processors do not exist.

/// A set of processors; there is none.
#[derive(Clone, Copy)]
pub(crate) struct CpuSet;

impl CpuSet {
    pub(crate) fn of_thread(_thread: i32) -> Option<Self> {
        None
    }

    pub(crate) fn assign_to_thread(&self, _thread: i32) -> bool {
        false
    }

    pub(crate) fn without(self, _cpu: usize) -> Self {
        self
    }

    pub(crate) fn len(&self) -> usize {
        0
    }
}

/// Unknown.
pub(crate) fn current_cpu() -> Option<usize> {
    None
}

/// Unknown.
pub(crate) fn allowed_cpus() -> Option<usize> {
    None
}
