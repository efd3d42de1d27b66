//! Where a woken task is queued, and how a waker finds its runtime.
//!
//! # Order
//! A worker queues a task it wakes at the back of its own queue, any other thread at the back of the
//! runtime's. A worker that polls a task, wakes another and has no third one waiting notifies no other worker: it
//! will soon run that task itself. So tasks that wake each other in turn stay together.
//!
//! # How a waiting task finds its runtime
//! Before a future waits for the first time it registers in the runtime's registry. While the task is in no queue, its
//! link is not needed as such and leads to that registry, or to the slot of the one worker that may poll
//! it. Only a thread that has the right to queue the task reads the link.
//!
//! Unsafe: tasks are queued by pointer.

use crate::job::{Action, Job, TaskKey, TaskRegistry};
use crate::runtime::Priority;
use crate::runtime::current::{self, Caller};
use crate::runtime::sleep::waking::{self, Notify};
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::WorkerSlot;
use crate::sync::atomic::Ordering;
use crate::task::budget;
use crate::task::cell::{self, Header, TaskKind};
use crate::task::steps::Closed;
use std::ptr::{self, NonNull};

/// Queues a new task on the current runtime.
///
/// # Safety
/// The caller holds the queue's part.
pub(super) unsafe fn queue_new(cell: NonNull<Header>) {
    // SAFETY: a new cell, valid until the queue's part of it ends.
    unsafe { queue_new_job(cell::as_job(cell)) };
}

/// Queues a new job on the current runtime.
///
/// # Safety
/// It is in no queue, and valid until it is performed.
pub(super) unsafe fn queue_new_job(job: *mut Job) {
    match current::slot_of_runtime() {
        Some((slot, shared)) => {
            // SAFETY: by the caller's promise; the slot is this thread's.
            unsafe { waking::queue(shared, &slot.hold, &slot.tasks, job, Notify::Others) };
        }
        // SAFETY: as above.
        None => current::with_runtime(|shared| unsafe { shared.inject(job) }),
    }
}

/// Queues a new task of this priority on the current runtime.
///
/// # Safety
/// As for [`queue_new`].
pub(super) unsafe fn queue_new_in_lane(cell: NonNull<Header>, priority: Priority) {
    let job = cell::as_job(cell);
    // SAFETY: a new cell, valid until the queue's part of it ends.
    current::with_runtime(|shared| unsafe { shared.queue_in_lane(job, priority) });
}

/// Queues a new task that may run on this worker only.
///
/// # Safety
/// The caller holds the queue's part, and is the worker on `slot`.
pub(super) unsafe fn queue_new_local(cell: NonNull<Header>, slot: &OccupiedSlot) {
    slot.hosts_tasks.set(true);
    // SAFETY: a new cell, valid until the queue's part of it ends.
    unsafe { slot.local.push(cell::as_job(cell)) };
}

/// Queues a task that was woken or is to be dropped.
///
/// # Safety
/// The caller holds the queue's part of a task that has been prepared to wait.
pub(super) unsafe fn queue(cell: NonNull<Header>) {
    let caller = if budget::is_in_poll() {
        Caller::Poll
    } else {
        Caller::Other
    };
    // SAFETY: by the caller's promise.
    unsafe { queue_for(cell, caller) };
}

/// Queues a task that was woken while it was polled.
///
/// # Safety
/// As for [`queue`]; the caller has polled it.
pub(super) unsafe fn queue_polled(cell: NonNull<Header>) {
    let caller = if budget::was_spent_quickly() {
        Caller::SpentTask
    } else {
        Caller::PolledTask
    };
    // SAFETY: by the caller's promise.
    unsafe { queue_for(cell, caller) };
}

/// # Safety
/// As for [`queue`].
unsafe fn queue_for(cell: NonNull<Header>, caller: Caller) {
    let job = cell::as_job(cell);
    // SAFETY: in no queue, and the caller's to queue.
    let word = unsafe { Job::spare_word(job) };
    // Relaxed: the state's exchange has acquired what `prepare_to_wait` wrote.
    let kept = word.load(Ordering::Relaxed);
    // SAFETY: the caller holds the queue's part.
    let header = unsafe { cell.as_ref() };
    if header.kind().sort == TaskKind::LocalFuture {
        // SAFETY: written by `prepare_to_wait`; slots are never freed. Held by
        // `callers.rs`.
        let owner: &'static WorkerSlot = unsafe { &*kept.cast() };
        // SAFETY: the task is registered and the caller's to queue, valid until taken.
        return unsafe { current::requeue_local(owner, job) };
    }
    // SAFETY: written by `prepare_to_wait`; registries are never freed. Held by `callers.rs`
    // and `models/task_registry.rs`.
    let registry: &'static TaskRegistry = unsafe { &*kept.cast() };
    let place = place_of(header).expect("who waits is registered");
    if header.kind().sort == TaskKind::PrioritizedFuture {
        // SAFETY: held by the caller, and of the kind that the header names.
        let priority = unsafe { (header.kind().priority)(cell) };
        // SAFETY: the task is registered and the caller's to queue, valid until taken.
        return unsafe { current::requeue_in_lane(registry, place, job, priority) };
    }
    // SAFETY: the task is registered and the caller's to queue, valid until taken.
    unsafe { current::requeue(registry, place, job, caller) };
}

/// Prepares a pending future to wait: registers it and sets its link.
///
/// # Errors
/// [`Closed`] when it must be dropped instead.
///
/// # Safety
/// The caller is the future's runner, on a worker.
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
