//! What models have in place of `provided.rs`: loom's locks, atomics and threads.
//!
//! Not built outside the models.

#[path = "model_locks.rs"]
mod model_locks;
#[path = "seq_cst.rs"]
pub(crate) mod seq_cst;

pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use loom::thread;
pub(crate) use loom::thread::yield_now as spin_loop;
pub(crate) use model_locks::{OnceLock, ShortGuard, ShortLock};
pub(crate) use seq_cst as atomic;
pub(crate) use std::sync::atomic as counting;
pub(crate) use std::thread_local;
