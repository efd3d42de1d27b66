//! Atomics of the standard library's size and shape, before each access of which another thread may be
//! chosen to run.

use super::world;
use crate::sync::wrapped_atomic::wrapped_atomic;
pub(crate) use std::sync::atomic::Ordering;

macro_rules! atomic {
    ($name:ident $(<$pointee:ident>)?, $value:ty, $modify:tt) => {
        wrapped_atomic!(std::sync::atomic, $name $(<$pointee>)?, $value, $modify);

        impl $(<$pointee>)? $name $(<$pointee>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
            }

            pub(crate) fn compare_exchange_weak(
                &self,
                expected: $value,
                value: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                access(success, || {
                    if world::one_in(WEAK_FAILURES_APART) {
                        return Err(self.0.load(failure));
                    }
                    self.0.compare_exchange(expected, value, success, failure)
                })
            }

            pub(crate) fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            pub(crate) fn into_inner(self) -> $value {
                self.0.into_inner()
            }
        }
    };
}

atomic!(AtomicBool, bool, [fetch_or, fetch_and]);
atomic!(AtomicPtr<T>, *mut T, []);
atomic!(
    AtomicU32,
    u32,
    [
        fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min
    ]
);
atomic!(
    AtomicU64,
    u64,
    [
        fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min
    ]
);
atomic!(
    AtomicUsize,
    usize,
    [
        fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min
    ]
);

impl Default for AtomicU64 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Default for AtomicUsize {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Default for AtomicBool {
    fn default() -> Self {
        Self::new(false)
    }
}

fn modify<A, R>(_at: &A, ordering: Ordering, run: impl FnOnce() -> R) -> R {
    access(ordering, run)
}

/// Lets another thread be chosen to run before an access.
fn access<R>(_ordering: Ordering, run: impl FnOnce() -> R) -> R {
    world::point();
    run()
}

/// A point like any other access, because accesses are sequentially consistent anyway.
pub(crate) fn fence(_ordering: Ordering) {
    world::point();
}

/// One weak exchange in this number fails for no reason.
const WEAK_FAILURES_APART: u64 = 16;
