//! Integration tests, by area. Which of them hold the library's promises is in `docs/promises.md`.
//!
//! Every wait has a deadline, and nothing sleeps.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod async_concurrency;
mod async_loop;
mod async_states;
mod async_stream;
mod blocking;
mod bound;
mod budget;
mod cancellation;
mod channel;
mod channel_lock;
mod channel_to_all;
mod channel_turns;
mod combine;
mod completion;
mod contained;
mod degree;
mod drops;
mod entry;
mod failure;
mod fairness;
mod find;
mod fork_join;
mod future;
mod generic;
mod handles;
mod hill_climbing;
mod hundred_calls;
mod interval;
mod invoke;
mod leave_early;
mod local;
mod local_future;
mod map;
mod metrics;
mod misuse;
mod opened;
mod priority;
mod process;
mod producer;
mod range;
mod reduce;
mod runtime;
mod scope;
mod short_tasks;
mod shutdown;
mod simulation;
mod sort;
mod source;
mod spawned_loop;
mod stall;
mod storm;
mod support;
mod surface;
mod survival;
mod task;
mod time;
mod try_stream;
mod user_code;
mod waits;
mod waker_clone;
mod which_runtime;
