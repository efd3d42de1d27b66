//! The threads, locks, statics and clocks of the library's `sync` when the whole library runs under a controlled
//! scheduler. Every thread is a coroutine of the crate `shuttle` on one thread of the system. At every access to an atomic
//! and every lock the scheduler may choose another thread to run. Time is a number.
//!
//! The library depends on this crate as it does on loom: for its tests alone, and only with `--cfg shuttle`, without which
//! the crate is empty. It is not published and knows nothing of the library.
//!
//! Not here: the programs that are explored (the library's `src/explore`), and atomics, which are the library's own
//! (`src/sync/tests/explored_atomic.rs`) and call `point`.
//!
//! Memory is sequentially consistent here; loom's models and the arguments in the library's comments cover weaker orders.
#![cfg(shuttle)]
#![expect(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "what has a name of the standard library's does what that does"
)]

pub mod clock;
mod explore;
#[expect(unsafe_code, reason = "values of a schedule; see the file's header")]
mod global;
mod local;
mod lock;
pub mod thread;
pub mod thread_state;
#[expect(unsafe_code, reason = "see each file's header")]
#[expect(clippy::cast_possible_truncation, reason = "choices of a few")]
mod world;

pub use explore::explore;
pub use global::{Global, leak};
pub use local::LocalKey;
pub use lock::{Condvar, Mutex, MutexGuard};
pub use per_thread as thread_local;
pub use world::{Terms, below, compute, one_in, point, refuse_some_starts, spin_loop};
