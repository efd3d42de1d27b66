//! Waking and sleeping: the steps of the idle protocol around its counts.
//!
//! A runtime and the models run the same steps. Both implement [`Pool`], which says whether work is visible, how a
//! worker is unparked and how a thread is started.
//!
//! Not here: the counts, and the argument why no wake is lost (`idle.rs`, I1).
//!
//! Unsafe: tasks are queued by pointer.

use crate::job::RunPermit;
use crate::queue::{Linked, TaskQueue, Unqueued};
use crate::runtime::sleep::idle::{Activity, Claim, CountedFlag, Idle, WorkerClaim};
use crate::runtime::worker::steal_grace::StealGrace;
use crate::timer::{Entry, Timers};

/// What waking needs of a runtime.
pub(crate) trait Pool {
    /// The counts.
    fn idle(&self) -> &Idle;

    /// Whether a worker that looks for work now may find some.
    fn has_visible_work(&self) -> bool;

    /// Whether some of that has no owner who does it if no worker comes.
    fn has_unowned_work(&self) -> bool;

    /// Unparks a worker that was claimed.
    fn unpark(&self, worker: usize, next: CallerNext);

    /// Starts the thread of a worker that was claimed; false if there can be none.
    fn start(&self, worker: usize) -> bool;

    /// Makes sure that the monitor is on.
    fn arm_monitor(&self);

    /// Makes the monitor check soon whether the running threads are blocked.
    fn alert_monitor(&self);

    /// Makes the monitor look at the timers again.
    fn rouse_monitor(&self);

    /// Ends the runtime if its end waited only for the counts of running threads (`ending.rs`, E2). A thread that has lowered one,
    /// or took back a raise, calls this.
    fn look_for_end(&self);
}

/// What the thread that wakes does after the wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerNext {
    /// It goes on running, and needs its processor itself.
    GoesOn,
    /// It is about to sleep.
    Leaves,
}

/// Wakes a worker for new work, unless one is already searching. If no more may run, alerts the monitor, which checks
/// whether the running threads are blocked.
pub(crate) fn wake_if_nobody_searches(pool: &impl Pool) {
    if !pool.idle().has_room() {
        pool.alert_monitor();
    } else if !pool.idle().is_anyone_searching() {
        wake(pool, pool.idle().claim(), CallerNext::GoesOn);
    }
}

/// As [`wake_if_nobody_searches`], for a task. For a short one a thread beyond the limit is woken where the monitor
/// allows that; see `worker/short_tasks.rs`. Where it does not, it may have to look first.
#[inline]
pub(crate) fn wake_for_task(pool: &impl Pool, is_short: bool) {
    if is_short && !pool.idle().has_room() && !pool.idle().is_anyone_searching() {
        if !wake_for_short_task(pool) {
            pool.alert_monitor();
        }
    } else {
        wake_if_nobody_searches(pool);
    }
}

/// Wakes a worker for a short task, or starts one, if one more may run such tasks. Returns whether it did.
#[cold]
pub(crate) fn wake_for_short_task(pool: &impl Pool) -> bool {
    wake(pool, pool.idle().claim_for_short_task(), CallerNext::GoesOn)
}

/// Unparks or starts the worker that was claimed, or another one. Returns whether it did.
#[cold]
pub(crate) fn wake(pool: &impl Pool, mut claim: Option<Claim>, next: CallerNext) -> bool {
    while let Some(claimed) = claim {
        pool.arm_monitor();
        match claimed {
            Claim::Asleep(worker) => {
                pool.unpark(worker, next);
                return true;
            }
            Claim::Unstarted(worker) if pool.start(worker) => return true,
            Claim::Unstarted(worker) => claim = pool.idle().give_up(worker),
        }
    }
    pool.look_for_end();
    false
}

/// Wakes this worker, for work that only it may do.
pub(crate) fn wake_worker(pool: &impl Pool, worker: usize) {
    match pool.idle().claim_worker(worker) {
        WorkerClaim::Asleep => {
            pool.arm_monitor();
            pool.unpark(worker, CallerNext::GoesOn);
        }
        WorkerClaim::Awake => {}
        WorkerClaim::AwakeAfterRaise => {
            pool.look_for_end();
            use_room(pool);
        }
    }
}

/// After room has become free: wakes a worker if work is visible.
pub(crate) fn use_room(pool: &impl Pool) {
    if pool.idle().has_room() && pool.has_visible_work() {
        wake_if_nobody_searches(pool);
    }
}

/// External thread, which has counted as this: leaves the runtime. It may call again at once, so no worker comes in its place for
/// the calls of others. Where bodies of such a call wait for one another, the next sweep brings one.
pub(crate) fn leave_external(pool: &impl Pool, counted_as: Activity) {
    pool.idle().end(counted_as);
    if pool.idle().has_room() && pool.has_unowned_work() {
        wake_if_nobody_searches(pool);
    }
    // E2.
    pool.look_for_end();
}

