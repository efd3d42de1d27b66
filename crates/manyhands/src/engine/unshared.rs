//! A call, or the beginning of one, that its caller runs alone.
//!
//! The caller goes through the positions in small blocks: the first item, then as many as are done or more, up to what was
//! expected to take four tenths of a microsecond; and fewer once the monitor has looked. Between two blocks the monitor may take
//! the positions that follow. It makes a fork of them: the worker that runs it shares them as a loop of its own, and the caller
//! helps it when it has done its own block.
//!
//! Not here: which thread takes which positions, and why none is lost (`runtime/fork_join/unshared_calls.rs`).
//!
//! # Access to the fork
//! The monitor writes it before it passes it on. Then it belongs to the worker that takes it until that sets the latch, or to
//! the caller that takes it back. The caller does not leave its frame before one of both has happened.
//!
//! Unsafe: positions are handed to sources, each exactly once; a fork is reached by pointer.

use crate::call_site::CallSiteProfile;
use crate::engine::shared_loop::{self, Begun};
use crate::engine::{
    AnyLoop, BlockRunner, HelperPolicy, Rate, Rest, SharingPlan, cost, drive_alone,
};
use crate::job::{
    Action, AggregatePanic, Job, JobKind, Latch, Payload, abort, catch, contain, value_or_resume,
};
use crate::recording::{LoopObserver, RunsAlone};
use crate::runtime::fork_join::unshared_calls::UnsharedCall;
use crate::runtime::{
    AfterWait, CallerThread, OccupiedSlot, Pool, RuntimeInner, Stolen, WorkerSlot, current, wait,
};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Backoff, process};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::panic::resume_unwind;
use std::ptr;
use std::sync::Arc;

/// What a call that runs alone is about.
pub(super) struct Whole<'a, L, O> {
    pub(super) work: L,
    pub(super) degree: Option<usize>,
    pub(super) helpers: HelperPolicy,
    pub(super) site: &'a CallSiteProfile,
    pub(super) observer: O,
}

/// Runs a short call of more than one item, which the monitor opens if it goes on. Returns whether it was
/// opened, or measured.
#[inline]
pub(super) fn run<L: AnyLoop, O: LoopObserver>(
    whole: Whole<'_, L, O>,
    len: u64,
    (thread, number): (&'static CallerThread, u64),
    runner: &mut impl BlockRunner,
) -> bool {
    let block_max = cost::brief_block(whole.site.cost());
    let frame = Frame::new(whole, Some(thread), number, (1, len), 0);
    let mut alone = Alone::enter(&frame, Some(thread), 0);
    let is_watched = alone.is_watched;
    alone.run_from_first(if is_watched { len } else { 1 }, block_max, runner);
    let observer = frame.whole.observer;
    let Some(start) = alone.leave(runner, |ran| observer.ran_alone(ran)) else {
        return true;
    };
    if start == len {
        return false;
    }
    let whole = &frame.whole;
    let rest = Rest::of(&whole.work, start, len);
    if is_watched {
        // The consumer has ended before.
        drop(rest);
        return false;
    }
    run_unwatched(rest, runner, whole.degree, (whole.site, observer));
    true
}

/// The runtime has no monitor: the caller looks at the clock.
#[cold]
#[inline(never)]
fn run_unwatched(
    rest: Rest<'_>,
    runner: &mut dyn BlockRunner,
    degree: Option<usize>,
    (site, observer): (&CallSiteProfile, impl LoopObserver),
) {
    let plan = SharingPlan::when_it_pays(degree);
    let because = RunsAlone::TooShort;
    drive_alone(rest, runner, &plan, (site, observer), because);
}

/// A call in its caller's frame.
#[repr(C)]
pub(super) struct Frame<'a, L, O> {
    call: UnsharedCall<Job, RuntimeInner>,
    whole: Whole<'a, L, O>,
    end: u64,
    fork: UnsafeCell<MaybeUninit<Fork<'a, O>>>,
}

/// The rest of a call that the monitor has opened.
#[repr(C)]
struct Fork<'a, O> {
    job: Job,
    latch: Latch,
    /// The loop is in the frame.
    whole: Whole<'a, *const (dyn AnyLoop + 'a), O>,
    start: u64,
    end: u64,
    runtime: Arc<RuntimeInner>,
    /// A body of the caller has panicked: no more items begin.
    is_over: AtomicBool,
    /// Written by a worker that runs the fork.
    panic: UnsafeCell<Option<Payload>>,
}

