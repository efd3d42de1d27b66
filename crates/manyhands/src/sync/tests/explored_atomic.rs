//! Atomics of the standard library's size and shape, before each access of which the scheduler of explorations may choose
//! another thread to run.
//!
//! Not built outside of explorations.

use crate::sync::wrapped_atomic::{std_atomics, wrapped_atomic};
pub(crate) use std::sync::atomic::Ordering;

std_atomics!();

/// Whether a weak exchange fails for no reason.
fn fails() -> bool {
    manyhands_explore::one_in(WEAK_FAILURES_APART)
}

fn modify<A, R>(_at: &A, ordering: Ordering, run: impl FnOnce() -> R) -> R {
    access(ordering, run)
}

/// Lets another thread be chosen to run before an access.
fn access<R>(_ordering: Ordering, run: impl FnOnce() -> R) -> R {
    manyhands_explore::point();
    run()
}

/// A point like any other access, because accesses are sequentially consistent anyway.
pub(crate) fn fence(_ordering: Ordering) {
    manyhands_explore::point();
}

/// One weak exchange in this number fails for no reason.
const WEAK_FAILURES_APART: u64 = 16;
