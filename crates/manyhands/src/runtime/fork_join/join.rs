//! Fork-join: run two closures, perhaps at the same time.
//!
//! The second closure waits in the caller's deque while the first runs. Usually no thief has taken it by
//! then, and the caller runs it too: that costs a handful of plain loads and stores. Nothing is allocated.
//!
//! Not here: what a caller does while a thief has its second half (`wait.rs`).
//!
//! # Access to the job
//! The owner may touch the job until it has pushed it, and again after `pop` returned `Mine`. The thief may touch it
//! from its steal until it sets the latch, and the owner after the latch is set. A thief that must not run it passes it
//! on instead, and another thief or the owner has it next (`unowned_forks.rs`).
//!
//! Unsafe: the job lives on the owner's stack and is reached by pointer.

use crate::call_site::CallSiteProfile;
use crate::job::{Action, Job, JobKind, Latch, OnDrop, Payload, abort, catch, contain};
use crate::queue::Popped;
use crate::runtime::policy::{self, LEVELS_APART, OFFER_NANOS_MIN, Offer, PUSHES_PER_BEAT};
use crate::runtime::{
    AfterWait, OccupiedSlot, Pool, RuntimeInner, Stolen, WorkerSlot, current, series, wait,
};
use crate::sync::{clock, thread};
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;
use std::ptr;

/// Runs two closures, perhaps in parallel, and returns both results.
///
/// The first runs on the calling thread at once. The second waits; an idle worker may take it at any time,
/// also while the first blocks, and if none has, the caller runs it next. A caller from outside the runtime
/// takes part as an external thread, one of the threads that run.
///
/// # Cost
/// No allocation, no atomic read-modify-write and no fence without a steal. A steal costs about a microsecond.
///
/// # Blocking
/// If the second closure was stolen, the caller waits for it; meanwhile it runs only work that this closure
/// itself has forked. So a lock may be held across `join`.
///
/// # Panics
/// If a closure panics, the other one runs to its end or, if not yet started, does not run; then the panic resumes.
/// If both panic, the first closure's panic resumes and the second's is dropped.
///
/// # Examples
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 2 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = manyhands::join(|| sum(left), || sum(right));
///     left + right
/// }
/// assert_eq!(sum(&(0..1000).collect::<Vec<_>>()), 499_500);
/// ```
///
/// The closures cannot share a mutable borrow:
/// ```compile_fail,E0499
/// let mut counter = 0;
/// manyhands::join(|| counter += 1, || counter += 1);
/// ```
/// Closures and results must be [`Send`]:
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// manyhands::join(|| (), || *shared);
/// ```
/// ```compile_fail,E0277
/// manyhands::join(|| (), || std::rc::Rc::new(1));
/// ```
#[doc(alias = "Parallel.Invoke")]
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match current::slot() {
        Some(slot) => join_on(slot, a, b),
        None => join_from_outside(a, b),
    }
}

#[cold]
#[inline(never)]
fn join_from_outside<RA, RB: Send>(
    a: impl FnOnce() -> RA,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    current::with_slot(|slot| match slot {
        Some(slot) => join_on(slot, a, b),
        None => (a(), b()),
    })
}

#[inline]
fn join_on<RA, RB: Send>(
    slot: &'static OccupiedSlot,
    a: impl FnOnce() -> RA,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let index = slot.deque.len();
    if slot.deque.is_plain(index) && !is_beat(slot, index) {
        join_at(slot, index, a, b)
    } else {
        join_not_plain(slot, index, a, b)
    }
}

/// The deque is empty or full, a thief has left a demand, or this push is a beat.
#[cold]
#[inline(never)]
fn join_not_plain<RA, RB: Send>(
    slot: &'static OccupiedSlot,
    index: usize,
    a: impl FnOnce() -> RA,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    slot.deque.make_room(index);
    if index == 0 && !slot.in_timed_join.get() {
        return join_timed(slot, a, b);
    }
    if index > 0 && slot.deque.is_demand_pending() {
        answer_demand(slot);
    }
    if slot.pushes_to_beat.get() == 0 {
        slot.pushes_to_beat.set(PUSHES_PER_BEAT);
        wake_if_worth_it(slot);
    }
    join_at(slot, index, a, b)
}

/// The first half stays on the calling thread.
#[inline]
fn join_at<A, B, RA, RB>(slot: &'static OccupiedSlot, index: usize, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    let forked = &StackJob::new(b);
    slot.deque.push(index, forked.as_job());
    // The second half must not outlive the frame when the first one panics.
    let guard = OnDrop(move || forked.take_back(slot, index));
    let a = a();
    guard.disarm();
    if slot.deque.pop(index, forked.as_job()) == Popped::Mine {
        // SAFETY: `pop` gave the job back, so no other thread will touch it.
        let b = unsafe { forked.take_closure() };
        (a, b())
    } else {
        (a, forked.wait(slot))
    }
}

/// The outermost join of a call: measures how long this call site takes, and wakes a worker at once if earlier calls
/// were long, if joins follow each other closely, or if nothing is known yet.
#[cold]
#[inline(never)]
fn join_timed<A, B, RA, RB>(slot: &'static OccupiedSlot, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    slot.in_timed_join.set(true);
    let _timed = OnDrop(|| slot.in_timed_join.set(false));
    let site = CallSiteProfile::of(join_timed::<A, B, RA, RB> as *const () as usize);
    let shared = slot.runtime();
    shared.arm_monitor();
    let mut start = 0;
    let first = || {
        offer(slot, shared, site.cost());
        start = clock::ticks();
        slot.last_wake.set(start);
        a()
    };
    let results = join_at(slot, 0, first, b);
    let end = clock::ticks();
    let elapsed = end.saturating_sub(start);
    site.learn(elapsed);
    if elapsed >= clock::ticks_in(OFFER_NANOS_MIN) {
        series::note_end(end);
    }
    results
}

