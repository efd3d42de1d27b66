//! The locks, atomics and threads of the library: the standard library's.
//!
//! Models and explorations are built with what their checkers watch, in the same names (`tests/provided_to_models.rs`,
//! `tests/provided_to_explorations.rs`). In unit tests the atomics note their writes (`tests/writers.rs`).

#[cfg(all(test, not(miri)))]
pub(crate) use crate::sync::writers as atomic;
/// Atomics of counters. They take part in no protocol, so models and explorations leave their orders alone.
pub(crate) use atomic as counting;
pub(crate) use std::hint::spin_loop;
#[cfg(any(not(test), miri))]
pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
pub(crate) use std::{thread, thread_local};
