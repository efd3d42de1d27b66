//! As `affinity.rs`, where threads are kept off no processor: on systems other than Linux, under Miri and in explorations.

/// The number of processors that this process may use, or `None` if the system does not report it.
pub(crate) fn allowed_cpus() -> Option<usize> {
    // Under the controlled scheduler processors do not exist.
    let known = std::thread::available_parallelism().ok();
    known.filter(|_| !cfg!(shuttle)).map(std::num::NonZero::get)
}
