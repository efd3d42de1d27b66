//! Where a task is queued, and which worker is notified.
//!
//! # Order
//! A worker queues a task at the back of its own queue, any other thread at the back of the runtime's, which has
//! several shards where there are more than 16 workers (`queue/sharded_queue.rs`); a thread uses the same one always, so
//! that its tasks keep their order. A worker that
//! polls a task, wakes another and has no third one waiting notifies no other worker: it will soon run that task
//! itself. So tasks that wake each other in turn stay together. A task whose priority is not the usual one goes to the
//! queue of its priority, and a task that is bound to a worker to that worker's own.
//!
//! Not here: how a woken task knows where it belongs (`task/schedule.rs`), and waking itself (`waking.rs`).
//!
//! Unsafe: tasks find their runtime through their registry.

use crate::job::{Action, Job, RunPermit, TaskKey, TaskRegistry};
use crate::queue::Unqueued;
use crate::runtime::policy::{self, OwnQueue, Pusher};
use crate::runtime::sleep::waking::Notify;
use crate::runtime::{OccupiedSlot, Priority, RuntimeInner, WorkerSlot, current, ending, waking};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::global;
use std::ptr;

/// A task that was woken or must be dropped, and goes back to the runtime whose registry it is in.
pub(crate) struct Woken {
    registry: &'static TaskRegistry,
    key: TaskKey,
}

impl Woken {
    /// Where a task is registered.
    ///
    /// # Safety
    /// It stays there until it has been queued.
    pub(crate) unsafe fn from(registry: &'static TaskRegistry, key: TaskKey) -> Self {
        Self { registry, key }
    }
}

/// Queues a new task in the current runtime, and sees to it that a worker comes for it.
#[inline(always)]
pub(crate) fn enqueue_new(job: Unqueued<Job>, priority: Priority) {
    match own_queue(priority) {
        Some((slot, shared)) if slot.is_worker() => to_own(shared, slot, job, Notify::Others),
        // The runtime may have ended without this thread.
        Some((_, shared)) => enqueue_in(shared, job, priority),
        None => to_current(job, priority),
    }
}

/// Queues a task that was woken by a thread that polls or is away, and sees to it that a worker comes for it.
#[inline(always)]
pub(crate) fn enqueue_woken(job: Unqueued<Job>, from: &Woken, priority: Priority, by: Pusher) {
    match own_queue(priority) {
        Some((slot, shared)) if ptr::eq(shared.registry, from.registry) => {
            to_own(shared, slot, job, notify_for(slot, by));
        }
        _ => back_to(from, job, priority),
    }
}

/// Queues a new task in `shared`, which may end meanwhile: then the task is dropped.
#[inline(never)]
pub(crate) fn enqueue_in(shared: &RuntimeInner, job: Unqueued<Job>, priority: Priority) {
    let own = own_queue(priority).filter(|(_, own)| ptr::eq(*own, shared));
    let queue = |job| match own {
        Some((slot, _)) => to_own(shared, slot, job, Notify::Others),
        None => to_runtime(shared, job, priority),
    };
    // It does not end before its workers have looked again.
    if current::worker().is_some_and(|(_, own)| ptr::eq(own, shared)) {
        queue(job);
    } else {
        ending::bring(shared, job, queue, discard_new);
    }
}

/// Drops a new task whose runtime has ended, below code of the user.
pub(crate) fn discard_new(job: Unqueued<Job>) {
    Job::perform(job, Action::Discard, RunPermit::new());
}

/// The slot whose queue a task of this priority goes to, if it belongs to the runtime of that slot.
#[inline]
fn own_queue(priority: Priority) -> Option<(&'static OccupiedSlot, &'static RuntimeInner)> {
    match priority {
        Priority::Normal => current::slot_of_runtime(),
        Priority::Interactive | Priority::Background => None,
    }
}

/// The calling thread is on `slot`, which belongs to `shared`.
#[inline]
fn to_own(shared: &RuntimeInner, slot: &OccupiedSlot, job: Unqueued<Job>, notify: Notify) {
    let is_short = notify == Notify::Others && gets_extra_thread(shared, &job, Priority::Normal);
    let notify = if is_short {
        Notify::OthersOfShort
    } else {
        notify
    };
    waking::queue(shared, &slot.steal_grace, &slot.tasks, job, notify);
}

/// Whether a thread beyond the limit may be woken for this job, which is about to be queued.
#[inline]
fn gets_extra_thread(shared: &RuntimeInner, job: &Job, priority: Priority) -> bool {
    (shared.idle.overcommits() || shared.sees_saturation())
        && match priority {
            Priority::Interactive => true,
            Priority::Normal => !shared.long_kinds.has(job.kind()),
            Priority::Background => false,
        }
}

#[inline(never)]
fn to_current(job: Unqueued<Job>, priority: Priority) {
    current::with_runtime(|shared| {
        if current::is_default(shared) {
            to_runtime(shared, job, priority);
        } else {
            enqueue_in(shared, job, priority);
        }
    });
}

