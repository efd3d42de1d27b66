//! Who wakes whom: the steps of the idle protocol that lie around its counts.
//!
//! A runtime and the models run the same steps: both are a [`Pool`], and say what there is to be seen, how a
//! worker is unparked and how a thread is started.
//!
//! Not here: the counts, and the argument why nobody is missed (`idle.rs`, I1).
//!
//! Unsafe: tasks are queued by pointer.

use crate::queue::{Linked, TaskQueue};
use crate::runtime::sleep::idle::{Activity, Claim, Idle, WorkerClaim};
use crate::runtime::worker::steal_grace::StealGrace;
use crate::timer::{Closed, Earlier, Entry, Timers};

/// A runtime, as far as waking goes.
pub(crate) trait Pool {
    /// The counts.
    fn idle(&self) -> &Idle;

    /// Whether a worker that looks around now may find something.
    fn has_visible_work(&self) -> bool;

    /// Unparks a worker that was claimed.
    fn unpark(&self, worker: usize, waker: Waker);

    /// Starts the thread of a worker that was claimed; false if there can be none.
    fn start(&self, worker: usize) -> bool;

    /// Makes sure that the monitor watches.
    fn arm_monitor(&self);

    /// Makes the monitor look soon whether those that run do run.
    fn alert_monitor(&self);

    /// Makes the monitor look at the timers anew.
    fn rouse_monitor(&self);

    /// Ends the runtime if it has waited for nothing but the count of awake workers (`ending.rs`, E2). Called
    /// by who has taken back a raise of that count.
    fn look_for_end(&self);
}

/// What a waker does after the waking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waker {
    /// It needs its processor itself.
    GoesOn,
    /// It is about to sleep.
    Leaves,
}

/// Wakes a worker for new work, unless one is already looking. Where as many run as may, the monitor is to
/// look whether they do.
pub(crate) fn wake_if_nobody_searches(pool: &impl Pool) {
    if !pool.idle().has_room() {
        pool.alert_monitor();
    } else if !pool.idle().is_anyone_searching() {
        wake(pool, Waker::GoesOn);
    }
}

/// Wakes a worker, or starts one, if one more may run. Returns whether one is coming.
#[cold]
pub(crate) fn wake(pool: &impl Pool, waker: Waker) -> bool {
    let mut claim = pool.idle().claim();
    while let Some(claimed) = claim {
        pool.arm_monitor();
        match claimed {
            Claim::Asleep(worker) => {
                pool.unpark(worker, waker);
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
            pool.unpark(worker, Waker::GoesOn);
        }
        WorkerClaim::Awake => {}
        WorkerClaim::InVain => {
            pool.look_for_end();
            use_room(pool);
        }
    }
}

/// Room has become free: wakes a worker if there is something for it.
pub(crate) fn use_room(pool: &impl Pool) {
    if pool.idle().has_room() && pool.has_visible_work() {
        wake_if_nobody_searches(pool);
    }
}

/// An external thread leaves.
pub(crate) fn end_stay(pool: &impl Pool) {
    pool.idle().end(Activity::ExternalThread);
    use_room(pool);
}

/// The calling thread, one of those that run, is about to block: another one takes over at once, if there is
/// anything to be done. Ended by [`end_block`].
pub(crate) fn begin_block(pool: &impl Pool) {
    pool.idle().begin(Activity::Blocked);
    if pool.idle().has_room() && !pool.idle().is_anyone_searching() && pool.has_visible_work() {
        wake(pool, Waker::Leaves);
    }
    pool.arm_monitor();
}

/// The calling thread goes on after [`begin_block`].
pub(crate) fn end_block(pool: &impl Pool) {
    pool.idle().end(Activity::Blocked);
}

/// Whether somebody is to be told of a task that a worker puts into its own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ring {
    /// Whoever has nothing to do.
    Others,
    /// Nobody: the worker will soon come to it.
    Nobody,
    /// Nobody, and others leave it alone for a moment: it is the first in the queue.
    NobodyAndHold,
}

/// Queues a task at the back of a thread's own queue.
///
/// # Safety
/// As for [`TaskQueue::push`]; the caller is the queue's owner.
#[inline]
pub(crate) unsafe fn queue<T: Linked>(
    pool: &impl Pool,
    hold: &StealGrace,
    tasks: &TaskQueue<T>,
    task: *mut T,
    ring: Ring,
) {
    match ring {
        Ring::Others => hold.end(),
        Ring::Nobody => {}
        Ring::NobodyAndHold => hold.begin(),
    }
    // SAFETY: by the caller's promise.
    unsafe { tasks.push(task) };
    if ring == Ring::Others {
        wake_if_nobody_searches(pool);
    }
}

/// Whether a worker that is about to sleep must come for what is in another's queue, or its own. What its
/// owner holds it need not wait for.
pub(crate) fn has_tasks_for_others<T: Linked>(hold: &StealGrace, tasks: &TaskQueue<T>) -> bool {
    !tasks.is_empty() && !hold.is_on()
}

/// Worker: looks for work as one on whom others rely, so that they wake nobody else for it.
pub(crate) fn search<R>(pool: &impl Pool, look: impl FnOnce() -> R) -> R {
    pool.idle().begin(Activity::Searching);
    let found = look();
    pool.idle().end(Activity::Searching);
    found
}

