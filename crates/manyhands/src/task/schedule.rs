//! How a new task gets into a queue, and a waiting one back into it.
//!
//! Before a future waits for the first time it registers in the runtime's registry. While the task is in no queue, its
//! link is not needed as such and leads to that registry, or to the slot of the one worker that may poll
//! it. Only a thread that has the right to queue the task reads the link.
//!
//! Not here: which queue that is (`runtime/enqueue.rs`).
//!
//! Unsafe: tasks are queued by pointer.

use crate::job::{Action, Job, TaskKey};
use crate::runtime::enqueue::{Origin, WokenBy, enqueue};
use crate::runtime::worker::slot::WorkerSlot;
use crate::runtime::{Priority, current};
use crate::sync::atomic::Ordering;
use crate::task::budget;
use crate::task::cell::{self, Header, TaskKind};
use crate::task::steps::Closed;
use std::ptr::{self, NonNull};

/// Queues a new task.
///
/// # Safety
/// As for [`enqueue`].
pub(super) unsafe fn queue_new(job: *mut Job, priority: Priority) {
    // SAFETY: by the caller's promise.
    unsafe { enqueue(job, Origin::New(priority)) };
}

/// Queues a task that was woken or is to be dropped.
///
/// # Safety
/// The caller holds the queue's part of a task that has been prepared to wait.
pub(super) unsafe fn queue(cell: NonNull<Header>) {
    let by = if budget::is_in_poll() {
        WokenBy::Poll
    } else {
        WokenBy::Other
    };
    // SAFETY: by the caller's promise.
    unsafe { requeue(cell, by) };
}

/// Queues a task that was woken while it was polled.
///
/// # Safety
/// As for [`queue`]; the caller has polled it.
pub(super) unsafe fn queue_polled(cell: NonNull<Header>) {
    let by = if budget::was_spent_quickly() {
        WokenBy::SpentTask
    } else {
        WokenBy::PolledTask
    };
    // SAFETY: by the caller's promise.
    unsafe { requeue(cell, by) };
}

/// # Safety
/// As for [`queue`].
unsafe fn requeue(cell: NonNull<Header>, by: WokenBy) {
    let job = cell::as_job(cell);
    // SAFETY: in no queue, and the caller's to queue.
    let word = unsafe { Job::spare_word(job) };
    // Relaxed: the state's exchange has acquired what `prepare_to_wait` wrote.
    let kept = word.load(Ordering::Relaxed);
    // SAFETY: the caller holds the queue's part.
    let header = unsafe { cell.as_ref() };
    header.record.woken();
    let sort = header.kind().sort;
    if sort == TaskKind::LocalFuture {
        // SAFETY: written by `prepare_to_wait`; slots are never freed. Held by
        // `callers.rs`.
        let owner: &'static WorkerSlot = unsafe { &*kept.cast() };
        // SAFETY: the task is registered and the caller's to queue, valid until taken.
        return unsafe { enqueue(job, Origin::Bound(owner)) };
    }
    let priority = if sort == TaskKind::PrioritizedFuture {
        // SAFETY: held by the caller, and of the kind that the header names.
        unsafe { (header.kind().priority)(cell) }
    } else {
        Priority::Normal
    };
    let origin = Origin::Woken {
        // SAFETY: written by `prepare_to_wait`; registries are never freed. Held by `callers.rs`
        // and `models/task_registry.rs`.
        registry: unsafe { &*kept.cast() },
        key: place_of(header).expect("who waits is registered"),
        priority,
        by,
    };
    // SAFETY: the task is registered and the caller's to queue, valid until taken.
    unsafe { enqueue(job, origin) };
}

/// Prepares a pending future to wait: registers it and sets its link.
///
/// # Errors
/// [`Closed`] when it must be dropped instead.
///
/// # Safety
/// The caller is the future's runner, on a worker.
#[inline]
pub(super) unsafe fn prepare_to_wait(cell: NonNull<Header>) -> Result<(), Closed> {
    let (slot, shared) = current::worker().expect("futures are polled by workers");
    let registry = shared.registry();
    let job = cell::as_job(cell);
    // SAFETY: held by the runner.
    let header = unsafe { cell.as_ref() };
    if place_of(header).is_none() {
        let place = registry.register(job, slot.number.into()).ok_or(Closed)?;
        // Relaxed: the next runner reads it through the state.
        header.place.store(place.to_bits(), Ordering::Relaxed);
    }
    // SAFETY: a running task is in no queue, and only its runner uses the link.
    let word = unsafe { Job::spare_word(job) };
    let kept = match header.kind().sort {
        TaskKind::LocalFuture => ptr::from_ref::<WorkerSlot>(slot).cast_mut().cast(),
        TaskKind::Future | TaskKind::PrioritizedFuture | TaskKind::Closure => {
            ptr::from_ref(registry).cast_mut().cast()
        }
    };
    // Relaxed: published by the state's exchange.
    word.store(kept, Ordering::Relaxed);
    Ok(())
}

/// Takes a finished task out of its registry, if it is in one. The caller is the runner.
pub(super) fn take_out(header: &Header, action: Action<'_>) {
    let Some(place) = place_of(header) else {
        return;
    };
    if let Action::Drop(registry) = action {
        registry.take_out(place);
    } else {
        let (_, shared) = current::worker().expect("futures are polled by workers");
        shared.registry().take_out(place);
    }
}

fn place_of(header: &Header) -> Option<TaskKey> {
    // Relaxed: the runner's, or acquired through the state.
    TaskKey::from_bits(header.place.load(Ordering::Relaxed))
}
