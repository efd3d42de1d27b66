//! Atomics for the models, whose SeqCst accesses take part in one total order.
//!
//! loom treats a SeqCst access like an AcqRel one and would report losses that cannot happen; its SeqCst
//! fences are exact. So here every SeqCst access stands between two such fences. That is more than the
//! language promises for the Relaxed accesses around it, so the models show nothing about those.
//!
//! Not built outside the models.

use loom::sync::atomic::{Ordering, fence};

macro_rules! atomic {
    ($name:ident $(<$pointee:ident>)?, $value:ty, [$($modify:ident),*]) => {
        /// loom's type of this name, with the fences.
        #[derive(Debug)]
        pub(crate) struct $name $(<$pointee>)? (loom::sync::atomic::$name $(<$pointee>)?);

        impl $(<$pointee>)? $name $(<$pointee>)? {
            #[track_caller]
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                fenced(ordering, || self.0.load(ordering))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                fenced(ordering, || self.0.store(value, ordering));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                fenced(ordering, || self.0.swap(value, ordering))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                expected: $value,
                value: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                fenced(success, || self.0.compare_exchange(expected, value, success, failure))
            }

            #[track_caller]
            pub(crate) fn compare_exchange_weak(
                &self,
                expected: $value,
                value: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                // loom's weak exchange does not fail by itself either.
                self.compare_exchange(expected, value, success, failure)
            }

            #[track_caller]
            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(fetch);
                while let Some(value) = change(before) {
                    match self.compare_exchange(before, value, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            $(
                #[track_caller]
                pub(crate) fn $modify(&self, value: $value, ordering: Ordering) -> $value {
                    fenced(ordering, || self.0.$modify(value, ordering))
                }
            )*
        }
    };
}

atomic!(AtomicBool, bool, []);
atomic!(AtomicPtr<T>, *mut T, []);
atomic!(AtomicU32, u32, [fetch_add, fetch_sub, fetch_and, fetch_or]);
atomic!(AtomicU64, u64, [fetch_add, fetch_sub, fetch_and, fetch_or]);
atomic!(AtomicUsize, usize, [fetch_add, fetch_sub, fetch_max]);

#[track_caller]
fn fenced<R>(ordering: Ordering, access: impl FnOnce() -> R) -> R {
    // SeqCst: the total order that the access is meant to join.
    let joins = ordering == Ordering::SeqCst;
    if joins {
        // SeqCst: whatever joined before is visible to the access.
        fence(Ordering::SeqCst);
    }
    let result = access();
    if joins {
        // SeqCst: the access is visible to whatever joins later.
        fence(Ordering::SeqCst);
    }
    result
}
