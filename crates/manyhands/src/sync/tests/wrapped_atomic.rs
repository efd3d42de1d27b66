//! What the atomics of the models and those of the explorations have in common: wrappers with the standard library's
//! names. Each access goes through one of two functions that the user of the macro defines: `access`, and `modify` if it takes
//! the cache line for itself. A third, `fails`, says whether a weak exchange fails now for no reason.
//!
//! Not here: what such an access does (`seq_cst.rs`, `explored_atomic.rs`, `writers.rs`).
//!
//! Not built outside of models, explorations and unit tests.

/// A type around `$module`'s of the same name, with the methods that both kinds have.
macro_rules! wrapped_atomic {
    ($($module:ident)::+, $name:ident $(<$pointee:ident>)?, $value:ty, [$($modify:ident),*]) => {
        /// As the standard library's.
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name $(<$pointee>)? ($($module)::+::$name $(<$pointee>)?);

        impl $(<$pointee>)? Default for $name $(<$pointee>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }

        #[expect(clippy::allow_attributes, reason = "some types use all of it")]
        #[allow(dead_code, reason = "one text for all types")]
        impl $(<$pointee>)? $name $(<$pointee>)? {
            #[track_caller]
            pub(crate) fn load(&self, ordering: Ordering) -> $value {
                access(ordering, || self.0.load(ordering))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, ordering: Ordering) {
                modify(self, ordering, || self.0.store(value, ordering));
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, ordering: Ordering) -> $value {
                modify(self, ordering, || self.0.swap(value, ordering))
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                expected: $value,
                value: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                modify(self, success, || {
                    self.0.compare_exchange(expected, value, success, failure)
                })
            }

            #[track_caller]
            pub(crate) fn compare_exchange_weak(
                &self,
                expected: $value,
                value: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                modify(self, success, || {
                    if fails() {
                        return Err(self.0.load(failure));
                    }
                    self.0.compare_exchange(expected, value, success, failure)
                })
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
                    match self.compare_exchange_weak(before, value, set, fetch) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }

            $(
                #[track_caller]
                pub(crate) fn $modify(&self, value: $value, ordering: Ordering) -> $value {
                    modify(self, ordering, || self.0.$modify(value, ordering))
                }
            )*
        }
    };
}

/// The library's atomics around the standard library's.
macro_rules! std_atomics {
    () => {
        std_atomics!(AtomicBool, bool, [fetch_or, fetch_and]);
        std_atomics!(AtomicPtr<T>, *mut T, []);
        std_atomics!(AtomicU32, u32);
        std_atomics!(AtomicU64, u64);
        std_atomics!(AtomicUsize, usize);
    };
    ($name:ident, $value:ty) => {
        std_atomics!($name, $value, [
            fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, fetch_max, fetch_min
        ]);
    };
    ($name:ident $(<$pointee:ident>)?, $value:ty, $modify:tt) => {
        wrapped_atomic!(std::sync::atomic, $name $(<$pointee>)?, $value, $modify);

        #[expect(clippy::allow_attributes, reason = "some types use all of it")]
        #[allow(dead_code, reason = "one text for all types")]
        impl $(<$pointee>)? $name $(<$pointee>)? {
            pub(crate) const fn new(value: $value) -> Self {
                Self(std::sync::atomic::$name::new(value))
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

pub(super) use std_atomics;
pub(super) use wrapped_atomic;
