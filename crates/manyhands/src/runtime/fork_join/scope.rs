//! Scopes: any number of spawned closures that borrow from outside, all finished when the scope ends.
//!
//! A scope is a call that its owner leaves open (`helper_slot.rs`). Helpers take its closures from its own queue, and
//! the owner takes them too when the body has ended. So the owner of a scope waits only for closures of the scope, and
//! runs only these while it waits.
//!
//! Not here: how closures are counted, and waking an owner that sleeps (`scope_closures.rs`).
//!
//! # Access to the call
//! The owner may touch the call until `scope` returns, and helpers while they are in its helper slot. The performer of a closure
//! is one of these. When the last closure has finished, the owner closes the helper slot and waits for those inside.
//!
//! Unsafe: closures borrow for `'scope`, which is erased in the queue.

use crate::job::{
    Action, ExecutionId, Job, JobKind, Payload, RunPermit, block, catch, value_or_resume,
};
use crate::queue::Unqueued;
use crate::runtime::fork_join::scope_closures::{Closures, Spawner};
use crate::runtime::policy::{GLOBAL_QUEUE_INTERVAL_MAX, SPINS};
use crate::runtime::{
    FoundWork, Helped, HelpedWork, HelperSlot, OccupiedSlot, OpenCall, Pool, WorkerSlot,
    YieldCheck, current, run_loop, wait,
};
use crate::sync::{Backoff, Mutex, into_inner, lock, spin_loop};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Spawns closures that may borrow everything that outlives the scope. Made by [`scope`].
///
/// Example: see [`scope`].
pub struct Scope<'scope> {
    closures: Closures<Job>,
    /// The owner's slot.
    owner: Option<&'static WorkerSlot>,
    /// Where helpers find the scope; `None` if the owner has too many calls open.
    place: Option<(&'static WorkerSlot, &'static HelperSlot)>,
    panics: Mutex<Vec<Payload>>,
    /// Invariant in `'scope`: a longer or a shorter one would let borrows escape.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Runs `body`, which may spawn closures, and returns when all of them have finished.
///
/// Closures may borrow everything that outlives the call, and may spawn more of the same scope.
///
/// # Cost
/// One allocation and one atomic read-modify-write for each spawn, and one more where a closure spawns.
/// Spawning neither waits nor runs anything, so closures that are spawned faster than they run take memory.
///
/// # Blocking
/// At its end the caller runs closures of this scope, then waits for those that run elsewhere. It never
/// runs anything else, so a lock may be held across a scope.
///
/// # Panics
/// All closures run even if some panic, or the body does; then the panic resumes, or, if there were several, an
/// [`AggregatePanic`](crate::AggregatePanic) does.
///
/// # Examples
/// ```
/// let mut squares = [1, 2, 3, 4];
/// manyhands::scope(|s| {
///     for square in &mut squares {
///         s.spawn(move |_| *square *= *square);
///     }
/// });
/// assert_eq!(squares, [1, 4, 9, 16]);
/// ```
///
/// Closures cannot borrow a value of the body, because they may outlive it:
/// ```compile_fail,E0373
/// manyhands::scope(|s| {
///     let inside = 1;
///     s.spawn(|_| println!("{inside}"));
/// });
/// ```
/// ```compile_fail,E0597
/// manyhands::scope(|s| {
///     let inside = 1;
///     let borrowed = &inside;
///     s.spawn(move |_| println!("{borrowed}"));
/// });
/// ```
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// manyhands::scope(|s| s.spawn(|_| drop(shared)));
/// ```
#[doc(alias("in_place_scope", "scope_fifo", "AttachedToParent"))]
pub fn scope<'scope, R>(body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    current::with_slot(|slot| run_scope(slot, body))
}

fn run_scope<'scope, R>(
    slot: Option<&'static OccupiedSlot>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    let place = slot.and_then(OpenCall::next);
    let call = Helped::new(Scope {
        closures: Closures::new(),
        owner: slot.map(|slot| &**slot),
        place: place.map(|OpenCall { slot, helper_slot }| (&**slot, helper_slot)),
        panics: Mutex::new(Vec::new()),
        borrows: PhantomData,
    });
    let value = call.keep_open(place, |scope| scope.run_to_end(slot, place, body));
    if let Some(slot) = slot {
        let contentions = call.work.closures.contentions();
        slot.counters.contended.add(contentions);
    }
    value_or_resume(value, into_inner(call.work.panics))
}

impl fmt::Debug for Scope<'_> {
    /// Without the slots, whose state other threads must not read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("closures", &self.closures)
            .finish_non_exhaustive()
    }
}

impl<'scope> Scope<'scope> {
    /// Spawns a closure, which gets the scope to spawn more.
    ///
    /// Closures start in the order of their spawning. They run on any thread of the runtime, or on the caller of
    /// [`scope`] when its body has ended.
    ///
    /// # Cost
    /// One allocation and one atomic read-modify-write, and one more where a closure of the scope spawns. Does not
    /// block.
    ///
    /// # Panics
    /// A panic of `closure` resumes where the [`scope`] ends.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let count = AtomicU32::new(0);
    /// manyhands::scope(|s| {
    ///     s.spawn(|s| {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///         s.spawn(|_| { count.fetch_add(1, Ordering::Relaxed); });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    #[doc(alias = "spawn_fifo")]
    pub fn spawn<F>(&self, closure: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        let spawned = block::allocate(Spawned {
            job: Job::new(const { &JobKind::new(Spawned::<F>::perform) }),
            scope: ptr::from_ref(self).cast(),
            closure,
        });
        // SAFETY: 1. valid until it is performed, which `run_scope` waits for; 2. new.
        let job = unsafe { Unqueued::new(spawned.cast().as_ptr()) };
        let sleeper = self.closures.push(job, self.spawner());
        if let Some((slot, helper_slot)) = self.place {
            helper_slot.invite();
            match sleeper {
                // The owner can do nothing else, so it is woken first.
                Some(owner) => WorkerSlot::wake(owner),
                None => slot.runtime().wake_if_nobody_searches(),
            }
        }
    }

