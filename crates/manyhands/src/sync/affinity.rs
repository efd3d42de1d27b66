//! How many processors this process may run on, by its affinity mask.
//!
//! Not here: the cgroup quota, which is text in files (see `runtime/topology.rs`).
//!
//! Unsafe: one system call that fills a mask.

/// Processors in the affinity mask, or `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub(crate) fn allowed_cpus() -> Option<usize> {
    // SAFETY: an all-zero mask is a valid value of this plain C struct.
    let mut mask: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: the pointer is to `size` writable bytes; pid 0 is the calling thread.
    let answer = unsafe { libc::sched_getaffinity(0, size, &raw mut mask) };
    if answer != 0 {
        return None;
    }
    // SAFETY: the mask was filled by the call above.
    let count = unsafe { libc::CPU_COUNT(&mask) };
    usize::try_from(count).ok().filter(|&count| count > 0)
}

/// Processors in the affinity mask, or `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed_cpus() -> Option<usize> {
    std::thread::available_parallelism()
        .ok()
        .map(std::num::NonZero::get)
}
