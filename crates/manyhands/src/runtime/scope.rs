//! Scopes: any number of spawned closures that borrow from outside, all finished when the scope ends.
//!
//! A scope is a call that its owner leaves open (`open.rs`): workers come and take its closures from its
//! own queue, and the owner takes them too when its body is done. So a scope waits for its own closures
//! only, and what it runs while it waits is its own.
//!
//! # Who may touch the call
//! The owner until `scope` returns; helpers while they hold a pin; a closure's performer, which is one of
//! these. `unfinished` counts the closures spawned and not yet finished; whoever brings it to zero sets the
//! latch, and only then does the owner go on to close the slot and wait for the pins.
//!
//! Counting one by one would cost a fight over the count for each closure. So what the owner spawns while
//! the body runs is counted by the owner alone and settled when the body ends; until then a large number
//! stands for it, so that the count cannot reach zero. And who runs closures counts them off together, when
//! it finds no more.
//!
//! Unsafe: closures borrow for `'scope`, which is erased in the queue.

use crate::job::{
    Action, ExecutionId, Job, JobKind, Latch, Payload, SeatNumber, block, catch, value_or_resume,
};
use crate::queue::TaskQueue;
use crate::runtime::open::{OpenSlot, Shared as OpenCall};
use crate::runtime::seat::Seat;
use crate::runtime::worker::{self, Found};
use crate::runtime::{Attention, OpenPlace, current, keep_open, wait};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Backoff, Mutex, into_inner, lock, spin_loop};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Spawns closures that may borrow everything that outlives the scope. Made by [`scope`].
#[derive(Debug)]
#[repr(C)]
pub struct Scope<'scope> {
    open: OpenCall,
    queue: TaskQueue<Job>,
    unfinished: AtomicUsize,
    /// Closures spawned by the owner while the body runs; afterwards `SETTLED`. Only the owner's thread
    /// touches it.
    spawned_by_body: AtomicUsize,
    latch: Latch,
    /// The owner's seat.
    owner: Option<SeatNumber>,
    /// Where helpers find the scope; `None` when the owner has too many calls open already.
    slot: Option<&'static OpenSlot>,
    panics: Mutex<Vec<Payload>>,
    /// Invariant: a longer or a shorter `'scope` would both let borrows escape.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Runs `body`, which may spawn closures, and returns when all of them have finished.
///
/// Closures may borrow everything that outlives the call, and may spawn more of the same scope.
///
/// # Cost
/// One allocation and one atomic read-modify-write for each spawn, and one more where a closure spawns.
/// Spawning neither waits nor runs anything, so what is spawned faster than run takes memory.
///
/// # Blocking
/// At its end the caller runs closures of this scope, then waits for those that run elsewhere. It never
/// runs anything else, so a lock may be held across a scope.
///
/// # Panics
/// All closures are run even if some panic, or the body does; then the panic goes on, or, if there were
/// several, an [`AggregatePanic`](crate::AggregatePanic).
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
/// What is made inside cannot be borrowed, because a closure may outlive it:
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
#[doc(alias = "AttachedToParent")]
pub fn scope<'scope, R>(body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    current::with_seat(|seat| run_scope(seat, body))
}

fn run_scope<'scope, R>(seat: Option<&'static Seat>, body: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let place = seat.and_then(OpenPlace::next);
    let scope = Scope {
        open: OpenCall::new(help),
        queue: TaskQueue::new(),
        unfinished: AtomicUsize::new(BODY),
        spawned_by_body: AtomicUsize::new(0),
        latch: Latch::new(),
        owner: seat.map(|seat| seat.number),
        slot: place.map(|place| place.slot),
        panics: Mutex::new(Vec::new()),
        borrows: PhantomData,
    };
    // SAFETY: `scope` stays in place, here and below.
    let value = unsafe {
        keep_open(place, &raw const scope.open, || {
            scope.run_to_end(seat, place, body)
        })
    };
    if let Some(seat) = seat {
        seat.counters.contended.add(scope.queue.contentions());
    }
    value_or_resume(value, into_inner(scope.panics))
}

impl<'scope> Scope<'scope> {
    /// Spawns a closure, which is given the scope to spawn more.
    ///
    /// Closures are started in the order of their spawning; they run on any thread of the runtime, or on
    /// the caller of [`scope`] when its body is done.
    pub fn spawn<F>(&self, closure: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        self.count_spawned();
        let spawned = block::allocate(Spawned {
            job: Job::new(const { &JobKind::new(Spawned::<F>::perform) }),
            scope: ptr::from_ref(self).cast(),
            closure,
        });
        // SAFETY: valid until taken from the queue and performed, which `run_scope` waits for.
        unsafe { self.queue.push(spawned.as_ptr().cast()) };
        if let Some(slot) = self.slot {
            slot.invite();
            current::with_runtime(|shared| shared.wake_if_nobody_searches());
        }
    }

