//! Integration tests, by area. A test whose name begins with a number holds the promise of that number:
//!
//! | | | | |
//! |---|---|---|---|
//! | 1 | empty and reversed ranges | 12 | degree zero |
//! | 2 | every index once | 13 | failures |
//! | 3 | ranges at the ends of their types | 14 | state of each runner |
//! | 4 | break | 15 | unbuffered iterators |
//! | 5 | several breaks | 16 | iterators are dropped |
//! | 6 | stop | 17 | partitions from many threads |
//! | 7 | break and stop in one loop | 18 | only what can be shared out is a source |
//! | 8 | cancelled rules | 19 | invoke |
//! | 9 | cancelled before the call | 20 | invoke with failures |
//! | 10 | cancelled in flight | 21 | invoked closures wait for one another |
//! | 11 | degree | 22 | the runtime that is used |
//! | 24 | async loops, cancelled before the call | 25 | their concurrency |
//! | 26 | bodies that never wait | 27 | every item once |
//! | 28 | the runtime of an async loop | 29 | a failure cancels the rest |
//! | 30 | every failure is kept | 31 | panics of a source come through the future |
//! | 56, 57 | closing a channel | 58 | giving up a send or a receive |
//! | 59 | order, once each | 60 | looking and counting |
//! | 61 | dropping when full | 62, 63 | rendezvous, prioritized |
//! | 64 | callbacks of a cancellation | 65 | linked sources |
//! | 66 | racing setters of a result | 67 | waits that are cancelled before |
//! | 68 | all and any of several tasks | 69 | continuations |
//! | 70 | who sets a result runs nothing else | 80 | intervals |
//! | 46 | sorts | | |
//!
//! Every wait has a deadline, and nothing sleeps.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod async_concurrency;
mod async_loop;
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
mod range;
mod reduce;
mod runtime;
mod scope;
mod short_tasks;
mod shutdown;
mod simulation;
mod sort;
mod source;
mod stall;
mod storm;
mod support;
mod surface;
mod survival;
mod task;
mod time;
mod user_code;
mod waits;
mod waker_clone;
mod which_runtime;
