//! How a new task gets into a queue, and how one that is a future is polled, waits, and gets back into it.
//!
//! Before a future waits for the first time it registers in the runtime's registry. While the task is in no queue, its
//! link is not needed as such and leads to that registry, or to the slot of the one worker that may poll
//! it. Only a thread that has the right to queue the task reads the link.
//!
//! Not here: what a poll does (`future.rs`), and which queue that is (`runtime/enqueue.rs`).
//!
//! Unsafe: tasks are queued by pointer.

use crate::job::{Action, Job, TaskKey};
use crate::queue::Linked;
use crate::runtime::enqueue::{Woken, enqueue_bound, enqueue_woken};
use crate::runtime::policy::Pusher;
use crate::runtime::{Priority, WorkerSlot, current};
use crate::sync::atomic::Ordering;
use crate::task::budget;
use crate::task::cell::{Header, QueuePart};
use crate::task::name::TaskKind;
use crate::task::steps::{Closed, EndedPart, FutureCell, Polled, RunnerPart, Step};
use std::ptr;

impl FutureCell for Header {
    #[inline]
    fn poll(runner: RunnerPart<Self>) -> Polled<Self> {
        let cell = runner.cell();
        // SAFETY: from the cell's own table; the future is there.
        let run = || unsafe { (cell.vtable().run)(cell, Step::Run) };
        let poll = || budget::during_poll(run);
        if cell.run_by(poll, || cell.state.wakers()) {
            // SAFETY: the poll has done so.
            return Polled::Ended(unsafe { runner.ended() });
        }
        Polled::Pending(runner)
    }

    /// Registers it and sets its link. The caller is a worker.
    #[inline]
    fn prepare_to_wait(runner: &mut RunnerPart<Self>) -> Result<(), Closed> {
        let (slot, shared) = current::worker().expect("futures are polled by workers");
        let registry = shared.registry;
        let job = runner.cell().job();
        if place_of(runner).is_none() {
            let place = registry.register(job, slot.number.into()).ok_or(Closed)?;
            // Relaxed: the next runner reads it through the state.
            runner.place.store(place.to_bits(), Ordering::Relaxed);
        }
        // SAFETY: a running task is in no queue, and only its runner uses the link.
        let word = unsafe { Job::link(job) };
        let kept = match runner.vtable().kind {
            TaskKind::LocalFuture => ptr::from_ref::<WorkerSlot>(slot).cast_mut().cast(),
            TaskKind::Future | TaskKind::PrioritizedFuture | TaskKind::Closure => {
                ptr::from_ref(registry).cast_mut().cast()
            }
        };
        // Relaxed: published by the state's exchange.
        word.store(kept, Ordering::Relaxed);
        Ok(())
    }

    fn queue_polled(part: QueuePart) {
        let by = if budget::was_spent_quickly() {
            Pusher::PollsSpent
        } else {
            Pusher::Polls
        };
        requeue(part, by);
    }

    fn take_out(runner: &EndedPart<Self>, action: Action<'_>) {
        let Some(place) = place_of(runner) else {
            return;
        };
        if let Action::Drop(registry) = action {
            registry.take_out(place);
        } else {
            let (_, shared) = current::worker().expect("futures are polled by workers");
            shared.registry.take_out(place);
        }
    }

    fn drop_future(runner: RunnerPart<Self>) -> EndedPart<Self> {
        // SAFETY: from the cell's own table; the future is there.
        unsafe { (runner.vtable().run)(runner.cell(), Step::Drop) };
        runner.record.ended();
        // SAFETY: done just now.
        unsafe { runner.ended() }
    }
}

/// Queues a task that was woken or must be dropped, and has been prepared to wait.
pub(super) fn queue(part: QueuePart) {
    let by = if budget::is_in_poll() {
        Pusher::Polls
    } else {
        Pusher::IsAway
    };
    requeue(part, by);
}

fn requeue(part: QueuePart, by: Pusher) {
    // SAFETY: in no queue, and the caller's to queue.
    let word = unsafe { Job::link(part.cell().job()) };
    // Relaxed: the state's exchange has acquired what `prepare_to_wait` wrote.
    let kept = word.load(Ordering::Relaxed);
    part.record.woken();
    let kind = part.vtable().kind;
    if kind == TaskKind::LocalFuture {
        // SAFETY: written by `prepare_to_wait`; slots are never freed. Held by
        // `callers.rs`.
        let owner = unsafe { &*kept.cast() };
        // SAFETY: `prepare_to_wait` has registered it, and only a runner takes it out.
        return unsafe { enqueue_bound(part.into_job(), owner) };
    }
    let priority = if kind == TaskKind::PrioritizedFuture {
        part.cell().label().priority
    } else {
        Priority::Normal
    };
    // SAFETY: written by `prepare_to_wait`; registries are never freed. Held by `callers.rs` and
    // `models/task_registry.rs`.
    let registry = unsafe { &*kept.cast() };
    let key = place_of(&part).expect("who waits is registered");
    // SAFETY: `prepare_to_wait` has registered it, and only a runner takes it out.
    let from = unsafe { Woken::from(registry, key) };
    enqueue_woken(part.into_job(), &from, priority, by);
}

fn place_of(header: &Header) -> Option<TaskKey> {
    // Relaxed: the runner's, or acquired through the state.
    TaskKey::from_bits(header.place.load(Ordering::Relaxed))
}
