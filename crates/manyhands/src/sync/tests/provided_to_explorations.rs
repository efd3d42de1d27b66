//! What explorations have in place of `provided.rs`: locks, atomics and threads before each of whose steps their scheduler may
//! choose another thread.
//!
//! Not built outside of explorations.

#[path = "explored_atomic.rs"]
pub(crate) mod explored_atomic;

pub(crate) use explored_atomic as atomic;
pub(crate) use manyhands_explore::{Condvar, Mutex, MutexGuard, spin_loop, thread, thread_local};
pub(crate) use std::sync::OnceLock;
pub(crate) use std::sync::atomic as counting;
