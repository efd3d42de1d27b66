//! The public surface of rayon-core, on [manyhands](../manyhands/index.html).
//!
//! With this crate in place of the original, by one line in a program's manifest, rayon's parallel iterators, joins
//! and scopes run on the threads of manyhands' default runtime, beside its tasks and loops:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "…/compat/rayon-core" }
//! ```
//!
//! [`join`] runs two closures, perhaps in parallel. [`scope`] runs any number of closures that borrow, and waits for
//! all. [`spawn`] runs one that does not borrow. [`broadcast`] runs one on every thread. A [`ThreadPool`], made by
//! [`ThreadPoolBuilder`], has threads of its own.
//!
//! What is the same as in the original, what is better, and what cannot be had, is in this crate's README.

#![deny(unsafe_code)]

mod broadcast;
mod builder;
mod call;
mod deprecated;
mod error;
mod executions;
mod global;
mod handlers;
mod park;
mod registry;
mod search;
mod settings;
mod sync;
mod thread_counts;
mod thread_pool;
mod unwind;

#[expect(
    unsafe_code,
    reason = "jobs are reached by pointer; see the file's header"
)]
mod job;
#[expect(unsafe_code, reason = "jobs in frames; see the file's header")]
mod join;
#[expect(
    unsafe_code,
    reason = "latches are set by pointer; see the file's header"
)]
mod latch;
#[expect(
    unsafe_code,
    reason = "closures borrow for an erased lifetime; see the file's header"
)]
mod scope;
#[expect(unsafe_code, reason = "free slots are pointers; see the file's header")]
mod shared;
mod sleep;
mod slot;
#[expect(
    unsafe_code,
    reason = "jobs that nobody waits for; see the file's header"
)]
mod spawn;
#[expect(unsafe_code, reason = "jobs in frames; see the file's header")]
mod stack_job;
#[expect(
    unsafe_code,
    reason = "threads take their slots by pointer; see the file's header"
)]
mod threads;
mod wait;
#[expect(
    unsafe_code,
    reason = "the thread-local lookup is a pointer; see the file's header"
)]
mod worker;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[expect(deprecated, reason = "a part of the surface")]
pub use deprecated::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use settings::max_num_threads;
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    ThreadPool, current_num_threads, current_thread_has_pending_tasks, current_thread_index,
    yield_local, yield_now,
};
pub use threads::ThreadBuilder;
pub use worker::Yield;
