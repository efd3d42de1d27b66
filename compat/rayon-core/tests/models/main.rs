//! Model checks of what the threads of a pool share. The files of `src` are included here with loom's atomics and locks, and with
//! queues of such atomics: loom runs each small program in every order of its operations, and with every stale value that the
//! orderings allow a load to return.
//!
//! A model has threads, operations, a property and a bound. A thread that is not woken shows as a deadlock, because a sleep with a
//! limit has none here, but where a model says so. Work that is done twice, or by a thread that may not, fails by itself.
//!
//! Not shown: what lies behind the deques' interface (crossbeam's), the system's opinion of a thread (`Slot::is_blocked`), and
//! reorderings of a load with a later store, which loom does not explore.

#![expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the models use a part of what they include"
)]
#![expect(
    clippy::absurd_extreme_comparisons,
    clippy::reversed_empty_ranges,
    reason = "nobody looks several times"
)]

#[path = "../../src/executions.rs"]
mod executions;
mod free_slots;
#[path = "../../src/handlers.rs"]
mod handlers;
#[path = "../../src/job.rs"]
mod job;
#[path = "../../src/latch.rs"]
mod latch;
mod park;
mod places;
#[path = "../../src/registry.rs"]
mod registry;
#[path = "../../src/search.rs"]
mod search;
#[path = "../../src/sleep.rs"]
mod sleep;
#[path = "../../src/slot.rs"]
mod slot;
#[path = "../../src/stack_job.rs"]
mod stack_job;
mod sync;
#[path = "../../src/thread_counts.rs"]
mod thread_counts;
#[path = "../../src/unwind.rs"]
mod unwind;
#[path = "../../src/wait.rs"]
mod wait;
#[path = "../../src/worker.rs"]
mod worker;

fn main() {
    free_slots::check();
    places::check();
}

/// Runs `program` in every order with at most this many preemptions.
fn check(preemptions_max: usize, program: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions_max);
    builder.max_branches = BRANCHES_MAX;
    builder.check(program);
}

/// Operations of one run; more means that it does not end.
const BRANCHES_MAX: usize = 20_000;
