//! A runtime's end: first no task starts any more, then nothing runs any more, then no wake from outside is under way.
//!
//! # Protocol
//! The closing thread sets `closing`, cancels the waiting tasks, drops the queued ones, sets `emptied`, and unparks all
//! workers. A worker drops the tasks that are queued between two pieces of work, before it looks for the next. Running
//! work may need the help of every worker, and so may a destructor that the closing thread runs. So no worker leaves
//! before `emptied` is set, all have announced sleep, and every task is gone that only one of them may drop. Nor while a thread
//! outside takes part: its call may need them, and what it begins in that call. The closing thread does not wait for such a
//! thread. The thread that sees that nothing runs sets `ended` and unparks all workers. When all threads have ended, the
//! closing thread drops what wakes from outside still queue, until no such wake is under way.
//!
//! # Destructors
//! What is dropped runs code of the user, which may spawn, and wait for what it has spawned. The closing thread takes part
//! in the runtime while it drops, so that this goes to the runtime that ends, and is dropped too; and what drops asks for a
//! permit, which a worker that searches does not have. If it searched, nobody would be woken to drop what it waits for.
//!
//! # Ordering
//! E1: all three words are SeqCst, as the steps of I1 (`idle.rs`). A worker looks at them after it has announced sleep;
//! they are set before all workers are unparked.
//! E2: a thread that lowers a count of running threads checks afterwards whether the end waited only for that. Such a
//! thread is a worker that announces sleep, a waker that raised the count and then woke no worker, or a thread outside that
//! leaves. So does one that takes back a call that was passed on. The last worker may have announced sleep while the count
//! was raised, and sleeps.
//! E4: a thread that is no worker brings a task, and looks at `closing` afterwards; the closing thread sets it and
//! looks at the queues afterwards. With a fence between both on each side, one of them sees what the other did, and drops
//! the task. The one that is no worker then checks for the end as well: the last worker may have seen a registered task that
//! this thread was about to drop, and sleeps.
//! E6: a thread outside counts itself only where no bit in the word of the counts says that no call begins any more; the closing
//! thread sets `closing`, then that bit, before any thread looks at the counts for the end. Either the end finds the thread in its
//! call, or the thread finds `closing` and goes elsewhere (`current.rs`). SeqCst, all.
//! E7: a thread that brings a task and drops what is queued counts itself, and looks at `emptied` afterwards; that is set before
//! any thread looks at the counts for the end. Either the end waits for the thread, or its calls count on no worker. It counts as a
//! worker, so that the closing thread does not take it for a call that it does not wait for. SeqCst, all.
//! E8: a thread in its stop hook counts nowhere. It queues a task, and looks at `ended` before it waits, and after the hook; a worker
//! that leaves looks at the queues after it has seen `ended`. One of them drops the task. Its calls count on no worker. SeqCst, all.
//!
//! Not here: what is dropped, and how (`pool.rs`).
//!
//! Unsafe: tasks are queued by pointer.

use crate::job::{RunPermit, TaskRegistry};
use crate::queue::{Linked, TaskQueue, Unqueued};
use crate::runtime::sleep::idle::Activity;
use crate::runtime::sleep::waking::{self, Pool};
use crate::sync::atomic::{AtomicBool, Ordering, fence};

/// How far the end has come.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// No task starts any more; running ones finish, with all the help they need.
    closing: AtomicBool,
    /// The closing thread has dropped what was queued.
    emptied: AtomicBool,
    /// Nothing runs any more: workers leave.
    ended: AtomicBool,
}

/// What the end needs of a runtime.
pub(crate) trait Ends: Pool {
    /// The state of its end.
    fn ending(&self) -> &Ending;

    /// The registry of its waiting tasks.
    fn registry(&self) -> &TaskRegistry;

    /// Lets no task wait any more: closes the registry, and queues the tasks that wait there for dropping.
    fn cancel_waiting(&self);

    /// Watches no thread any more, and opens the calls that threads outside run alone now, so that workers help: who waits in one for a
    /// part of it that has not begun would wait for ever.
    fn pass_calls_on(&self);

    /// Drops every queued task without running it, and what is queued meanwhile.
    fn discard_queued(&self, permit: RunPermit<'_>);

    /// Calls `f`, which drops tasks, on the calling thread, which takes part in the runtime meanwhile, and counts as a [`VISITOR`].
    fn inside(&self, f: impl FnOnce());

    /// Unparks all workers.
    fn unpark_all(&self);

    /// Unparks the closing thread, if it waits for the workers.
    fn unpark_closing(&self);
}

/// As what a thread counts that drops tasks of a runtime that ends. The end waits for it as for a worker, and not for a call of a
/// thread outside.
pub(crate) const VISITOR: Activity = Activity::Awake;

impl Ending {
    /// Whether it has begun: no task starts any more.
    pub(crate) fn is_closing(&self) -> bool {
        // SeqCst: E1.
        self.closing.load(Ordering::SeqCst)
    }

    /// Whether the workers leave.
    pub(crate) fn has_ended(&self) -> bool {
        // SeqCst: E1.
        self.ended.load(Ordering::SeqCst)
    }