#[inline(never)]
fn back_to(from: &Woken, job: Unqueued<Job>, priority: Priority) {
    from.registry.with_runtime(from.key.shard(), |runtime| {
        // SAFETY: a registry with a registered task belongs to a runtime, which does not end during a visit.
        // Held by `models/task_registry.rs` and `models/shutdown.rs`.
        let shared = unsafe { &*runtime.cast::<RuntimeInner>() };
        to_runtime(shared, job, priority);
    });
}

fn to_runtime(shared: &RuntimeInner, job: Unqueued<Job>, priority: Priority) {
    let is_short = gets_extra_thread(shared, &job, priority);
    let queue = shared.priority_queues.lane(priority);
    let queue = queue.unwrap_or(&shared.injector);
    let queue = queue
        .only()
        .unwrap_or_else(|| queue.shard(own_shard(shared)));
    waking::queue_outside(shared, queue, job, is_short);
}

/// The shard to which the calling thread pushes. A function of its own, so that where there is one queue a task costs a comparison
/// more, and nothing else.
#[inline(never)]
fn own_shard(shared: &RuntimeInner) -> usize {
    match current::worker() {
        // Where it looks first.
        Some((slot, theirs)) if ptr::eq(theirs, shared) => slot.home_shard(),
        _ => PUSHER.with(|&number| number),
    }
}

crate::sync::thread_local! {
    /// The number of the calling thread among those that have brought tasks from outside. Relaxed: a number stands alone.
    static PUSHER: usize = PUSHERS.fetch_add(1, Ordering::Relaxed);
}

global! {
    /// Threads that have a number.
    static PUSHERS: AtomicUsize = AtomicUsize::new(0);
}

/// Queues a task that only the worker on `owner` may run.
///
/// # Safety
/// The task is new, and the caller is that worker; or it was woken, and is registered in the runtime of that slot.
#[inline(never)]
pub(crate) unsafe fn enqueue_bound(job: Unqueued<Job>, owner: &'static WorkerSlot) {
    if current::worker().is_some_and(|(slot, _)| slot.is(owner)) {
        // Taken by this very thread.
        return owner.local.push(job);
    }
    // While the task is registered and in no queue, the runtime does not end.
    let shared = owner.runtime();
    let worker = owner.worker().expect("only a worker's slot owns tasks");
    let spread = owner.number.into();
    ending::queue_for_worker(shared, spread, &owner.local, job, worker);
}

/// Which workers to notify of a task that the thread on `slot` queues now.
fn notify_for(slot: &OccupiedSlot, by: Pusher) -> Notify {
    if !slot.is_worker() {
        return Notify::Others;
    }
    let pusher = if by != Pusher::IsAway && slot.blocking_depth.get() == 0 {
        by
    } else if slot.advances_timers.get() {
        Pusher::FiresTimers
    } else {
        Pusher::IsAway
    };
    // Only this thread pushes: if the queue is empty the task will be the first.
    let queue = if slot.tasks.is_empty() {
        OwnQueue::Empty
    } else if by == Pusher::PollsSpent && slot.steal_grace.is_on() {
        OwnQueue::InGrace
    } else {
        OwnQueue::Tasks
    };
    policy::notify(pusher, queue)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::PUSHER;
    use crate::Runtime;
    use crate::sync::wait_until;
    use crate::task::{self, Builder, Priority};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, RwLock};
    use std::thread;

    #[test]
    fn a_thread_keeps_its_number_and_another_one_has_another() {
        let numbers = || [(); 2].map(|()| PUSHER.with(|&number| number));
        let [first, again] = numbers();
        let [other, other_again] = thread::spawn(numbers).join().unwrap();
        assert_eq!((first, other), (again, other_again));
        assert_ne!(first, other);
    }

    #[test]
    #[cfg_attr(miri, ignore = "forty threads, which run one after the other there")]
    fn a_worker_queues_tasks_of_each_priority_where_it_looks_first() {
        const WORKERS: usize = 40;
        let builder = Runtime::builder().workers(WORKERS).max_threads(WORKERS);
        let runtime = builder.build().expect("the numbers are right");
        let (kept, begun) = (Arc::new(RwLock::new(())), Arc::new(AtomicUsize::new(0)));
        // Let go at the end, also of a test that fails.
        let keeps = kept.write().expect("nobody panics with it");
        let queue = |_| {
            let (kept, begun) = (Arc::clone(&kept), Arc::clone(&begun));
            task::run(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                wait_until("all workers are here", || {
                    begun.load(Ordering::SeqCst) >= WORKERS
                });
                for priority in [Priority::Interactive, Priority::Background] {
                    drop(Builder::new().priority(priority).run(|| ()));
                }
                begun.fetch_add(1, Ordering::SeqCst);
                drop(kept.read());
            })
        };
        let entered = runtime.enter();
        (0..WORKERS).map(queue).for_each(drop);
        drop(entered);
        wait_until("all have queued", || {
            begun.load(Ordering::SeqCst) == 2 * WORKERS
        });
        let queues = &runtime.shared().priority_queues;
        for queue in [&queues.interactive, &queues.background] {
            let counts: Vec<_> = queue.shards().map(|shard| shard.count(100)).collect();
            assert_eq!(counts, [16, 16, 8]);
        }
        drop(keeps);
    }
}
