//! The calls that one thread runs alone in one runtime, and how the monitor opens them to other threads.
//!
//! A loop that is expected to be short runs on its caller alone, without a look at the clock. If it goes on nevertheless, the
//! monitor takes the positions that the caller has not claimed yet, also while the caller is in the middle of an item. It
//! makes a fork of them, which a worker runs or the caller takes back (`unowned_forks.rs`).
//!
//! Not here: which threads there are, and when the monitor looks (`caller_threads.rs`); what a call is, and what becomes of
//! the positions that were taken (`engine/unshared.rs`).
//!
//! All of them have begun in one runtime, which has not changed while one ran: a thread has such a record for each runtime
//! in which it is in a call.
//!
//! # Threads
//! The owner calls `next_number`, `enter`, `begin_watch`, `claim`, `leave`, and makes calls. Any thread calls `unwatch`,
//! `look` and `open_all`, and a monitor `CallWatch::end`. Calls nest: a body may begin another one, which ends first.
//!
//! # States of a call
//! - *Private*: `end` is where the call ends. The owner claims positions by a store; the first may be its from the start.
//! - *Frozen*: `end` is 0. A monitor decides; an owner that wants to claim waits at the lock.
//! - *Opened*: `end` is what the owner had claimed; the positions from there on belong to the fork. Final.
//!
//! # Ordering
//! F2: `claim` stores `claimed`, passes the light fence, loads `end`; `look` stores 0 into `end`, passes the heavy fence, loads
//! `claimed`. Either the monitor sees the claim and leaves these positions to the owner, or the owner sees 0, or the end
//! that the monitor has set then, and asks under the lock.
//!
//! F3: `leave` stores `current`, passes the light fence, loads `is_frozen`; `look` sets `is_frozen`, passes the heavy
//! fence, loads `current`. Either the monitor does not see the call, or the owner waits at the lock until the monitor has
//! done with it. So a call is in place while the monitor looks at it.
//!
//! F4: `enter` stores `current`, passes the light fence, loads `is_watched`; `CallWatch::end` clears `is_watched`, passes the
//! heavy fence, loads `current`. Either the monitor sees the call and goes on, or the owner sees that nobody watches.
//!
//! F5: an owner that nobody watches sets `is_watched`, passes a fence, loads `CallWatch::is_on`; `CallWatch::end` clears that,
//! passes a fence, clears `is_watched`. Either the monitor sees the call, or that it was left, and `is_watched` stays clear; or
//! the owner sees that the watch is off, and wakes the monitor.
//!
//! F6: an owner that nobody watches sets `is_watched`, switches `CallWatch::is_on` on, and loads whether the runtime ends; a
//! runtime that ends says so, and switches that off by `CallWatch::end`. Either this comes later, and clears `is_watched`, or the
//! owner acquires by the switch that the runtime ends, and clears it itself. So nobody is watched by a runtime that has ended.
//!
//! F7: an owner says to which runtime its calls belong before it stores `current`. So a monitor that has calls in place, and has
//! acquired `current`, sees the runtime of these, whatever its owner has done since the monitor chose the thread. (Where nobody
//! watches, `begin_watch` may say so again: a runtime that has begun to end may have opened the call before.)
//!
//! Unsafe: calls live in their owner's frames and are reached by pointer.

use crate::job::abort;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence as full_fence};
use crate::sync::{Mutex, fence, lock, process};
use std::{iter, ptr};

/// The calls of one thread. `J` is what the positions of an opened call become, for a monitor with an `R`.
pub(crate) struct UnsharedCalls<J, R> {
    /// That in which all of them have begun. Only compared. Null: none that exists.
    runtime: AtomicPtr<R>,
    /// The innermost call, or null.
    current: AtomicPtr<UnsharedCall<J, R>>,
    /// How many calls have begun; the number of the last one.
    begun: AtomicU64,
    /// The number of the outermost of the calls that run.
    outermost: AtomicU64,
    /// A monitor looks at the calls, so none may end.
    is_frozen: AtomicBool,
    /// A monitor that sweeps has this thread among those that it looks at.
    is_watched: AtomicBool,
    /// `begun`, when a monitor looked last.
    seen: AtomicU64,
    /// How often one has looked.
    looks: AtomicU64,
    lock: Mutex<()>,
}