    /// Whether the workers may leave as soon as nothing runs any more.
    pub(crate) fn is_emptied(&self) -> bool {
        // SeqCst: E1.
        self.emptied.load(Ordering::SeqCst)
    }
}

/// Lets no task start or wait any more, and no call run alone.
pub(crate) fn begin_to_close(pool: &impl Ends) {
    // SeqCst: E1.
    pool.ending().closing.store(true, Ordering::SeqCst);
    pool.idle().take_no_calls();
    pool.cancel_waiting();
    pool.pass_calls_on();
}

/// Thread that has lowered a count of running threads: ends the runtime if none runs and no task is left. Returns whether
/// workers leave.
pub(crate) fn is_over(pool: &impl Ends) -> bool {
    let ending = pool.ending();
    if !ending.has_ended() && ending.is_emptied() && pool.idle().taking_part().0 == 0 {
        // In this order: who takes the last task out of the registry, or the last work that is visible, is awake meanwhile. A call that
        // was passed on may still be there: then a worker comes, or its caller takes it back and looks for the end. What a thread
        // brings later it drops itself: E4.
        let has_work = pool.registry().registered() > 0 || pool.has_visible_work();
        if !has_work && pool.idle().taking_part() == (0, 0) {
            // SeqCst: E1.
            ending.ended.store(true, Ordering::SeqCst);
            pool.unpark_all();
        }
        pool.unpark_closing();
    }
    ending.has_ended()
}

/// Whether only threads outside still run in the runtime, which closes: the closing thread waits no longer.
pub(crate) fn is_left_to_calls(pool: &impl Ends) -> bool {
    let ending = pool.ending();
    let may_rest = !ending.has_ended() && ending.is_emptied() && pool.registry().registered() == 0;
    may_rest && matches!(pool.idle().taking_part(), (0, 1..))
}

/// Worker, between two pieces of work: whether it leaves. Where the runtime closes, it drops what is queued, with `discard_own` what
/// only it may drop.
#[inline]
pub(crate) fn leaves(
    pool: &impl Ends,
    permit: RunPermit<'_>,
    discard_own: impl FnOnce(RunPermit<'_>),
) -> bool {
    pool.ending().is_closing() && leaves_or_discards(pool, permit, discard_own)
}

#[cold]
fn leaves_or_discards(
    pool: &impl Ends,
    mut permit: RunPermit<'_>,
    discard_own: impl FnOnce(RunPermit<'_>),
) -> bool {
    let is_over = is_over(pool);
    discard_own(permit.again());
    // E8: also if it leaves.
    pool.discard_queued(permit);
    is_over
}

/// Thread that is about to wait, perhaps for what it has queued itself in a stop hook or in a destructor, or worker that has left, for
/// what others wait for there: drops what is queued if no worker is left that would.
pub(crate) fn discard_if_ended(pool: &impl Ends) {
    if pool.ending().has_ended() {
        pool.discard_queued(RunPermit::new());
    }
}

/// Queues a new `task` by `queue`, from a thread that is no worker of the runtime, or drops it by `discard` if that ends: as where the
/// runtime is gone, so that no number of such threads keeps it from ending. If the end begins meanwhile, drops what is queued. The
/// caller keeps the memory of the runtime.
pub(crate) fn bring<T>(pool: &impl Ends, task: T, queue: impl FnOnce(T), discard: impl FnOnce(T)) {
    if pool.ending().is_closing() {
        return discard(task);
    }
    queue(task);
    // SeqCst: E4.
    fence(Ordering::SeqCst);
    if pool.ending().is_closing() {
        pool.inside(|| pool.discard_queued(RunPermit::new()));
        // E4: the last registered task may have been among them.
        pool.look_for_end();
    }
}

/// Queues a task that only `worker` may run or drop, from another thread. `spread` chooses the shard of the registry in
/// which the task is registered, so the runtime does not end meanwhile.
pub(crate) fn queue_for_worker<T: Linked>(
    pool: &impl Ends,
    spread: usize,
    tasks: &TaskQueue<T>,
    task: Unqueued<T>,
    worker: usize,
) {
    pool.registry().with_runtime(spread, |_| {
        tasks.push(task);
        waking::wake_worker(pool, worker);
    });
}

/// Ends the runtime: workers finish the work that they run, and drop tasks that did not run. `join` waits for the
/// threads, and returns whether all have ended: not the caller, a worker that ends its own runtime, and some perhaps not within
/// the time. What is left is dropped when the last one has ended.
pub(crate) fn close(pool: &impl Ends, join: impl FnOnce() -> bool) {
    begin_to_close(pool);
    // SeqCst: E4.
    fence(Ordering::SeqCst);
    pool.inside(|| pool.discard_queued(RunPermit::new()));
    // SeqCst: E1.
    pool.ending().emptied.store(true, Ordering::SeqCst);
    pool.unpark_all();
    if join() {
        pool.inside(|| discard_rest(pool));
    }
}

/// Drops the tasks that are queued or being queued, until none is left. No worker runs any more.
pub(crate) fn discard_rest(pool: &impl Ends) {
    let discard = || pool.discard_queued(RunPermit::new());
    pool.registry().until_deserted(discard);
}