impl<'a, L: AnyLoop + 'a, O: LoopObserver> Frame<'a, L, O> {
    /// A frame for these positions, on the calling thread; see [`UnsharedCall::new`].
    #[inline]
    pub(super) fn new(
        whole: Whole<'a, L, O>,
        thread: Option<&CallerThread>,
        number: u64,
        positions: (u64, u64),
        opens_at: u64,
    ) -> Self {
        let outer = thread.map_or(ptr::null_mut(), |thread| thread.innermost());
        // SAFETY: `open` takes a pointer to a whole frame, which begins with the call.
        let call = unsafe { UnsharedCall::new(outer, number, positions, opens_at, Self::open) };
        Self {
            call,
            whole,
            end: positions.1,
            fork: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Makes the fork of the positions from `start` on.
    ///
    /// # Safety
    /// 1. `call` begins a frame of this type that is entered. 2. This is called once for a frame.
    unsafe fn open(
        call: *mut UnsharedCall<Job, RuntimeInner>,
        start: u64,
        runtime: &RuntimeInner,
    ) -> *mut Job {
        let frame: *const Self = call.cast();
        // SAFETY: valid by 1.
        let frame = unsafe { &*frame };
        let (place, end) = (&frame.fork, frame.end);
        let whole = &frame.whole;
        let fork = Fork {
            job: Job::new(const { &JobKind::new(Fork::<O>::perform) }),
            latch: Latch::new(),
            whole: Whole {
                work: ptr::from_ref(&whole.work),
                degree: whole.degree,
                helpers: whole.helpers,
                site: whole.site,
                observer: whole.observer,
            },
            start,
            end,
            runtime: runtime.to_arc(),
            is_over: AtomicBool::new(false),
            panic: UnsafeCell::new(None),
        };
        let is_passed_on = fork.is_passed_on();
        // SAFETY: nobody else touches it before this returns; once, by 2.
        unsafe { &mut *place.get() }.write(fork);
        if is_passed_on {
            place.get().cast()
        } else {
            ptr::null_mut()
        }
    }

    /// The fork, if the call was opened. Its caller has left it, or failed to claim positions, and asks once.
    #[inline]
    fn opened(&self) -> Option<Opened<'_, 'a, O>> {
        (self.call.end() != self.end).then(|| Opened::new(&self.fork))
    }
}

/// The fork of a call that was opened, for its caller. Dropped with this, when the thread that ran it has done with it.
struct Opened<'f, 'a, O>(&'f UnsafeCell<MaybeUninit<Fork<'a, O>>>);

impl<'f, 'a, O> Opened<'f, 'a, O> {
    #[cold]
    fn new(fork: &'f UnsafeCell<MaybeUninit<Fork<'a, O>>>) -> Self {
        if process::is_forked() {
            abort(process::FORKED);
        }
        Self(fork)
    }
}

impl<'a, O> Deref for Opened<'_, 'a, O> {
    type Target = Fork<'a, O>;

    fn deref(&self) -> &Fork<'a, O> {
        let fork: *const Fork<'a, O> = self.0.get().cast();
        // SAFETY: written before the end was lowered; nobody writes to the place after that, but inside the fork.
        unsafe { &*fork }
    }
}

impl<'a, O> Drop for Opened<'_, 'a, O> {
    fn drop(&mut self) {
        let fork: *mut Fork<'a, O> = self.0.get().cast();
        // SAFETY: it is there, as above; the thread that ran it has done with it, and the caller asks once.
        unsafe { fork.drop_in_place() };
    }
}

/// Makes the monitor of the current runtime watch the calling thread. Returns whether it does.
#[cold]
#[inline(never)]
fn begin_watch(thread: &'static CallerThread) -> bool {
    // In a forked child there is no monitor.
    !process::is_forked() && current::with_runtime(|runtime| thread.begin_watch_by(runtime))
}

/// The caller's way through a call.
pub(super) struct Alone<'f, 'a, L, O> {
    frame: &'f Frame<'a, L, O>,
    /// `None`: nobody can open the call.
    thread: Option<&'static CallerThread>,
    /// The positions from here on have not been claimed; between two runs, those before have been run.
    pub(super) next: u64,
    start: u64,
    /// A monitor opens the call if it goes on.
    pub(super) is_watched: bool,
}

