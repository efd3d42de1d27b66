//! The atomics, threads, locks and clocks of `sync` when the whole library runs under a controlled scheduler. Every
//! thread is a coroutine of the crate `shuttle` on one thread of the system. At every access to an atomic and every
//! lock the scheduler may choose another thread to run. Time is a number.
//!
//! Not here: which threads run when (`world/mod.rs`), and the programs that are explored (`crate::explore`).
//!
//! Memory is sequentially consistent here; loom's models and the arguments in the comments cover weaker orders.
//! Not built outside of exploration.

pub(crate) mod atomic;
pub(crate) mod clock;
mod global;
mod local;
mod lock;
pub(crate) mod thread;
pub(crate) mod thread_state;
pub(crate) mod world;

pub(crate) use global::{Global, global, leak};
pub(crate) use local::{LocalKey, thread_local};
pub(crate) use lock::{Condvar, Mutex, MutexGuard};
