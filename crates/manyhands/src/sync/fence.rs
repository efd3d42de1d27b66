//! A two-sided fence whose one side is free.
//!
//! `light` is in the owner's hot path, `heavy` in the rare other party's. Together they act as two
//! sequentially consistent fences: either what precedes `light` is visible after `heavy`, or what
//! precedes `heavy` is visible after `light`. On Linux `heavy` is `membarrier(PRIVATE_EXPEDITED)`, which
//! makes every running thread of the process pass a full barrier, so `light` need only stop the compiler.
//! If that call is missing or forbidden, or unknown as to Miri, `needs_fence` is true and the owner executes a real
//! fence.
//!
//! Source: membarrier(2); the idea is asymmetric fences, <https://wg21.link/p1202>.
//!
//! Unsafe: one system call.

use crate::sync::atomic::Ordering;

/// The free side. Only effective against `heavy`, and only when `needs_fence` is false.
#[inline(always)]
pub(crate) fn light() {
    // SeqCst: only the compiler is ordered here; `heavy` orders the processor.
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    // SeqCst: loom has no process-wide barrier, so the model has a fence on both sides.
    #[cfg(loom)]
    crate::sync::atomic::fence(Ordering::SeqCst);
}

/// The expensive side, 1 to 10 microseconds.
pub(crate) fn heavy() {
    // SeqCst: the partner of `light`, or of the owner's own fence where `needs_fence` is true.
    crate::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    if !needs_fence() {
        linux::barrier_all_threads();
    }
}

/// Whether the owner must execute a real fence, because this system offers no process-wide barrier.
pub(crate) fn needs_fence() -> bool {
    #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
    return !*linux::IS_REGISTERED;
    #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
    return cfg!(not(any(loom, shuttle)));
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
mod linux {
    use std::sync::LazyLock;

    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

    /// Registers the process on first use.
    pub(super) static IS_REGISTERED: LazyLock<bool> =
        LazyLock::new(|| membarrier(REGISTER_PRIVATE_EXPEDITED));

    pub(super) fn barrier_all_threads() {
        let done = membarrier(PRIVATE_EXPEDITED);
        assert!(done, "membarrier failed after a successful registration");
    }

    fn membarrier(command: libc::c_int) -> bool {
        // SAFETY: membarrier(command, flags = 0, cpu = 0) reads no memory of ours.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
    }
}