impl<'f, 'a, L: AnyLoop + 'a, O: LoopObserver> Alone<'f, 'a, L, O> {
    /// Begins. The caller ends its part by `leave`, unless `run_to` has panicked; nothing else panics between them.
    #[inline]
    pub(super) fn enter(
        frame: &'f Frame<'a, L, O>,
        thread: Option<&'static CallerThread>,
        start: u64,
    ) -> Self {
        let is_watched = thread.is_some_and(|thread| {
            // `open` needs the whole frame.
            let call = ptr::from_ref(frame).cast();
            // SAFETY: the frame begins with the call, and is borrowed until `leave` or `leave_panicked` has left that.
            let is_watched = unsafe { thread.enter(call) };
            is_watched || begin_watch(thread)
        });
        Self {
            frame,
            thread,
            next: start,
            start,
            is_watched,
        }
    }

    /// Runs the items up to `to`, in blocks of at most `block_max`, unless the call is opened or ends before. If a body
    /// panics, ends the caller's part, and panics with that and with what others have panicked with.
    #[inline]
    pub(super) fn run_to<R: BlockRunner + ?Sized>(
        &mut self,
        to: u64,
        block_max: u64,
        runner: &mut R,
    ) {
        if let Err(payload) = catch(|| self.run_blocks_to(to, block_max, runner)) {
            self.leave_panicked(payload);
        }
    }

    /// As `run_to`, in a call whose first item is the caller's from the start. The compiler makes straight code of that.
    #[inline]
    fn run_from_first<R: BlockRunner>(&mut self, to: u64, block_max: u64, runner: &mut R) {
        let run = || {
            self.next += 1;
            // SAFETY: never claimed, so nobody else runs it.
            unsafe { runner.run(0, 1) };
            self.run_blocks_to(to, block_max, runner);
        };
        if let Err(payload) = catch(run) {
            self.leave_panicked(payload);
        }
    }

    #[inline]
    fn run_blocks_to<R: BlockRunner + ?Sized>(&mut self, to: u64, block_max: u64, runner: &mut R) {
        while self.next < to && self.next < self.frame.whole.work.end() {
            let from = self.next;
            let mut until = to;
            if let Some(thread) = self.thread {
                let is_seen = || thread.is_seen(&self.frame.call);
                until = to.min(from + cost::next_claim(from - self.start, block_max, is_seen));
                until = thread.claim(&self.frame.call, from, until);
                if until == from {
                    return;
                }
            }
            self.next = until;
            // SAFETY: claimed, once.
            unsafe { runner.run(from, until) };
        }
    }

    #[inline]
    fn leave_call(&self) {
        if let Some(thread) = self.thread {
            thread.leave(&self.frame.call);
        }
    }

    /// Ends the caller's part when a body has panicked. If the call was opened, waits for what others run.
    #[cold]
    #[inline(never)]
    fn leave_panicked(&self, payload: Payload) -> ! {
        self.leave_call();
        let others = if let Some(fork) = self.frame.opened() {
            fork.finish_panicked()
        } else {
            let Frame { whole, end, .. } = self.frame;
            // SAFETY: not claimed. The caller gets the first panic.
            contain(|| unsafe { whole.work.discard(self.next, *end) });
            Vec::new()
        };
        value_or_resume(Err(payload), others)
    }

    /// Ends the caller's part. The positions from the returned one on are the caller's, and not run. If the call was opened, says
    /// how many items the caller has run, waits until others have run the rest, and returns `None`.
    #[inline]
    pub(super) fn leave(
        self,
        runner: &mut dyn BlockRunner,
        opened: impl FnOnce(u64),
    ) -> Option<u64> {
        self.leave_call();
        let Some(fork) = self.frame.opened() else {
            return Some(self.next);
        };
        opened(self.next - self.start);
        fork.finish(runner);
        None
    }
}

