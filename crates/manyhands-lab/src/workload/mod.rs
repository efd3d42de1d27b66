//! What the registered experiments run: items of work, and the loops around them.
//!
//! The arms of a case share one item and differ in the loop around it only. Which loops, sizes and
//! claims belong to which experiment is the [registry](crate::registry)'s business.

pub(crate) mod bcrypts;
pub(crate) mod calls;
pub(crate) mod counting;
pub(crate) mod hashes;
pub(crate) mod loops;
pub(crate) mod primes;
pub(crate) mod queueing;
pub(crate) mod slot;
pub(crate) mod switching;
pub(crate) mod waiting;

use std::{sync::LazyLock, thread};

/// CPUs this process may use. Asked once: the question takes longer than a short loop.
pub(crate) fn cpus() -> usize {
    static CPUS: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    *CPUS
}
