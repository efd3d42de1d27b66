//! Atomics for the models, whose SeqCst accesses take part in one total order.
//!
//! loom treats a SeqCst access like an AcqRel one and would report losses that cannot happen; its SeqCst
//! fences are exact. So here every SeqCst access stands between two such fences. That is more than the
//! language promises for the Relaxed accesses around it, so the models show nothing about those.
//!
//! Not built outside the models.

use crate::sync::wrapped_atomic::wrapped_atomic;
pub(crate) use loom::sync::atomic::{Ordering, fence};

macro_rules! atomic {
    ($name:ident $(<$pointee:ident>)?, $value:ty, $modify:tt) => {
        wrapped_atomic!(loom::sync::atomic, $name $(<$pointee>)?, $value, $modify);

        impl $(<$pointee>)? $name $(<$pointee>)? {
            #[track_caller]
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }
        }
    };
}

atomic!(AtomicBool, bool, []);
atomic!(AtomicPtr<T>, *mut T, []);
atomic!(AtomicU32, u32, [fetch_add, fetch_sub, fetch_and, fetch_or]);
atomic!(AtomicU64, u64, [fetch_add, fetch_sub, fetch_and, fetch_or]);
atomic!(
    AtomicUsize,
    usize,
    [fetch_add, fetch_sub, fetch_max, fetch_or]
);

/// As loom's weak exchange, which does not fail by itself either.
fn fails() -> bool {
    false
}

#[track_caller]
fn modify<A, R>(_at: &A, ordering: Ordering, run: impl FnOnce() -> R) -> R {
    access(ordering, run)
}

/// Puts an access that is sequentially consistent between two fences.
#[track_caller]
fn access<R>(ordering: Ordering, run: impl FnOnce() -> R) -> R {
    // SeqCst: the total order that the access is meant to join.
    let joins = ordering == Ordering::SeqCst;
    if joins {
        // SeqCst: all earlier accesses of the order are visible to the access.
        fence(Ordering::SeqCst);
    }
    let result = run();
    if joins {
        // SeqCst: the access is visible to all later ones of the order.
        fence(Ordering::SeqCst);
    }
    result
}