/// A call, in its owner's frame.
pub(crate) struct UnsharedCall<J, R> {
    open: Open<J, R>,
    outer: *mut Self,
    /// How many calls of the thread have begun, this one included.
    pub(crate) number: u64,
    /// Not before this tick.
    opens_at: u64,
    /// Positions below this are the owner's.
    claimed: AtomicU64,
    end: AtomicU64,
}

/// Makes a fork of the positions of a call from this one on. Null: only the owner may run it.
type Open<J, R> = unsafe fn(*mut UnsharedCall<J, R>, u64, &R) -> *mut J;

impl<J, R> UnsharedCall<J, R> {
    /// The next call of a thread, inside of its innermost one, of the positions up to `end`. Those below `start` are the owner's
    /// already. It is not opened before the tick `opens_at`.
    ///
    /// # Safety
    /// `open` may be called once with a pointer to this, while the call is entered, by another thread.
    #[inline]
    pub(crate) unsafe fn new(
        outer: *mut Self,
        number: u64,
        (start, end): (u64, u64),
        opens_at: u64,
        open: Open<J, R>,
    ) -> Self {
        Self {
            open,
            outer,
            number,
            opens_at,
            claimed: AtomicU64::new(start),
            end: AtomicU64::new(end),
        }
    }

    /// Where the call ends for its owner, after it has left or its last claim failed: lower than it was if the call was opened.
    pub(crate) fn end(&self) -> u64 {
        // Relaxed: the owner has acquired what the monitor did, in `leave` or at the lock.
        self.end.load(Ordering::Relaxed)
    }

    /// Whether there is something to take.
    fn has_rest(&self) -> bool {
        // Relaxed, both: `take_rest` decides.
        self.claimed.load(Ordering::Relaxed) < self.end.load(Ordering::Relaxed)
    }

    /// Monitor, under the lock: takes the positions that the owner has not claimed; returns the first, if there are any.
    fn take_rest(&self) -> Option<u64> {
        // Relaxed: changed only under the lock.
        let end = self.end.load(Ordering::Relaxed);
        // Relaxed: F2.
        self.end.store(FROZEN, Ordering::Relaxed);
        fence::heavy();
        // Relaxed: F2.
        let claimed = self.claimed.load(Ordering::Relaxed);
        // Relaxed: an owner that reads this looks again under the lock, or owns all positions below it.
        self.end.store(claimed.min(end), Ordering::Relaxed);
        (claimed < end).then_some(claimed)
    }
}

impl<J, R> UnsharedCalls<J, R> {
    /// None.
    pub(crate) fn new() -> Self {
        Self {
            runtime: AtomicPtr::new(ptr::null_mut()),
            current: AtomicPtr::new(ptr::null_mut()),
            begun: AtomicU64::new(0),
            outermost: AtomicU64::new(0),
            is_frozen: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            seen: AtomicU64::new(0),
            looks: AtomicU64::new(0),
            lock: Mutex::new(()),
        }
    }

    /// Owner: the calls, of which there are none or which nobody watches, are those in `runtime` from now on.
    pub(crate) fn belongs_to(&self, runtime: *const R) {
        self.unwatch();
        // Release: a monitor that reads it sees none of the calls before; pairs with the Acquire in `is_of`.
        self.runtime.store(runtime.cast_mut(), Ordering::Release);
    }

    /// Whether they are those in `runtime`. A monitor is only sure of that while it has frozen them: F7.
    pub(crate) fn is_of(&self, runtime: *const R) -> bool {
        // Acquire: as above.
        ptr::eq(self.runtime.load(Ordering::Acquire), runtime)
    }

    /// Owner: the innermost call, or null.
    #[inline]
    pub(crate) fn innermost(&self) -> *mut UnsharedCall<J, R> {
        // Relaxed: only the owner writes it.
        self.current.load(Ordering::Relaxed)
    }

    /// The number of the next call.
    #[inline]
    pub(crate) fn next_number(&self) -> u64 {
        // Relaxed, both: only the owner writes it, and others only compare it with what they read before.
        let number = self.begun.load(Ordering::Relaxed) + 1;
        self.begun.store(number, Ordering::Relaxed);
        number
    }