/// Running thread: is about to block. If work is visible, another worker takes its place at once. Ended by
/// [`end_block`].
pub(crate) fn begin_block(pool: &impl Pool) {
    pool.idle().begin(Activity::Blocked);
    if pool.idle().has_room() && !pool.idle().is_anyone_searching() && pool.has_visible_work() {
        wake(pool, pool.idle().claim(), CallerNext::Leaves);
    }
    pool.arm_monitor();
}

/// Running thread: is blocked, perhaps in a short task; another one may be run in its place.
pub(crate) fn block_in_short_task(pool: &impl Pool, flag: &CountedFlag) {
    if pool.idle().in_short_tasks.unmark(flag) && pool.idle().overcommits() {
        wake_for_short_task(pool);
    }
}

/// Running thread: goes on after [`begin_block`].
pub(crate) fn end_block(pool: &impl Pool) {
    pool.idle().end(Activity::Blocked);
}

/// Which workers are notified of a task that a worker puts into its own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    /// One without work.
    Others,
    /// As [`Others`](Self::Others); the task is short, so a thread beyond the limit will do.
    OthersOfShort,
    /// None: the worker itself will run it soon.
    Nobody,
    /// None, and steal grace begins: the task is the first in the queue.
    NobodyWithGrace,
}

/// Owner of a queue: queues a task at its back.
#[inline]
pub(crate) fn queue<T: Linked>(
    pool: &impl Pool,
    grace: &StealGrace,
    tasks: &TaskQueue<T>,
    task: Unqueued<T>,
    notify: Notify,
) {
    match notify {
        Notify::Others | Notify::OthersOfShort => grace.end(),
        Notify::Nobody => {}
        Notify::NobodyWithGrace => grace.begin(),
    }
    tasks.push(task);
    match notify {
        Notify::Others => wake_for_task(pool, false),
        Notify::OthersOfShort => wake_for_task(pool, true),
        Notify::Nobody | Notify::NobodyWithGrace => {}
    }
}

/// Any thread: queues a task at the back of a queue that belongs to no worker.
#[inline]
pub(crate) fn queue_outside<T: Linked>(
    pool: &impl Pool,
    tasks: &TaskQueue<T>,
    task: Unqueued<T>,
    is_short: bool,
) {
    tasks.push(task);
    wake_for_task(pool, is_short);
}

/// Worker: has taken tasks, and `is_more_left` where they came from; in whichever shard of a queue that has several. Another
/// worker is to come for the rest. The threads that pushed it may have relied on this one: on its search, or on its look after it
/// had announced sleep.
#[inline]
pub(crate) fn leave_rest(pool: &impl Pool, is_more_left: bool) {
    if is_more_left {
        wake_if_nobody_searches(pool);
    }
}

/// Whether a worker that is about to sleep must stay awake for the tasks in this queue. It need not for a task in
/// steal grace.
pub(crate) fn has_tasks_for_others<T: Linked>(grace: &StealGrace, tasks: &TaskQueue<T>) -> bool {
    !tasks.is_empty() && !grace.is_on()
}

/// What the idle protocol needs of a worker.
pub(crate) trait Worker {
    /// Something to run.
    type FoundWork;

    /// Whether [`next`] last gave it work of any kind, and not sleep or a short task beyond the limit.
    fn is_within_limit(&mut self) -> &mut bool;

    /// Looks once at every queue, call and deque where work may be. Runs nothing.
    fn find(&mut self) -> Option<Self::FoundWork>;

    /// Whether it is counted as one in a short task.
    fn in_short_task(&self) -> &CountedFlag;

    /// Worker beyond the limit: looks for a short task, if it may run one.
    fn find_short(&mut self) -> Option<Self::FoundWork>;

    /// Whether it may spin before it sleeps.
    fn may_search(&self) -> bool;

    /// Looks for work repeatedly for a while.
    fn spin(&mut self) -> Option<Self::FoundWork>;

    /// Whether more tasks wait than it has found, in its own queue or where they come from outside.
    fn has_more(&self) -> bool;

    /// The steal grace of its own queue.
    fn steal_grace(&self) -> &StealGrace;

    /// Called when it has announced sleep.
    fn announced(&mut self);

    /// Whether the runtime has ended.
    fn is_over(&self) -> bool;

    /// Whether there is work that only it may do.
    fn has_own_work(&self) -> bool;

    /// Whether there is work that any worker may do, apart from tasks in steal grace.
    fn sees_work(&self) -> bool;

    /// Whether it has slept for the keep-alive time, so that it may end if there are more workers than the limit. No more once
    /// it was.
    fn is_spare(&mut self) -> bool;

    /// Parks until it is unparked, its next timer is due, or the keep-alive time is over.
    fn park(&mut self);

