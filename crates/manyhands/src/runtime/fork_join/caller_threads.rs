//! The threads that run calls alone, and the monitor's looks at them.
//!
//! Each thread has a record from its first such call on. It names the runtime that is current for the thread, whose monitor
//! looks at the thread while it sweeps. When a monitor rests, or sweeps seldom because nobody has called for some time, the
//! next call wakes it. A thread that goes to another runtime in the middle of a call takes a further record for that: the call
//! is opened where it began.
//!
//! Not here: the steps of both (`unshared_calls.rs`).

use crate::job::Job;
use crate::runtime::RuntimeInner;
use crate::runtime::fork_join::unshared_calls::UnsharedCalls;
use crate::sync::{Mutex, Padded, clock, fence, global, leak, lock, process};
use std::cell::{Cell, RefCell};
use std::ptr;

/// A thread that has run calls alone, in one runtime at a time.
pub(crate) type CallerThread = UnsharedCalls<Job, RuntimeInner>;

crate::sync::thread_local! {
    static CALLER: Cell<Option<&'static CallerThread>> = const { Cell::new(None) };
    static RECORDS: Records = const { Records(RefCell::new(Vec::new())) };
}

global! {
    static THREADS: Mutex<Threads> = Mutex::new(Threads { all: Vec::new(), free: Vec::new() });
}

struct Threads {
    all: Vec<&'static CallerThread>,
    /// Their threads have ended.
    free: Vec<&'static CallerThread>,
}

/// The records of a thread, which gets them back when it ends.
struct Records(RefCell<Vec<&'static CallerThread>>);

impl Records {
    /// The calling thread's record for calls in `runtime`: that in which calls of this runtime run, else one without calls.
    fn of(&self, runtime: *const RuntimeInner) -> &'static CallerThread {
        let mut records = self.0.borrow_mut();
        let is_fit = |thread: &&&CallerThread| thread.is_of(runtime) || !thread.has_calls();
        let thread = records.iter().find(is_fit).copied().unwrap_or_else(|| {
            let new = CallerThread::unused();
            records.push(new);
            new
        });
        if !thread.has_calls() {
            thread.belongs_to(runtime);
        }
        thread
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        // Under the controlled scheduler it may be gone.
        let _ = CALLER.try_with(|caller| caller.set(None));
        // The lock may be the parent's.
        if !process::is_forked() {
            let records = self.0.take();
            for thread in &records {
                thread.belongs_to(ptr::null());
            }
            lock(&THREADS).free.extend(records);
        }
    }
}

impl CallerThread {
    /// The calling thread. `None` while it ends, or where no monitor could open its calls: in a forked child, and where the
    /// system has no process-wide barrier.
    #[inline]
    pub(crate) fn current() -> Option<&'static Self> {
        CALLER.get().or_else(Self::first)
    }

    #[cold]
    #[inline(never)]
    fn first() -> Option<&'static Self> {
        if process::is_forked() || fence::needs_fence() {
            return None;
        }
        Self::take(ptr::null())
    }

    /// Makes the thread's record for calls in `runtime` the one that it uses.
    fn take(runtime: *const RuntimeInner) -> Option<&'static Self> {
        let thread = RECORDS.try_with(|records| records.of(runtime)).ok();
        CALLER.set(thread);
        thread
    }

    /// One without calls, for the calling thread.
    fn unused() -> &'static Self {
        let mut threads = lock(&THREADS);
        threads.free.pop().unwrap_or_else(|| {
            let thread = leak(Padded(Self::new()));
            threads.all.push(thread);
            thread
        })
    }

    /// Makes the monitor of `runtime`, which is current for the calling thread, watch it, if there is a monitor. Returns
    /// whether it does.
    pub(crate) fn begin_watch_by(&self, runtime: &RuntimeInner) -> bool {
        // Its record may be of another one: the default runtime was made since, or the one that was entered has ended.
        self.belongs_to(runtime);
        let wake = || runtime.unpark_or_start_monitor();
        let begins = || runtime.monitor.watches_calls(&runtime.ending, wake);
        !runtime.clock.is_virtual() && self.begin_watch(begins)
    }
}

/// The calls of this thread go to `runtime` from now on; null is none.
pub(crate) fn set_runtime(runtime: *const RuntimeInner) {
    if let Some(thread) = CALLER.get()
        && !thread.is_of(runtime)
        && !process::is_forked()
    {
        CallerThread::take(runtime);
    }
}

impl RuntimeInner {
    /// Monitor: opens calls that their threads have run alone since the last look, one of each thread. Returns whether there were
    /// any calls.
    pub(crate) fn open_long_calls(&self) -> bool {
        let now = clock::ticks();
        let mut is_active = false;
        self.open_calls(|calls, pass_on| is_active |= calls.look(now, self, pass_on));
        is_active
    }

    /// Calls `open` for each thread that calls in this runtime, with what passes a fork on; then wakes a worker if there are any.
    pub(in crate::runtime) fn open_calls(
        &self,
        mut open: impl FnMut(&UnsharedCalls<Job, Self>, &mut dyn FnMut(*mut Job)),
    ) {
        let mut has_opened = false;
        let threads = lock(&THREADS);
        for thread in threads.all.iter().filter(|thread| thread.is_of(self)) {
            open(thread, &mut |fork| {
                // Its owner is not asleep yet: it learns of the fork under a lock that is held here.
                self.unowned_forks.push(fork);
                has_opened = true;
            });
        }
        drop(threads);
        if has_opened {
            self.wake_if_nobody_searches();
        }
    }

    /// Monitor, when it has switched itself off, or will sweep seldom, or any thread when the runtime ends: watches no thread any
    /// more. Returns whether one is in a call.
    pub(crate) fn unwatch_calls(&self) -> bool {
        let threads = lock(&THREADS);
        let watched = threads.all.iter().filter(|thread| thread.is_of(self));
        self.monitor.call_watch.end(watched.copied())
    }
}