    /// Begins a call. Returns whether a monitor watches; if not, the owner sees to that now.
    ///
    /// # Safety
    /// The call is valid, and stays where it is until [`leave`](Self::leave) has returned; what opens it gets this pointer.
    /// Calls end in the reverse order.
    #[inline]
    #[must_use]
    pub(crate) unsafe fn enter(&self, call: *const UnsharedCall<J, R>) -> bool {
        // SAFETY: promised by the caller.
        let UnsharedCall { outer, number, .. } = unsafe { &*call };
        if outer.is_null() {
            // Relaxed: a monitor that reads another number looks later, or finds nothing.
            self.outermost.store(*number, Ordering::Relaxed);
        }
        // Release: publishes the call; pairs with the Acquire in `freeze`.
        self.current.store(call.cast_mut(), Ordering::Release);
        fence::light();
        // Relaxed: F4.
        self.is_watched.load(Ordering::Relaxed)
    }

    /// Owner: how many calls have begun since a monitor has looked, up to that of this number.
    #[inline]
    pub(crate) fn since_look(&self, number: u64) -> u64 {
        // Relaxed: a hint.
        number.saturating_sub(self.seen.load(Ordering::Relaxed))
    }

    /// Owner: whether a monitor has looked since the call began.
    #[inline]
    pub(crate) fn is_seen(&self, call: &UnsharedCall<J, R>) -> bool {
        self.since_look(call.number) == 0
    }

    /// How often a monitor has looked.
    #[inline]
    pub(crate) fn looks(&self) -> u64 {
        // Relaxed: a hint.
        self.looks.load(Ordering::Relaxed)
    }

    /// Claims the positions `from..to`, those before which are claimed; returns up to where they are the owner's. `from`: the
    /// call was opened there.
    #[inline]
    pub(crate) fn claim(&self, call: &UnsharedCall<J, R>, from: u64, to: u64) -> u64 {
        // Relaxed: F2.
        call.claimed.store(to, Ordering::Relaxed);
        fence::light();
        // Relaxed: F2.
        if to <= call.end.load(Ordering::Relaxed) {
            to
        } else {
            self.claim_opened(call, from, to)
        }
    }

    /// The end has changed, or will.
    #[cold]
    #[inline(never)]
    fn claim_opened(&self, call: &UnsharedCall<J, R>, from: u64, to: u64) -> u64 {
        if process::is_forked() {
            // The monitor is not in this process, so nobody runs what it has taken, and the lock may be its.
            abort("a child of `fork` was in a loop that threads of its parent were to join");
        }
        let _decided = lock(&self.lock);
        let to = to.min(call.end());
        // Relaxed: read under the lock only, or with F2.
        call.claimed.store(to, Ordering::Relaxed);
        debug_assert!(from <= to, "what was claimed stays with the owner");
        to
    }

    /// Ends a call, which may go away when this returns. What a monitor has done with it is visible then.
    #[inline]
    pub(crate) fn leave(&self, call: &UnsharedCall<J, R>) {
        // Release: the owner has done with the call; pairs with the Acquire in `freeze`, which reads the outer one.
        self.current.store(call.outer, Ordering::Release);
        fence::light();
        // Acquire: pairs with the Release in `freeze`, if the monitor has been here before; else F3.
        if self.is_frozen.load(Ordering::Acquire) {
            self.await_monitor();
        }
    }

    #[cold]
    #[inline(never)]
    fn await_monitor(&self) {
        // A forked child has no monitor, and perhaps its lock.
        if !process::is_forked() {
            drop(lock(&self.lock));
        }
    }

    /// Owner, in a call: a monitor watches the thread from now on, if `begins` finds one. Returns whether it does.
    pub(crate) fn begin_watch(&self, begins: impl FnOnce() -> bool) -> bool {
        // Relaxed: F5.
        self.is_watched.store(true, Ordering::Relaxed);
        begins() || {
            self.unwatch();
            false
        }
    }

    /// Nobody watches the thread from now on.
    pub(crate) fn unwatch(&self) {
        // Relaxed: F4 and F5, in `CallWatch::end`; else the thread does this itself.
        self.is_watched.store(false, Ordering::Relaxed);
    }