    /// Whether it has timers to fire.
    fn is_timer_due(&self) -> bool;

    /// Called when it is awake again.
    fn awake(&mut self, slept: Slept);
}

/// Thread that is no worker: links an entry into the wheel that the monitor advances.
///
/// # Errors
/// The waker, when the runtime has ended.
pub(crate) fn link_outside(
    pool: &impl Pool,
    timers: &'static Timers,
    entry: std::pin::Pin<&mut Entry>,
    now: u64,
    waker: std::task::Waker,
) -> Result<(), std::task::Waker> {
    if entry.link(timers, now, waker)? {
        pool.rouse_monitor();
    }
    Ok(())
}

/// What a worker found to do.
#[must_use]
pub(crate) enum Next<R> {
    /// Work, at the first look.
    FoundWork(R),
    /// A short task, for a worker beyond the limit. Its flag must be cleared when it has been run.
    FoundShort(R),
    /// Work, after it has spun.
    Searched(R),
    /// Nothing: it has slept.
    Slept(Slept),
    /// It has slept without looking for more than short tasks, because more threads run than may.
    SleptOverLimit(Slept),
}

/// What a worker does between two pieces of work: looks, searches, sleeps.
#[inline]
pub(crate) fn next<W: Worker>(
    pool: &impl Pool,
    index: usize,
    worker: &mut W,
    permit: RunPermit<'_>,
) -> Next<W::FoundWork> {
    // If the thread too many is the one woken for a short task, that thread sleeps, not the worker that has just ended a long
    // task: else each would sleep and wake in turn for the other, on the other's processor.
    let is_beyond_limit = pool.idle().is_overfull()
        && !(*worker.is_within_limit() && pool.idle().is_full_of_short_tasks());
    if is_beyond_limit && !worker.has_own_work() {
        *worker.is_within_limit() = false;
        pool.idle().in_short_tasks.mark(worker.in_short_task());
        if let Some(found) = worker.find_short() {
            return Next::FoundShort(found);
        }
        pool.idle().in_short_tasks.unmark(worker.in_short_task());
        return Next::SleptOverLimit(sleep(pool, index, worker));
    }
    // Set on each path: to look into what is returned would cost a task a tenth of its time.
    *worker.is_within_limit() = true;
    if let Some(found) = worker.find() {
        return Next::FoundWork(found);
    }
    if worker.may_search() {
        // Wakers wake no other worker meanwhile.
        if let Some(found) = pool.idle().search(permit, || worker.spin()) {
            // There may be more than one task. While this worker searched, wakers relied on it and woke no other.
            // I1: a waker that still saw it search had pushed before, hence before this look.
            leave_rest(pool, worker.has_more());
            return Next::Searched(found);
        }
    }
    *worker.is_within_limit() = false;
    Next::Slept(sleep(pool, index, worker))
}

/// How a worker's sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slept {
    /// A waker claimed it.
    Woken,
    /// By itself.
    Otherwise,
    /// Not at all, because it saw work.
    NotAtAll,
    /// It has left. Its thread must [`vacate`] the slot.
    Left,
    /// The runtime has ended. The worker stays announced, because no worker is awake any more.
    Over,
}

/// Sleeps until claimed, until there is work after all or a timer is due, or until the runtime has ended.
pub(crate) fn sleep(pool: &impl Pool, index: usize, sleeper: &mut impl Worker) -> Slept {
    // Before it announces sleep: searching workers must not leave its tasks alone any longer.
    sleeper.steal_grace().end();
    pool.idle().announce(index);
    sleeper.announced();
    let mut slept = Slept::NotAtAll;
    loop {
        if sleeper.is_over() {
            return Slept::Over;
        }
        if sleeper.has_own_work()
            || (pool.idle().has_room() && sleeper.sees_work())
            || pool.idle().takes_call_for_short_task()
        {
            break;
        }
        if sleeper.is_spare() && pool.idle().leave(index) {
            return Slept::Left;
        }
        sleeper.park();
        slept = Slept::Otherwise;
        if !pool.idle().is_announced(index) {
            slept = Slept::Woken;
            break;
        }
        if sleeper.is_timer_due() {
            break;
        }
    }
    if slept != Slept::Woken {
        pool.idle().withdraw(index);
        // A waker has taken the bit, and arms the monitor for the worker that it wakes.
        pool.arm_monitor();
    }
    sleeper.awake(slept);
    slept
}

/// Leaving thread of a worker: touches the slot no more from here, and another thread may use it.
pub(crate) fn vacate(pool: &impl Pool, worker: usize) {
    pool.idle().vacate(worker);
    // It advances the worker's wheel from now on, in which timers may wait.
    pool.rouse_monitor();
    // A waker may have seen neither a sleeper nor a vacant slot.
    use_room(pool);
}

#[cfg(all(test, not(loom)))]
mod tests;