/// Exposes the outermost join's second half, and wakes a worker, if the call site's `cost` in ticks is worth it.
/// A cost of 0 is unknown.
fn offer(slot: &OccupiedSlot, shared: &RuntimeInner, cost: u64) {
    if cost != 0 && cost < clock::ticks_in(OFFER_NANOS_MIN) {
        return;
    }
    let Some(offer) = series::offer(shared, (cost != 0).then_some(cost)) else {
        return;
    };
    // Without waiting for a demand: the first half may be long, and fork nothing.
    slot.deque.expose(1);
    if offer == Offer::Wake {
        shared.wake_if_nobody_searches();
    }
}

/// Exposes work for a thief's demand.
#[cold]
#[inline(never)]
fn answer_demand(slot: &OccupiedSlot) {
    slot.deque.expose(1);
    slot.runtime().wake_if_nobody_searches();
}

/// At some levels of the recursion: counts the pushes. At a beat, a worker is woken if the call has run long enough that
/// one pays. That is not done here, so that a frame need not keep the first closure over a call before it runs it.
#[inline]
fn is_beat(slot: &OccupiedSlot, index: usize) -> bool {
    if !(index - 1).is_multiple_of(LEVELS_APART) {
        return false;
    }
    let left = slot.pushes_to_beat.get() - 1;
    slot.pushes_to_beat.set(left);
    left == 0
}

#[cold]
#[inline(never)]
fn wake_if_worth_it(slot: &OccupiedSlot) {
    let shared = slot.runtime();
    let now = clock::ticks();
    // A counter that has jumped back reads as a long time.
    let since = now.abs_diff(slot.last_wake.get());
    if policy::wakes_again(since, shared.seen()) {
        slot.last_wake.set(now);
        slot.deque.expose(1);
        shared.wake_one();
    }
}

/// The second half of a join, on the stack of its owner.
#[repr(C)]
struct StackJob<F, R> {
    job: Job,
    latch: Latch,
    closure: UnsafeCell<ManuallyDrop<F>>,
    /// Written by a thief that runs the closure.
    result: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<F: FnOnce() -> R, R> StackJob<F, R> {
    #[inline]
    fn new(closure: F) -> Self {
        Self {
            job: Job::new(const { &JobKind::new(Self::perform) }),
            latch: Latch::new(),
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    #[inline]
    fn as_job(&self) -> *mut Job {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// Takes the closure.
    ///
    /// # Safety
    /// 1. No other thread touches the job now. 2. The closure was not taken before.
    #[inline]
    unsafe fn take_closure(&self) -> F {
        // SAFETY: exclusive by 1.
        let closure = unsafe { &mut *self.closure.get() };
        // SAFETY: still there by 2.
        unsafe { ManuallyDrop::take(closure) }
    }

    /// Owner: waits for the thief. Returns the closure's value, from the thief or by running it now.
    #[cold]
    #[inline(never)]
    fn wait(&self, slot: &'static OccupiedSlot) -> R {
        match wait::for_stolen(slot, &self.stolen_from(slot)) {
            AfterWait::Done => self
                .take_result()
                .unwrap_or_else(|payload| resume_unwind(payload)),
            AfterWait::TakenBack => {
                // SAFETY: 1. and 2.: taken back untouched.
                let closure = unsafe { self.take_closure() };
                closure()
            }
        }
    }

    /// Owner: the job, which a thief has taken from `slot`.
    fn stolen_from(&self, slot: &'static OccupiedSlot) -> Stolen<'_, Job> {
        Stolen {
            fork: self.as_job(),
            latch: &self.latch,
            unowned_forks: &slot.runtime().unowned_forks,
        }
    }

    /// Owner, once, when the latch is final: the thief's result.
    fn take_result(&self) -> Result<R, Payload> {
        assert!(
            self.latch.is_final(),
            "the owner looks only after the latch is final"
        );
        // SAFETY: with the latch final, the thief has done its last access.
        let result = unsafe { &*self.result.get() };
        // SAFETY: the thief has written it before it set the latch; read once.
        unsafe { result.assume_init_read() }
    }

    /// Thief: see [`Job::perform`].
    unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
        let this = job.cast::<Self>();
        let Action::Run(execution) = action else {
            abort("a fork was in a queue of tasks");
        };
        // SAFETY: the job is the first field of a live struct, whose latch is not final yet.
        let this = unsafe { &*this };
        this.latch.start(execution);
        // SAFETY: 1. and 2.: the thief has the job alone, and performs it once.
        let closure = unsafe { this.take_closure() };
        let result = MaybeUninit::new(catch(closure));
        // SAFETY: the thief has the job alone.
        unsafe { *this.result.get() = result };
        let latch = &raw const this.latch;
        // SAFETY: valid until the exchange.
        if let Some(sleeper) = unsafe { Latch::set(latch) } {
            WorkerSlot::wake(sleeper);
        }
        true
    }

    /// Owner, unwinding: takes the job back, or waits for its thief; drops the closure or its result.
    #[cold]
    #[inline(never)]
    fn take_back(&self, slot: &'static OccupiedSlot, index: usize) {
        debug_assert!(thread::panicking(), "only unwinding drops the guard");
        if slot.deque.pop(index, self.as_job()) == Popped::Stolen
            && wait::for_stolen_idly(slot, &self.stolen_from(slot)) == AfterWait::Done
        {
            // A second panic would abort, and the caller must get the first one.
            return contain(|| drop(self.take_result()));
        }
        // SAFETY: 1. and 2.: popped, or taken back untouched.
        let closure = unsafe { self.take_closure() };
        // As above.
        contain(|| drop(closure));
    }
}