    /// Owner: runs the body, then waits for everything that was spawned. Does not unwind.
    fn run_to_end<R>(
        &self,
        seat: Option<&'static Seat>,
        place: Option<OpenPlace>,
        body: impl FnOnce(&Self) -> R,
    ) -> Result<R, Payload> {
        if let Some(place) = place {
            place.slot.dismiss();
            place.seat.runtime().arm_monitor();
        }
        let value = catch(|| body(self));
        self.settle_body();
        self.run_queued(seat);
        match place {
            Some(OpenPlace { seat, slot }) => {
                wait::for_scope(seat, &self.latch, slot, &|| {
                    !self.queue.is_empty() && {
                        // What runs on top of the wait is not what it waits for.
                        seat.set_awaiting(ExecutionId::UNKNOWN);
                        self.run_queued(Some(seat))
                    }
                });
            }
            None => {
                // Nobody else runs the closures; somebody may be in the middle of spawning one.
                let mut backoff = Backoff::default();
                while !self.latch.is_final() {
                    if self.run_queued(seat) {
                        backoff.reset();
                    }
                    backoff.wait();
                }
            }
        }
        assert!(
            self.latch.is_final(),
            "a scope ends with every closure finished"
        );
        value
    }

    /// Runs queued closures until none can be taken just now, or many have been run; returns whether there
    /// was one.
    fn run_queued(&self, seat: Option<&'static Seat>) -> bool {
        let mut finished = 0;
        while finished < RUN_TOGETHER_MAX
            && let Some(run) = self.queue.take(1)
        {
            finished += 1;
            match seat {
                Some(seat) => worker::perform(seat, Found::Job(run.first)),
                // SAFETY: 1. and 2.: taken from the queue just now.
                None => unsafe {
                    Job::perform(run.first, Action::Run(ExecutionId::UNKNOWN));
                },
            }
        }
        self.count_finished(finished);
        finished > 0
    }

    fn count_spawned(&self) {
        let here = current::seat().map(|seat| seat.number);
        if here.is_some() && here == self.owner {
            // Relaxed, both: only the owner's thread touches this count.
            let spawned = self.spawned_by_body.load(Ordering::Relaxed);
            if spawned != SETTLED {
                self.spawned_by_body.store(spawned + 1, Ordering::Relaxed);
                return;
            }
        }
        // Relaxed: the spawner is itself counted, so the count cannot reach zero before.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// Owner, when the body has ended: from now on the count is of closures alone.
    fn settle_body(&self) {
        // Relaxed, both: only the owner's thread touches this count.
        let spawned = self.spawned_by_body.load(Ordering::Relaxed);
        self.spawned_by_body.store(SETTLED, Ordering::Relaxed);
        self.count_finished(BODY - spawned);
    }

    /// So many of the counted have finished.
    fn count_finished(&self, count: usize) {
        let latch = &raw const self.latch;
        // AcqRel: each finisher's writes reach the last one, which passes them on through the latch.
        if count > 0 && self.unfinished.fetch_sub(count, Ordering::AcqRel) == count {
            // SAFETY: the last one to count off is the owner, or holds a pin that keeps the scope in place.
            if let Some(sleeper) = unsafe { Latch::set(latch) } {
                Seat::wake(sleeper);
            }
        }
    }
}

/// A helper's part: takes closures until none is left.
///
/// # Safety
/// `open` heads a scope that the caller has pinned.
unsafe fn help(open: *const OpenCall) {
    // SAFETY: the head is the scope's first field, and the pin keeps it in place.
    let scope = unsafe { &*open.cast::<Scope<'_>>() };
    let seat = current::seat();
    let mut attention = seat.and_then(Attention::of);
    let mut lingered = 0;
    while lingered < LINGERS_MAX {
        lingered = if scope.run_queued(seat) {
            0
        } else {
            lingered + 1
        };
        if attention.as_mut().is_some_and(Attention::is_wanted) {
            return;
        }
        // The spawner may be about to spawn more: let it, undisturbed by looks at its queue.
        (0..SPINS_BETWEEN_LOOKS).for_each(|_| spin_loop());
    }
    if let Some(slot) = scope.slot {
        slot.dismiss();
        if !scope.queue.is_empty() {
            // Pushed since, or half pushed, or just being taken: somebody is to look again.
            slot.invite();
        }
    }
}

/// Stands for the body and what it spawns until it has ended: more than can be spawned.
const BODY: usize = 1 << (usize::BITS - 1);
/// The body has ended.
const SETTLED: usize = usize::MAX;
/// Closures that are run between two looks at what else there is: the price of looking is spread over them.
const RUN_TOGETHER_MAX: usize = 64;
/// Looks at the empty queue before a helper leaves.
const LINGERS_MAX: u32 = 4;
/// About half a microsecond: a queue that fills up meanwhile is emptied without a fight over each closure.
const SPINS_BETWEEN_LOOKS: u32 = 32;

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
            lock(&scope.panics).push(payload);
        }
        true
    }
}
