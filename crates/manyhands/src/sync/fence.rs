//! A two-sided fence whose one side is free.
//!
//! `light` is in the owner's hot path, `heavy` in the rare other party's. Together they act as two
//! sequentially consistent fences: either what precedes `light` is visible after `heavy`, or what
//! precedes `heavy` is visible after `light`. On Linux `heavy` is `membarrier(PRIVATE_EXPEDITED)`, which
//! makes every running thread of the process pass a full barrier, so `light` need only stop the compiler.
//! If that call is missing or forbidden, `needs_fence` is true and the owner executes a real fence.
//!
//! Source: the idea is asymmetric fences, <https://wg21.link/p1202>.
//!
//! Not here: the system's barrier (`barrier` of `manyhands-system`).

use crate::sync::atomic::Ordering;
use manyhands_system::barrier;

/// The free side. Only effective against `heavy`, and only when `needs_fence` is false.
#[inline(always)]
pub(crate) fn light() {
    // SeqCst: only the compiler is ordered here; `heavy` orders the processor.
    #[cfg(not(any(loom, miri)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    // SeqCst: neither loom nor Miri has a process-wide barrier, so both have a fence on both sides.
    #[cfg(any(loom, miri))]
    crate::sync::atomic::fence(Ordering::SeqCst);
}

/// The expensive side, 1 to 10 microseconds.
pub(crate) fn heavy() {
    // SeqCst: the partner of `light`, or of the owner's own fence where `needs_fence` is true.
    crate::sync::atomic::fence(Ordering::SeqCst);
    if IS_REAL && barrier::is_there() {
        barrier::pass_all_threads();
    }
}

/// Whether the owner must execute a real fence, because this system offers no process-wide barrier.
pub(crate) fn needs_fence() -> bool {
    IS_REAL && !barrier::is_there()
}

/// Models and explorations have their own atomics, which the system's barrier does not order, and Miri has no such barrier.
const IS_REAL: bool = cfg!(not(any(loom, shuttle, miri)));