    fn spawner(&self) -> Spawner {
        match (current::slot(), self.owner) {
            (Some(here), Some(owner)) if here.is(owner) => Spawner::Owner,
            _ => Spawner::Other,
        }
    }

    /// Owner: runs the body, then waits for all closures. Does not unwind.
    fn run_to_end<R>(
        &self,
        slot: Option<&'static OccupiedSlot>,
        place: Option<OpenCall>,
        body: impl FnOnce(&Self) -> R,
    ) -> Result<R, Payload> {
        if let Some(place) = place {
            place.helper_slot.dismiss();
            place.slot.runtime().arm_monitor();
        }
        let value = catch(|| body(self));
        self.closures.settle_body();
        self.run_queued(slot);
        match place {
            Some(OpenCall { slot, helper_slot }) => {
                wait::for_scope(slot, &self.closures, helper_slot, &|| {
                    self.closures.is_any_queued() && {
                        // The closures that run on top of the wait do not belong to the awaited execution.
                        slot.set_awaiting(ExecutionId::UNKNOWN);
                        self.run_queued(Some(slot))
                    }
                });
            }
            None => {
                // No other thread runs the closures; one may be in the middle of spawning one.
                let mut backoff = Backoff::default();
                while !self.closures.is_over() {
                    if self.run_queued(slot) {
                        backoff.reset();
                    }
                    backoff.wait();
                }
            }
        }
        assert!(
            self.closures.is_over(),
            "a scope ends with every closure finished"
        );
        value
    }

    /// Runs queued closures until none can be taken, or `RUN_TOGETHER_MAX` have been run. Returns whether there was
    /// one.
    fn run_queued(&self, slot: Option<&'static OccupiedSlot>) -> bool {
        let run = |job| match slot {
            Some(slot) => run_loop::perform(slot, FoundWork::Job(job), RunPermit::new()),
            None => {
                Job::perform(job, Action::Run(ExecutionId::UNKNOWN), RunPermit::new());
            }
        };
        self.closures
            .run_queued(RUN_TOGETHER_MAX, run, WorkerSlot::wake)
    }

    /// Helper: leaves.
    fn leave(&self) {
        if let Some((_, helper_slot)) = self.place
            && let Some(owner) = self.closures.leave(helper_slot)
        {
            WorkerSlot::wake(owner);
        }
    }
}

impl HelpedWork for Scope<'_> {
    /// Runs closures until none is left.
    fn help(&self, slot: Option<&'static OccupiedSlot>) {
        let mut yield_check = slot.and_then(YieldCheck::of);
        let mut spins_left = 2 * SPINS;
        while spins_left > 0 {
            spins_left = if self.run_queued(slot) {
                2 * SPINS
            } else {
                spins_left - SPINS / 2
            };
            if yield_check.as_mut().is_some_and(YieldCheck::is_wanted) {
                return self.leave();
            }
            // The spawner may be about to spawn more; looks at the queue would slow it down. After about half a microsecond
            // the helper empties a queue that has filled up meanwhile without contention for each closure.
            (0..SPINS / 2).for_each(|_| spin_loop());
        }
        if let Some((_, helper_slot)) = self.place {
            helper_slot.dismiss();
        }
        self.leave();
    }

    fn note_panic(&self, payload: Payload) {
        lock(&self.panics).push(payload);
    }
}

/// Closures that are run between two yield checks, which spreads the cost of the check.
const RUN_TOGETHER_MAX: usize = if cfg!(shuttle) {
    2
} else {
    GLOBAL_QUEUE_INTERVAL_MAX as usize
};

/// A spawned closure in its cell.
#[repr(C)]
struct Spawned<F> {
    job: Job,
    scope: *const Scope<'static>,
    closure: F,
}

impl<'scope, F: FnOnce(&Scope<'scope>) + Send + 'scope> Spawned<F> {
    /// See [`Job::perform`]. A scope outlives its runtime's closing, so its closures are always run.
    unsafe fn perform(job: *mut Job, _action: Action<'_>) -> bool {
        // SAFETY: a job is never null.
        let spawned = unsafe { NonNull::new_unchecked(job.cast::<Self>()) };
        // SAFETY: the job is the first field of a cell allocated by `spawn`, performed once.
        let spawned = unsafe { block::free(spawned) };
        let scope = spawned.scope.cast::<Scope<'scope>>();
        // SAFETY: the scope stays in place while one of its closures is unfinished.
        let scope = unsafe { &*scope };
        let closure = spawned.closure;
        if let Err(payload) = catch(|| closure(scope)) {
            scope.note_panic(payload);
        }
        true
    }
}