/// A worker, with all that it looks at.
pub(crate) trait Worker {
    /// Something to run.
    type FoundWork;

    /// One look at every place where work may be.
    fn find(&mut self) -> Option<Self::FoundWork>;

    /// Whether it is to look again and again before it sleeps.
    fn may_search(&self) -> bool;

    /// Looks again and again for a while.
    fn spin(&mut self) -> Option<Self::FoundWork>;

    /// Whether there is more in its own queue.
    fn has_more(&self) -> bool;

    /// Its hold on what is in its own queue.
    fn hold(&self) -> &StealGrace;

    /// It has announced sleep.
    fn announced(&mut self);

    /// Whether the runtime has ended.
    fn is_over(&self) -> bool;

    /// Whether there is work that only it may do.
    fn has_own_work(&self) -> bool;

    /// Whether there is work that any worker may do, beside what it need not wait for.
    fn sees_work(&self) -> bool;

    /// Whether it has slept for so long that it may end where there are more threads than may run.
    fn is_spare(&mut self) -> bool;

    /// It was wanted after all, and does not ask again.
    fn stay(&mut self);

    /// Parks until unparked, until its next timer is due, or until it may be spare.
    fn park(&mut self);

    /// Whether it has timers to fire.
    fn is_timer_due(&self) -> bool;

    /// It is awake again.
    fn awake(&mut self, slept: Slept);
}

/// A thread that is no worker makes an entry wait in the wheel that the monitor turns.
///
/// # Errors
/// [`Closed`] and the waker when the runtime has ended.
pub(crate) fn link_outside(
    pool: &impl Pool,
    timers: &'static Timers,
    entry: std::pin::Pin<&mut Entry>,
    now: u64,
    waker: std::task::Waker,
) -> Result<(), (Closed, std::task::Waker)> {
    if entry.link(timers, now, waker)? == Earlier::Yes {
        pool.rouse_monitor();
    }
    Ok(())
}

/// What a worker came to.
#[derive(Debug)]
#[must_use]
pub(crate) enum Next<R> {
    /// Something to run, at the first look.
    FoundWork(R),
    /// Something to run, after it has searched.
    Searched(R),
    /// Nothing: it has slept.
    Slept(Slept),
    /// It has slept at once, because more run than may.
    SleptInCrowd(Slept),
}

/// What a worker does between two pieces of work: looks, searches, sleeps.
#[inline]
pub(crate) fn next<W: Worker>(
    pool: &impl Pool,
    index: usize,
    worker: &mut W,
) -> Next<W::FoundWork> {
    if pool.idle().is_overfull() && !worker.has_own_work() {
        return Next::SleptInCrowd(sleep(pool, index, worker));
    }
    if let Some(found) = worker.find() {
        return Next::FoundWork(found);
    }
    if worker.may_search()
        && let Some(found) = search(pool, || worker.spin())
    {
        if worker.has_more() {
            // FoundWork more than one: while it searched, it was itself the one that others relied on.
            wake_if_nobody_searches(pool);
        }
        return Next::Searched(found);
    }
    Next::Slept(sleep(pool, index, worker))
}

/// How a worker's sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slept {
    /// Somebody woke it.
    Woken,
    /// By itself.
    Otherwise,
    /// Not at all, because there is something to do.
    NotAtAll,
    /// Not at all: it has left. Its thread must [`vacate`] its place.
    Left,
    /// Not at all: the runtime has ended. The worker stays announced, because nobody is awake any more.
    Over,
}

/// Sleeps until claimed, until there is work after all or a timer is due, or until the runtime has ended.
pub(crate) fn sleep(pool: &impl Pool, index: usize, sleeper: &mut impl Worker) -> Slept {
    // Before it announces sleep: others must not overlook what nobody holds any more.
    sleeper.hold().end();
    pool.idle().announce(index);
    sleeper.announced();
    let mut slept = Slept::NotAtAll;
    loop {
        if sleeper.is_over() {
            return Slept::Over;
        }
        if sleeper.has_own_work() || (pool.idle().has_room() && sleeper.sees_work()) {
            break;
        }
        if sleeper.is_spare() {
            if pool.idle().leave(index) {
                return Slept::Left;
            }
            sleeper.stay();
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
    pool.idle().withdraw(index);
    if slept != Slept::Woken {
        // Whoever wakes another sees to this for it.
        pool.arm_monitor();
    }
    sleeper.awake(slept);
    slept
}

/// The thread of a worker that has left touches its slot no more. `noted` is called once another thread may
/// come in its place.
pub(crate) fn vacate(pool: &impl Pool, worker: usize, wheel: Wheel, noted: impl FnOnce()) {
    pool.idle().vacate(worker);
    noted();
    if wheel == Wheel::InUse {
        pool.rouse_monitor();
    }
    // Somebody may have found neither a sleeper nor a place for a new thread.
    use_room(pool);
}

/// Whether timers wait in a worker's wheel when its thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wheel {
    /// None.
    Empty,
    /// The monitor turns it from now on.
    InUse,
}
