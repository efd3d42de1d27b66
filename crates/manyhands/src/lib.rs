//! A task parallel library: one work-stealing pool for loops, queries, fork-join, async tasks, timers, channels and
//! blocking calls.
//!
//! | for | see |
//! |---|---|
//! | loops over ranges, slices and iterators, also with async bodies | [`parallel`] |
//! | chains of operators: filter, join, group, order | [`query`] |
//! | fork-join that borrows | [`join`], [`scope`] |
//! | futures and closures with handles, groups, completions | [`task`] |
//! | sleeping, timeouts, intervals | [`time`] |
//! | channels between threads and async code | [`channel`] |
//! | stopping what runs | [`cancel`] |
//! | a pool of one's own, its limits and its metrics | [`Runtime`], [`RuntimeBuilder`] |
//! | testing tasks by a virtual clock | [`simulation`] |
//! | what a running program does | `inspect`, with the feature of that name |
//! | tokio, hyper, `metrics`, `tracing`, `futures` | [`integrations`] |
//!
//! # Examples
//! ```
//! use manyhands::parallel;
//!
//! let squares = parallel::map(0..1000_u64, |i| i * i);
//! assert_eq!(squares[999], 998_001);
//!
//! fn fib(n: u64) -> u64 {
//!     if n < 2 {
//!         return n;
//!     }
//!     let (a, b) = manyhands::join(|| fib(n - 1), || fib(n - 2)); // no cut-off needed
//!     a + b
//! }
//! assert_eq!(fib(20), 6765);
//!
//! let mut parts = [1, 2, 3];
//! manyhands::scope(|s| {
//!     for part in &mut parts {
//!         s.spawn(move |_| *part *= 10); // borrows; the scope's end waits for all
//!     }
//! });
//! assert_eq!(parts, [10, 20, 30]);
//! ```
//!
//! # One pool
//! Free functions use the runtime of the thread they are called on, else a default one with a worker for each
//! processor. Threads start when there is work for them, and sleep when there is none.
//!
//! A waiting thread runs only the work that it waits for. While a thread is blocked, another one runs in its place;
//! see [`task`](task#blocking). A helper of a loop looks about every 10 µs for waiting tasks, runs them and
//! comes back, so a loop on a busy pool shrinks, down to its caller, and grows again.
//!
//! # Waiting
//! A call that may wait has up to three names:
//!
//! | name | what it does |
//! |---|---|
//! | [`recv`](channel::Receiver::recv) | makes a future: await it |
//! | [`recv_blocking`](channel::Receiver::recv_blocking) | waits on the calling thread; if that is a worker, another one runs in its place |
//! | [`try_recv`](channel::Receiver::try_recv) | never waits |
//!
//! Calls that run work on the calling thread until it is done keep the names that every Rust user knows: [`join`], [`scope`],
//! [`JoinHandle::join`](task::JoinHandle::join), [`block_on`](task::block_on), [`install`](Runtime::install),
//! [`Simulation::run`](simulation::Simulation::run), loops, [`invoke`](parallel::invoke()), sorts, queries and
//! iterators, with `try_` where bodies may fail. [`task::blocking`] declares a closure of your own that waits.
//!
//! # Features
//! None is on by default, and each only adds to what is there without it.
//!
//! - `tokio`: `RuntimeBuilder::tokio` and [`integrations`]`::tokio_driver` make its sockets and timers work in tasks.
//! - `hyper`: a [`Handle`] is an executor and a timer of hyper.
//! - `futures`: a channel's sender is a sink of `futures`, and a [`Handle`] a spawner of theirs.
//! - `inspect`: [`diagnostics`] shows the tasks of the running program, what each waits for and where, to the command
//!   `manyhands inspect`, reports deadlocks, and says what kept a loop from being faster. `inspect-unstable`: the same as
//!   values, whose types may change in any release.
//! - `tracing`: changes of the number of threads, stalls, long computations and panics that no handle receives are
//!   events of the crate `tracing`, and what a task does is in a span; `integrations::tracing_events` lists them.
//!
//! # Forking
//! A child of `fork` has none of its parent's worker threads. So if the parent has made a runtime, every call in the child
//! that would use a pool panics. But where a task, or a call that uses a pool, has forked, it goes on in the child with what its
//! thread can do alone, such as loops and [`join`], and what it spawns does not run. Where a panic is not possible, the
//! process prints an error and ends: in a wait of such a task or call, or during unwinding, where a task returns, and at a
//! lock of the pool, or of a channel, that another thread of the parent had. Other things that threads of the parent were using,
//! such as tokens and completions, may keep the child waiting, as a mutex would. Dropping a runtime in the child does nothing,
//! and what is woken there does not run. You may start another program in the child, and you may fork before the first runtime
//! is made.
//!
//! # Threads and processes that end
//! The library may be used in destructors of thread-local values and in exit handlers. A runtime that was entered before may
//! not be current there any more. Only [`spawn_local`](task::spawn_local) panics there, because the thread is no longer a
//! worker, and tokio, where its context is gone: see [`integrations`]`::tokio_driver`.
//!
//! # Limits
//! At most 65,536 threads can use the runtimes of a process at once. Any further thread runs its loops and forks alone, and
//! panics if it waits for a task; no worker is started beyond that number.
//!
//! # Misuse
//! A wrong value that may come from outside the program, such as a number in a configuration file, gives a typed error. A
//! value that only a bug can produce panics, and the function's documentation says so. A value with an obvious meaning, such
//! as an empty range, is accepted.
//!
//! | what is wrong | what happens |
//! |---|---|
//! | a degree of parallelism of 0, or limits of it that are reversed or begin at 0 | [`ConcurrencyError`](parallel::ConcurrencyError) |
//! | a runtime of no workers, or of fewer threads than workers | [`BuildError`] |
//! | a reversed range, `5..2` | an empty loop, as in the standard library |
//! | a deadline in the past, a timeout of no time | already due: `sleep_until` is ready, `timeout_at` polls its future, once more when others had their turn, and then gives `Elapsed`, `interval_at` ticks, `TokenSource::with_deadline` is cancelled, `recv_timeout_blocking` and `send_timeout_blocking` try once and then give `Empty` or `Full` |
//! | `cancel_after` with no time | cancelled soon, not by the calling thread, which may hold a lock that a callback takes |
//! | a period of 0 | `interval`, `interval_at`: panic |
//! | a capacity of 0 | `bounded`: a rendezvous; `broadcast`: panic |
//! | a closed channel | `SendError` and its like, with the item; `RecvError` and its like, with the reason |
//! | a second result for a completion | `try_complete`: the value back, `try_fail` and `try_cancel`: `false`; without `try_`: panic |
//! | `when_any` of no tasks | panic; `when_all` and `when_each` of none are ready |
#![cfg_attr(docsrs, feature(doc_cfg))]
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