impl<O: LoopObserver> Fork<'_, O> {
    /// Worker: see [`Job::perform`].
    unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
        let this = job.cast::<Self>();
        let Action::Run(execution) = action else {
            abort("the rest of a loop was in a queue of tasks");
        };
        // SAFETY: the job is the first field of a live fork, whose latch is not final yet.
        let fork = unsafe { &*this };
        fork.latch.start(execution);
        if let Err(payload) = catch(|| fork.run()) {
            fork.work().note_panic();
            // SAFETY: the worker has the fork alone.
            unsafe { *fork.panic.get() = Some(payload) };
        }
        let latch = &raw const fork.latch;
        // SAFETY: valid until the exchange.
        if let Some(sleeper) = unsafe { Latch::set(latch) } {
            WorkerSlot::wake(sleeper);
        }
        true
    }

    /// Whether a worker may run it while the caller is in the middle of an item. It then leaves a place to the caller, also
    /// when that has done its item.
    fn is_passed_on(&self) -> bool {
        cost::spares_a_place(self.whole.degree)
    }

    fn work(&self) -> &dyn AnyLoop {
        // SAFETY: the caller does not leave the frame before the latch is set, or it is the caller that calls this.
        unsafe { &*self.whole.work }
    }

    /// Shares the positions, with a runner's state of its own.
    fn run(&self) {
        let degree = self.whole.degree.map(|degree| degree - 1);
        self.work()
            .with_runner(&mut |runner| self.share(runner, degree));
    }

    /// Shares the positions; their runner is the calling thread.
    fn share(&self, runner: &mut dyn BlockRunner, degree: Option<usize>) {
        let Whole { site, observer, .. } = self.whole;
        let rest = Rest::of(self.work(), self.start, self.end);
        let mut plan = SharingPlan::when_it_pays(degree);
        plan.helpers = self.whole.helpers;
        // Nothing is known but that the items take much longer than was expected.
        let begun = Begun {
            rate: Rate::UNKNOWN,
            is_over: Some(&self.is_over),
        };
        shared_loop::share(rest, runner, &plan, (site, observer), begun);
    }

    /// Caller, when it has left the call: waits until a worker has run the fork, or runs it.
    #[inline(never)]
    fn finish(&self, runner: &mut dyn BlockRunner) {
        self.whole.site.was_opened();
        if self.whole.helpers.may_wait() {
            self.whole.site.share_next(cost::BACKOFF_MAX);
        }
        match self.wait(&wait::for_stolen) {
            AfterWait::TakenBack => self.share(runner, self.whole.degree),
            AfterWait::Done => {
                if let Some(payload) = self.take_panic() {
                    resume_unwind(payload);
                }
            }
        }
    }

    /// Caller, one of whose bodies has panicked: as `finish`, but no more items begin, and those that run hear of it. Returns
    /// what bodies have panicked with on other threads.
    fn finish_panicked(&self) -> Vec<Payload> {
        // Relaxed: a runner acts on it a block earlier or later.
        self.is_over.store(true, Ordering::Relaxed);
        self.work().note_panic();
        match self.wait(&wait::for_stolen_idly) {
            AfterWait::TakenBack => {
                // SAFETY: the positions of a fork that was taken back are the caller's. It gets the first panic.
                contain(|| unsafe { self.work().discard(self.start, self.end) });
                Vec::new()
            }
            AfterWait::Done => self
                .take_panic()
                .map_or_else(Vec::new, AggregatePanic::parts),
        }
    }

    /// Caller: waits by `by` if it can take part in a runtime.
    fn wait(&self, by: &dyn Fn(&'static OccupiedSlot, &Stolen<'_, Job>) -> AfterWait) -> AfterWait {
        if !self.is_passed_on() {
            return AfterWait::TakenBack;
        }
        let fork = ptr::from_ref(&self.job).cast_mut();
        let unowned_forks = &self.runtime.unowned_forks;
        let stolen = Stolen {
            fork,
            latch: &self.latch,
            unowned_forks,
        };
        let after = current::with_slot(|slot| {
            if let Some(slot) = slot {
                return by(slot, &stolen);
            }
            let mut backoff = Backoff::default();
            loop {
                if unowned_forks.take_back(fork) {
                    return AfterWait::TakenBack;
                }
                if self.latch.is_final() {
                    return AfterWait::Done;
                }
                backoff.wait();
            }
        });
        if after == AfterWait::TakenBack {
            // The end of that runtime may have waited for a worker to take it (`ending::is_over`).
            self.runtime.look_for_end();
        }
        after
    }

    /// Caller, when the latch is final.
    fn take_panic(&self) -> Option<Payload> {
        // SAFETY: the worker has written it before it set the latch.
        unsafe { (*self.panic.get()).take() }
    }
}
