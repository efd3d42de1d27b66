//! A runtime's end: first no task is started any more, then nothing runs any more, then nobody visits.
//!
//! # Protocol
//! Who ends it says so, cancels the tasks that wait, drops what is queued, and unparks everybody. A worker that
//! looks for work while the runtime closes drops what it finds queued. Work that still runs may need the help of
//! every worker, so nobody leaves before all have announced sleep, and before every task is gone that only one
//! of them may drop; whoever finds that tells the others. When all threads have ended, who ends the runtime drops
//! what wakes from outside still bring, until nobody visits.
//!
//! # Ordering
//! E1: both words are SeqCst, as the steps of I1 (`idle.rs`). A worker looks at them after it announced sleep;
//! they are set before everybody is unparked.
//! E2: whoever lowers the count of awake workers looks afterwards whether that was all that the end waited for: a
//! worker that announces sleep, and a waker that raised the count and then woke nobody. The last worker may
//! have announced while the count was raised, and sleeps.
//!
//! Not here: what is dropped, and how (`shared_call.rs`).

use crate::job::TaskRegistry;
use crate::runtime::sleep::waking::Pool;
use crate::sync::atomic::{AtomicBool, Ordering};

/// How far the end has come.
#[derive(Debug)]
pub(crate) struct Ending {
    /// No task is started any more; those that run are finished, with all the help they need.
    closing: AtomicBool,
    /// Nothing runs any more: workers leave.
    ended: AtomicBool,
}

/// A runtime, as far as its end goes.
pub(crate) trait Ends: Pool {
    /// How far its end has come.
    fn ending(&self) -> &Ending;

    /// Where its waiting tasks are registered.
    fn registry(&self) -> &TaskRegistry;

    /// Closes the registry, and queues the tasks that wait there, to be dropped.
    fn cancel_waiting(&self);

    /// Drops what is queued.
    fn discard_queued(&self);

    /// Unparks everybody.
    fn unpark_all(&self);
}

/// Whether the threads have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Every thread.
    All,
    /// Not the caller, which is one of them: it ends the runtime from within.
    NotSelf,
}

impl Ending {
    /// It has not begun.
    pub(crate) fn new() -> Self {
        Self {
            closing: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Whether it has begun: no task is started any more.
    pub(crate) fn is_closing(&self) -> bool {
        // SeqCst: E1.
        self.closing.load(Ordering::SeqCst)
    }

    /// Whether the workers leave.
    pub(crate) fn has_ended(&self) -> bool {
        // SeqCst: E1.
        self.ended.load(Ordering::SeqCst)
    }
}

/// Lets no task start or wait any more.
pub(crate) fn begin_to_close(pool: &impl Ends) {
    // SeqCst: E1.
    pool.ending().closing.store(true, Ordering::SeqCst);
    pool.cancel_waiting();
}

/// Whoever has lowered the count of awake workers: whether workers leave, which they do when nobody is awake.
pub(crate) fn is_over(pool: &impl Ends) -> bool {
    let ending = pool.ending();
    if ending.is_closing()
        && !ending.has_ended()
        && pool.idle().is_nobody_awake()
        && pool.registry().is_empty()
    {
        // SeqCst: E1.
        ending.ended.store(true, Ordering::SeqCst);
        pool.unpark_all();
    }
    ending.has_ended()
}

/// Ends the runtime: workers finish what they run, what did not run is dropped. `join` waits for the threads.
pub(crate) fn close(pool: &impl Ends, join: impl FnOnce() -> Joined) {
    begin_to_close(pool);
    pool.discard_queued();
    pool.unpark_all();
    if join() == Joined::All {
        discard_rest(pool);
    }
}

/// Drops what is queued or being queued, until nothing is left. No worker runs any more.
pub(crate) fn discard_rest(pool: &impl Ends) {
    pool.registry().until_deserted(|| pool.discard_queued());
}