#[cfg(all(feature = "inspect", any(loom, shuttle)))]
compile_error!("neither a model nor an exploration is built with the feature `inspect`");

#[expect(unsafe_code, reason = "system calls; see each file's header")]
mod sync;

#[expect(unsafe_code, reason = "queues of pointers; see each file's header")]
mod queue;

mod probe;

mod call_site;

mod priority;

#[expect(unsafe_code, reason = "erased work; see each file's header")]
mod job;

#[expect(unsafe_code, reason = "linked timers; see each file's header")]
mod timer;

pub mod integrations;

#[cfg(feature = "inspect-unstable")]
#[cfg_attr(docsrs, doc(cfg(feature = "inspect-unstable")))]
pub mod inspect;
#[cfg(all(feature = "inspect", not(feature = "inspect-unstable")))]
#[expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "without `inspect-unstable` values are only sent, and not every method of theirs is wanted"
)]
mod inspect;

#[cfg_attr(
    all(feature = "inspect", not(feature = "inspect-unstable")),
    expect(unreachable_pub, reason = "public with `inspect-unstable`")
)]
#[cfg_attr(
    not(feature = "inspect"),
    expect(dead_code, reason = "values that are known without being said")
)]
mod recording;

#[cfg(feature = "inspect")]
mod first_runtime;

