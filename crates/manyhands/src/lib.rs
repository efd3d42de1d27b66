//! A task parallel library: one pool for loops, fork-join and tasks.
//!
//! # Examples
//! ```
//! use manyhands::parallel;
//!
//! let squares = parallel::map(0..1000_u64, |i| i * i);
//! assert_eq!(squares[999], 998_001);
//! ```
//!
//! # Features
//! None is on by default, and none changes what is there without it.
//!
//! - `tokio`: `Builder::tokio` and the module `tokio` make its sockets and timers work in tasks.
//! - `hyper`: the module `hyper` has an executor and a timer for it.
//! - `spawn`: `task::Spawner` is a spawner of `futures`.
//! - `sink`: a channel's sender as a sink of `futures`.
//! - `metrics`: the module `metrics` gives a runtime's numbers to the recorder of the crate `metrics`.
//! - `tracing`: changes of the number of threads, stalls, long computations and panics nobody takes are events of
//!   the crate `tracing`, and what a task does is in a span; the module `tracing` lists them.
//!
//! # Forking
//! A child of `fork` has one thread, and none of a pool's. In a child of a process that has made a runtime before,
//! whatever would use a pool panics; what would wait where it cannot panic any more, and a task that returns in the
//! child, end the process with a sentence. Dropping a runtime there does nothing. Starting another program in the
//! child is fine, and so is forking before the first runtime is made.
//!
//! # Threads and processes that end
//! Everything works in destructors of thread-local values and in exit handlers, but for
//! [`spawn_local`](task::spawn_local): a thread is no worker any more then.
//!
//! # Limits
//! At most 65,536 threads are workers, take part in calls, or wait for tasks at once, in all runtimes together. One
//! more runs its loops and forks alone, is not started if it would be a worker, and panics where it would wait.
#![deny(unsafe_code)]
#![cfg_attr(
    any(loom, shuttle),
    allow(
        dead_code,
        unused_imports,
        unused_macros,
        unreachable_pub,
        unfulfilled_lint_expectations,
        reason = "under loom only the protocols are built, and what is explored uses not all of the rest"
    )
)]

#[expect(
    unsafe_code,
    reason = "system calls and the tick counter; see each file's header"
)]
mod sync;

#[cfg(all(feature = "tracing", not(loom)))]
pub mod tracing;
#[cfg(not(all(feature = "tracing", not(loom))))]
mod tracing;

#[expect(unsafe_code, reason = "queues of pointers; see each file's header")]
mod queue;

mod probe;

#[expect(unsafe_code, reason = "erased work; see each file's header")]
mod job;

#[expect(
    unsafe_code,
    reason = "timers linked by pointer; see each file's header"
)]
mod timer;

#[cfg(all(feature = "tokio", not(loom)))]
pub mod tokio;

pub mod cancel;

#[expect(
    unsafe_code,
    reason = "jobs on stacks and seats shared by pointer; see each file's header"
)]
mod runtime;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "task cells; see each file's header")]
pub mod task;
/// What the models need of tasks; the words of a cell have models of their own.
#[cfg(loom)]
#[expect(unsafe_code, reason = "wakers; see each file's header")]
pub(crate) mod task {
    mod bells;
    pub(crate) mod budget;
    mod completion;
    mod waker_set;
    mod when_all;

    pub(crate) use completion::{Completer, Completion, CompletionError, completion};
    pub(crate) use when_all::when_all;
}

pub mod channel;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "pinned timers; see each file's header")]
pub mod time;

#[cfg(all(feature = "hyper", not(loom)))]
pub mod hyper;

#[cfg(all(feature = "metrics", not(loom)))]
pub mod metrics;

#[cfg(not(loom))]
pub mod simulation;

/// What the models need of loops.
#[cfg(loom)]
pub(crate) mod parallel {
    pub(crate) mod engine {
        pub(crate) mod sharing;
        pub(crate) mod stripes;
    }
}
#[cfg(not(loom))]
#[expect(
    unsafe_code,
    reason = "sources and the engine hand out positions; see each file's header"
)]
pub mod parallel;

#[cfg(not(loom))]
#[expect(
    unsafe_code,
    reason = "sources hand out positions; see each file's header"
)]
pub mod query;

#[cfg(all(test, loom))]
#[expect(
    unsafe_code,
    reason = "protocols are set going by pointer, as in the runtime"
)]
mod models;

#[cfg(all(test, shuttle))]
mod explore;

/// The examples of the README and of the guides are tests.
#[cfg(all(doctest, not(loom)))]
mod guides {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/from-rayon.md")]
    struct FromRayon;
    #[doc = include_str!("../../../docs/from-tokio.md")]
    struct FromTokio;
}

#[cfg(not(loom))]
pub use job::{AggregatePanic, PanicPayload};
#[cfg(not(loom))]
pub use runtime::{
    BuildError, Builder, EnterGuard, LongJob, Metrics, Runtime, Scope, ShutdownReport, Stall,
    StalledThread, ThreadChange, ThreadChangeReason, Wait, join, scope,
};