    /// Whether the thread is in a call.
    pub(crate) fn has_calls(&self) -> bool {
        // Relaxed: F4 for a monitor; else the owner asks.
        !self.current.load(Ordering::Relaxed).is_null()
    }

    /// Monitor: opens a call that has run since the last look, if there is one, the outermost first, and passes its fork on.
    /// Returns whether the thread is in a call, or has begun one since the last look.
    pub(crate) fn look(&self, now: u64, runtime: &R, pass_on: impl FnOnce(*mut J)) -> bool {
        // Relaxed, here and below: a call that is missed now is found at the next look.
        let begun = self.begun.load(Ordering::Relaxed);
        let seen = self.seen.load(Ordering::Relaxed);
        self.seen.store(begun, Ordering::Relaxed);
        // Relaxed: only monitors write it, one at a time.
        self.looks.store(self.looks() + 1, Ordering::Relaxed);
        let has_calls = self.has_calls();
        // Relaxed: as above.
        if has_calls && self.outermost.load(Ordering::Relaxed) <= seen {
            self.open_long(now, seen, runtime, pass_on);
        }
        has_calls || begun != seen
    }

    /// Opens the outermost call that has a number up to `seen`, may be opened `now`, and has positions to take.
    fn open_long(&self, now: u64, seen: u64, runtime: &R, pass_on: impl FnOnce(*mut J)) {
        self.freeze(|calls| {
            let is_long = |call: &UnsharedCall<J, R>| call.number <= seen && call.opens_at <= now;
            let found = calls.filter(|(call, _)| is_long(call)).last();
            found
                .and_then(|found| self.open(found, runtime))
                .map(pass_on);
        });
    }

    /// Any thread, when the runtime ends: opens all calls that have positions to take, and passes their forks on.
    pub(crate) fn open_all(&self, runtime: &R, pass_on: impl FnMut(*mut J)) {
        self.freeze(|calls| {
            calls
                .filter_map(|found| self.open(found, runtime))
                .for_each(pass_on);
        });
    }

    /// Calls `look` with the calls that have positions to take, the innermost first. All stay in place meanwhile.
    fn freeze<'a>(&'a self, look: impl FnOnce(&mut dyn Iterator<Item = Found<'a, J, R>>)) {
        let _owner_waits = lock(&self.lock);
        // Relaxed: F3.
        self.is_frozen.store(true, Ordering::Relaxed);
        fence::heavy();
        // Acquire: pairs with the Release in `enter` and `leave`.
        let mut next = self.current.load(Ordering::Acquire);
        let calls = iter::from_fn(|| {
            let place = next;
            // SAFETY: null, or in place by F3, as are those around it, which end later.
            let call = unsafe { place.as_ref() }?;
            next = call.outer;
            Some((call, place))
        });
        look(&mut calls.filter(|(call, _)| call.has_rest()));
        // Release: pairs with the Acquire in `leave`.
        self.is_frozen.store(false, Ordering::Release);
    }

    /// Opens a call that is in place, under the lock, if it is one in `runtime` and still has positions to take. Returns the fork, if
    /// others may run it.
    fn open(&self, (call, place): Found<'_, J, R>, runtime: &R) -> Option<*mut J> {
        // F7.
        let from = self.is_of(runtime).then(|| call.take_rest())??;
        // SAFETY: the call is entered; once, because an opened call has no rest.
        let fork = unsafe { (call.open)(place, from, runtime) };
        (!fork.is_null()).then_some(fork)
    }
}

/// A call, and the pointer to the whole frame that it begins.
type Found<'a, J, R> = (&'a UnsharedCall<J, R>, *mut UnsharedCall<J, R>);

/// Whether the monitor of a runtime opens calls that go on. If not, no thread takes itself for watched.
#[derive(Debug, Default)]
pub(crate) struct CallWatch {
    is_on: AtomicBool,
}

impl CallWatch {
    /// Owner, from within `begin_watch`: the monitor watches from now on. Returns whether it did not, so that it must be woken.
    #[must_use]
    pub(crate) fn begin(&self) -> bool {
        // SeqCst: F5.
        full_fence(Ordering::SeqCst);
        // Relaxed: F5. AcqRel: a monitor that has rested has switched itself off before; pairs with the exchange in `end`.
        !self.is_on.load(Ordering::Relaxed) && !self.is_on.swap(true, Ordering::AcqRel)
    }