pub mod cancel;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "jobs on stacks; see each file's header")]
mod runtime;
/// What the models need of the runtime.
#[cfg(all(test, loom))]
#[expect(unsafe_code, reason = "see each file's header")]
pub(crate) mod runtime {
    pub(crate) mod ending;
    pub(crate) mod fork_join {
        pub(crate) mod executions;
        pub(crate) mod helper_slot;
        pub(crate) mod scope_closures;
        pub(crate) mod unowned_forks;
        pub(crate) mod unshared_calls;
        pub(crate) mod waiting;
    }
    pub(crate) mod monitor {
        pub(crate) mod control;
        pub(crate) mod switch;
    }
    pub(crate) mod sleep {
        mod blocking;
        pub(crate) mod idle;
        pub(crate) mod waking;

        pub(crate) use blocking::{blocking, blocking_on_others};
    }
    pub(crate) mod worker {
        pub(crate) mod refused_list;
        pub(crate) mod signal;
        pub(crate) mod steal_grace;
    }

    pub(crate) use fork_join::helper_slot::{CallHeader, HelperSlot};
    pub(crate) use fork_join::scope_closures::{Closures, Rest, Spawner};
}

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "task cells; see each file's header")]
pub mod task;
/// What the models need of tasks; the words of a cell have models of their own.
#[cfg(all(test, loom))]
#[expect(unsafe_code, reason = "wakers; see each file's header")]
pub(crate) mod task {
    pub(crate) mod budget;
    mod completion;
    mod poll_waker;
    mod ready_set;
    mod tracker;
    mod wait_list;
    mod when_all;

    pub(crate) use completion::{Completer, Completion, CompletionError, completion};
    pub(crate) use poll_waker::{PollWaker, is_task};
    pub(crate) use tracker::TaskTracker;
    pub(crate) use wait_list::{WaitList, WaiterKey};
    pub(crate) use when_all::when_all;
}

pub mod channel;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "pinned timers; see each file's header")]
pub mod time;

#[cfg(not(loom))]
pub mod simulation;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "handed-out positions; see each file's header")]
pub(crate) mod engine;
/// What the models need of loops.
#[cfg(all(test, loom))]
pub(crate) mod engine {
    pub(crate) mod ranges;
    pub(crate) mod sharing;
}
#[cfg(all(test, loom))]
pub(crate) mod parallel {
    pub(crate) mod source {
        pub(crate) mod turns;
    }
}

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "handed-out positions; see each file's header")]
pub mod parallel;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "handed-out positions; see each file's header")]
pub mod query;

#[cfg(not(loom))]
pub mod diagnostics;

#[cfg(all(test, loom))]
#[expect(unsafe_code, reason = "pointers, as in the runtime")]
mod models;

#[cfg(all(test, shuttle))]
mod explore;

#[cfg(all(test, not(any(loom, shuttle, miri))))]
#[path = "line_writers/tests.rs"]
mod line_writers;

/// The examples of the READMEs and of the guides are tests.
#[cfg(all(doctest, not(loom)))]
mod guides {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../README.md")]
    struct CrateReadme;
    #[doc = include_str!("../../../docs/first-five-minutes.md")]
    struct FirstFiveMinutes;
    #[doc = include_str!("../../../docs/cookbook.md")]
    struct Cookbook;
    #[doc = include_str!("../../../docs/from-rayon.md")]
    struct FromRayon;
    #[doc = include_str!("../../../docs/from-tokio.md")]
    struct FromTokio;
    #[doc = include_str!("../../../docs/from-dotnet.md")]
    struct FromDotnet;
    #[doc = include_str!("../../../docs/blocking-and-async.md")]
    struct BlockingAndAsync;
}

#[cfg(not(loom))]
pub use job::{AggregatePanic, PanicPayload};
#[cfg(not(loom))]
pub use runtime::{
    BuildError, EnterGuard, Runtime, RuntimeBuilder, Scope, ShutdownReport, UnfinishedWork, join,
    scope,
};
#[cfg(not(loom))]
pub use task::runtime_handle::Handle;
