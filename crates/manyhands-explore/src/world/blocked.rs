//! Threads of a schedule that are blocked, the limits of their waits, and the thread that lets time jump to the first of these.

use super::{Lists, Thread, WORLD, World, fail, failure, panicking, this};
use std::panic::Location;

/// What a blocked thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// A lock.
    Lock,
    /// A condition, such as a wake-up.
    Condition,
    /// Another thread's end.
    End,
    /// Nothing but the time.
    Time,
}

pub(super) struct Blocked {
    pub(super) awaits: Awaits,
    pub(super) at: &'static Location<'static>,
    pub(super) deadline: Option<u64>,
    pub(super) trace: Option<String>,
}

/// Whether a thread is blocked.
pub(crate) fn is_blocked(thread: usize) -> bool {
    WORLD.with(|world| world.lists.borrow().blocked.contains_key(&thread))
}

/// Blocks the calling thread until it is unblocked or the time has come. May end early.
#[track_caller]
pub(crate) fn block(awaits: Awaits, deadline: Option<u64>) {
    let at = Location::caller();
    WORLD.with(|world| {
        assert!(world.is_active.get(), "blocks outside of a schedule");
        world.wake_deferred();
        let this = this();
        let deadline = deadline.filter(|_| awaits == Awaits::Time || world.limits_pass_for(&this));
        let is_unwinding = panicking();
        let id = this.id;
        let trace =
            failure::WANTS_TRACES.then(|| std::backtrace::Backtrace::force_capture().to_string());
        let mut lists = world.lists.borrow_mut();
        let name = || this.handle.name().unwrap_or("main").to_owned();
        lists.names.entry(id).or_insert_with(name);
        let blocked = Blocked {
            awaits,
            at,
            deadline,
            trace,
        };
        lists.blocked.insert(id, blocked);
        if let Some(deadline) = deadline {
            lists.limits.push((deadline, this));
            world.next_deadline.set(lists.first_limit());
        }
        drop(lists);
        if is_unwinding {
            world.unwinding.set(Some(id));
        }
        shuttle::thread::park();
        if is_unwinding {
            world.unwinding.set(None);
        }
        let mut lists = world.lists.borrow_mut();
        lists.blocked.remove(&id);
        if deadline.is_some() {
            lists.limits.retain(|(_, thread)| thread.id != id);
            world.next_deadline.set(lists.first_limit());
        }
    });
}

/// Lets a thread run that may be blocked.
pub(crate) fn unblock(thread: Thread) {
    WORLD.with(|world| {
        if !world.is_active.get() {
            return;
        }
        if panicking() {
            // A thread that unwinds is not interrupted while it makes progress.
            world.lists.borrow_mut().deferred.push(thread);
            world.has_deferred.set(true);
            return;
        }
        thread.handle.unpark();
        world
            .until_choice
            .set(world.until_choice.get().min(world.below(4)));
    });
}

/// The main loop of the thread that lets time jump. It runs only when all others are blocked.
pub(crate) fn keep_time() {
    WORLD.with(|world| {
        world.current.set(CLOCK);
        loop {
            let first = world.lists.borrow().first_limit();
            if first == u64::MAX {
                if !world.is_over.get() {
                    fail("all threads are blocked, for ever");
                }
                if !world.lists.borrow().blocked.is_empty() {
                    fail("threads are left behind");
                }
                return;
            }
            let jump = first.saturating_sub(world.now.get());
            world.jumped.set(world.jumped.get() + jump);
            world.now.set(world.now.get() + jump);
            if u128::from(world.jumped.get()) > world.terms.get().jumps_max.as_nanos() {
                fail("gets on only because limits of sleeps pass, or not at all");
            }
            world.wake_due();
            shuttle::thread::yield_now();
        }
    });
}

/// The first thread that is started in a schedule runs [`keep_time`].
pub(crate) const CLOCK: usize = 1;

impl World {
    pub(super) fn wake_deferred(&self) {
        if self.has_deferred.replace(false) {
            let deferred = std::mem::take(&mut self.lists.borrow_mut().deferred);
            for thread in deferred {
                thread.handle.unpark();
            }
            self.until_choice.set(0);
        }
    }

    /// Unblocks the threads whose time has come.
    pub(super) fn wake_due(&self) {
        let now = self.now.get();
        let mut due = Vec::new();
        let mut lists = self.lists.borrow_mut();
        lists.limits.retain(|(deadline, thread)| {
            let is_due = *deadline <= now;
            if is_due {
                due.push(thread.clone());
            }
            !is_due
        });
        self.next_deadline.set(lists.first_limit());
        drop(lists);
        for thread in due {
            thread.handle.unpark();
        }
        self.until_choice.set(0);
    }

    fn limits_pass_for(&self, thread: &Thread) -> bool {
        self.has_ticks.get() || thread.handle.name() != self.terms.get().dispensable
    }
}

impl Lists {
    fn first_limit(&self) -> u64 {
        let deadlines = self.limits.iter().map(|&(deadline, _)| deadline);
        deadlines.min().unwrap_or(u64::MAX)
    }
}