    /// Monitor, when it has switched itself off, or before it sweeps seldom: watches `threads`, which are all, no longer. Returns
    /// whether one is in a call, so that it goes on.
    pub(crate) fn end<'a, J: 'a, R: 'a>(
        &self,
        threads: impl Iterator<Item = &'a UnsharedCalls<J, R>> + Clone,
    ) -> bool {
        // AcqRel: pairs with the exchange in `begin`.
        if !self.is_on.swap(false, Ordering::AcqRel) {
            return false;
        }
        // SeqCst: F5.
        full_fence(Ordering::SeqCst);
        threads.clone().for_each(UnsharedCalls::unwatch);
        fence::heavy();
        let goes_on = threads.into_iter().any(UnsharedCalls::has_calls);
        if goes_on {
            // Relaxed: what it has cleared stays so; owners that have set it since have woken it. One that reads this passes its fence
            // after that of F5, and sees what came before: that the runtime ends. Else it is unwatched by what follows that fence.
            self.is_on.store(true, Ordering::Relaxed);
        }
        goes_on
    }
}

/// The `end` of a call while a monitor decides. No claim ends here.
const FROZEN: u64 = 0;

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use super::{UnsharedCall, UnsharedCalls};
    use crate::runtime::fork_join::caller_threads::CallerThread;
    use crate::sync::atomic::Ordering;
    use crate::sync::wait_until;
    use crate::{Runtime, parallel, task};
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_monitor_that_sweeps_seldom_watches_no_thread_until_a_call_wakes_it() {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let _entered = runtime.enter();
        // A thread that takes part keeps the monitor from resting.
        let (end, ends) = mpsc::channel::<()>();
        let limit = Duration::from_secs(120);
        let blocks = task::run(move || task::blocking(|| ends.recv_timeout(limit)));
        let watch = &runtime.shared().monitor.call_watch;
        let is_on = || watch.is_on.load(Ordering::Relaxed);
        for _ in 0..2 {
            parallel::for_each(0..2, |_| ());
            let thread = CallerThread::current().unwrap();
            // Unless the thread has lost its processor for long in between.
            let is_watched = || thread.is_watched.load(Ordering::Relaxed);
            assert!(is_watched() || !is_on());
            wait_until("it watches no more", || !is_on() && !is_watched());
            assert!(!runtime.shared().idle.is_inactive(), "it does not rest");
        }
        drop(end);
        assert!(blocks.join().unwrap().is_err());
    }

    /// The fork of a call is the call.
    unsafe fn open(call: *mut UnsharedCall<(), ()>, from: u64, _runtime: &()) -> *mut () {
        assert_eq!(from, 1, "the first position is claimed");
        call.cast()
    }

    #[test]
    fn the_end_of_a_runtime_opens_all_calls_however_many_are_one_inside_the_other() {
        let (calls, runtime) = (UnsharedCalls::new(), ());
        calls.belongs_to(&raw const runtime);
        let mut frames: Vec<Box<UnsharedCall<(), ()>>> = Vec::new();
        for _ in 0..20 {
            // SAFETY: what opens it only compares it.
            let call = unsafe {
                UnsharedCall::new(calls.innermost(), calls.next_number(), (0, 2), 0, open)
            };
            frames.push(Box::new(call));
            let call = frames.last().expect("it is there");
            // SAFETY: it stays where it is, and is left below, in the reverse order.
            let _ = unsafe { calls.enter(&raw const **call) };
            assert_eq!(calls.claim(call, 0, 1), 1);
        }
        let mut forks = Vec::new();
        calls.open_all(&runtime, |fork| forks.push(fork));
        assert_eq!(forks.len(), 20);
        calls.open_all(&runtime, |_| {
            unreachable!("there is nothing to take any more")
        });
        for call in frames.iter().rev() {
            assert_eq!(calls.claim(call, 1, 2), 1);
            calls.leave(call);
        }
        assert!(!calls.has_calls());
    }
}
