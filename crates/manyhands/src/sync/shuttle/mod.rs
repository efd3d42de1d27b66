//! What stands behind the door when the whole library runs under a controlled scheduler: every thread is a
//! coroutine of the crate `shuttle` on one thread of the system, every access to an atomic and every lock is a
//! place where another may be chosen to run, and time is a number.
//!
//! Not here: which threads run when (`world.rs`), and the programs that are explored (`crate::explore`).
//!
//! Memory is sequentially consistent here; weaker orders are for loom's models and for the arguments in the
//! comments. Not built outside of exploration.

mod affinity;
pub(crate) mod atomic;
pub(crate) mod clock;
mod global;
mod local;
mod lock;
pub(crate) mod processor_load;
pub(crate) mod thread;
pub(crate) mod thread_state;
pub(crate) mod world;

pub(crate) use affinity::{CpuSet, allowed_cpus, current_cpu};
pub(crate) use global::{Global, global, leak};
pub(crate) use local::{LocalKey, thread_local};
pub(crate) use lock::{Condvar, Mutex, MutexGuard};
