//! A full memory barrier that every running thread of the process passes: on Linux `membarrier(PRIVATE_EXPEDITED)`.
//!
//! Not under Miri, which does not know the call.
//!
//! Source: membarrier(2).
//!
//! Unsafe: one system call.

use std::ffi::c_int;
use std::sync::LazyLock;

/// Whether the system has such a barrier and lets this process use it.
pub fn is_there() -> bool {
    *IS_REGISTERED
}

/// Takes 1 to 10 microseconds.
///
/// # Panics
/// If it [is not there](is_there).
pub fn pass_all_threads() {
    let done = is_there() && membarrier(PRIVATE_EXPEDITED);
    assert!(done, "membarrier failed after a successful registration");
}

/// Registers the process on first use.
static IS_REGISTERED: LazyLock<bool> = LazyLock::new(|| membarrier(REGISTER_PRIVATE_EXPEDITED));

const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

#[cfg(all(target_os = "linux", not(miri)))]
fn membarrier(command: c_int) -> bool {
    // SAFETY: membarrier(command, flags = 0, cpu = 0) reads no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn membarrier(_command: c_int) -> bool {
    false
}
