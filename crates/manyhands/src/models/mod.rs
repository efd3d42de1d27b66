//! Model checks: loom runs each small program here in every order of its operations, with a bound on preemptions,
//! and with every stale value that the orderings allow a load to return.
//!
//! One file per protocol. Each says its threads, their operations, and the property; the bound is that of
//! `LOOM_MAX_PREEMPTIONS`, 2 where it is not set, and higher where the file says so. Constants shrink under
//! loom (a deque begins with two slots), and the light and the heavy fence are both SeqCst fences.
//!
//! A thread that is not woken shows as a deadlock, because everything else then ends. A use of memory
//! after its end, or unordered with it, shows through [`Memory`]; work done twice or seen half through
//! [`Work`].
//!
//! Not shown: reorderings of a load with a later store, which loom does not explore, and the code above
//! the protocols. No step is written out here: a model has threads, a property and a bound (rule `steps`).

mod call_site;
mod cancel;
mod channel;
mod channel_receiver_batch;
mod channel_to_all;
mod completion;
mod deque;
mod execution;
mod forced;
mod helper_slot;
mod idle;
mod latch;
mod poller;
mod pool;
mod ranges;
mod ready_set;
mod refused_list;
mod scope;
mod sharded_queue;
mod short_lock;
mod shutdown;
mod signal;
mod spare;
mod task;
mod task_queue;
mod task_registry;
mod timer;
mod tracker;
mod turns;
mod unshared_calls;
mod wheels;

use crate::job::ExecutionId;
use crate::queue::{Linked, Unqueued};
use crate::runtime::fork_join::waiting;
use crate::runtime::{HelperSlot, Rest};
use crate::sync::Parker;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Runs `program` in every order within the bounds.
fn check(program: impl Fn() + Sync + Send + 'static) {
    check_deeper(PREEMPTIONS_MAX, program);
}

/// Like [`check`], with at least this many preemptions: for two threads with many operations.
fn check_deeper(preemptions_min: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    let bound = builder.preemption_bound.unwrap_or(PREEMPTIONS_MAX);
    builder.preemption_bound = Some(bound.max(preemptions_min));
    builder.max_branches = BRANCHES_MAX;
    builder.check(program);
}

/// Starts another thread of a model, with a clone of what the threads share.
fn beside<S: Clone + 'static, T: 'static>(
    shared: &S,
    part: impl FnOnce(S) -> T + 'static,
) -> thread::JoinHandle<T> {
    let shared = shared.clone();
    thread::spawn(move || part(shared))
}

/// Waits until all of these threads have ended.
fn join_all<T>(threads: impl IntoIterator<Item = thread::JoinHandle<T>>) {
    for thread in threads {
        thread.join().expect("the model fails at once");
    }
}

/// Polls once, for a waiter that is never woken and gives up.
fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Two find the known kinds of protocol error in minutes.
const PREEMPTIONS_MAX: usize = 2;
/// Operations of one run; more means that it does not end.
const BRANCHES_MAX: usize = 10_000;

/// Counts for the property of a model. Orders nothing, so that it hides no missing order.
#[derive(Debug)]
struct Count(AtomicUsize);

impl Count {
    fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Adds; returns how many there were before.
    fn add(&self, count: usize) -> usize {
        // Relaxed: see the type.
        self.0.fetch_add(count, Ordering::Relaxed)
    }

    /// Subtracts; returns how many there were before.
    fn sub(&self, count: usize) -> usize {
        // Relaxed: see the type.
        self.0.fetch_sub(count, Ordering::Relaxed)
    }

    /// How many there are, or were: for a thread that synchronised by other means.
    fn now(&self) -> usize {
        // Relaxed: see the type.
        self.0.load(Ordering::Relaxed)
    }
}

/// Something that has happened, for the property of a model, or for what only the model's own threads wait for.
/// Orders nothing.
#[derive(Debug)]
struct Flag(AtomicBool);

impl Flag {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Sets it; returns whether it was set before.
    fn set(&self) -> bool {
        // Relaxed: as for `Count`.
        self.0.swap(true, Ordering::Relaxed)
    }

    /// Takes it back; returns whether it was set.
    fn take(&self) -> bool {
        // Relaxed: as for `Count`.
        self.0.swap(false, Ordering::Relaxed)
    }

    fn is_set(&self) -> bool {
        // Relaxed: as for `Count`.
        self.0.load(Ordering::Relaxed)
    }
}

/// A thread that waits for something that wakes it.
#[derive(Debug)]
struct Waiter(Parker);

impl Waiter {
    fn new() -> Arc<Self> {
        Arc::new(Self(Parker::default()))
    }

    fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Polls until ready, and sleeps in between.
    fn wait<R>(self: &Arc<Self>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
        let waker = self.waker();
        loop {
            if let Poll::Ready(result) = poll(&mut Context::from_waker(&waker)) {
                return result;
            }
            self.0.park();
        }
    }
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a latch, a joiner or the like, with nothing to help with.
fn wait_asleep(parker: &Parker, is_over: impl Fn() -> bool, fall_asleep: impl Fn() -> bool) {
    waiting::for_work(&mut Asleep(parker), &is_over, &|| false, &fall_asleep);
}

/// A thread that waits as one of the runtime does, but neither spins nor lingers.
struct Asleep<'a>(&'a Parker);

impl waiting::Waiter for Asleep<'_> {
    fn spin(&mut self) -> bool {
        false
    }

    fn has_helped(&mut self) {}

    fn linger(&mut self) -> bool {
        false
    }

    fn prepare_to_sleep(&self) {}

    /// A brief rest lasts until another thread has made a step.
    fn sleep(&self, rest: Rest, is_asleep: &dyn Fn() -> bool) {
        rest.while_asleep(is_asleep, || match rest {
            Rest::Brief => thread::yield_now(),
            Rest::No | Rest::Long => self.0.park(),
        });
    }
}

/// A helper comes to the call that is open in `slot`, if there is one; its owner sleeps in `parker`.
fn help(slot: &HelperSlot, parker: &Parker, own_slot: u16, helped: impl FnOnce()) {
    if let Some(pin) = slot.try_enter() {
        let execution = ExecutionId::new(own_slot, 0, 1);
        pin.take_part(execution, helped, || parker.unpark());
    }
}

/// Stands for memory that its owner frees: a frame on a stack, a cell on the heap.
#[derive(Debug)]
struct Memory {
    freed: UnsafeCell<bool>,
}

impl Memory {
    fn new() -> Self {
        Self {
            freed: UnsafeCell::new(false),
        }
    }

    /// An access by a thread for which it must be valid.
    fn touch(&self) {
        assert!(!self.is_freed(), "memory is touched after its end");
    }

    /// Whether it was freed. The caller must have learnt that it was, or was not, by synchronisation.
    fn is_freed(&self) -> bool {
        // SAFETY: loom fails the model if a `free` is not ordered before or after.
        self.freed.with(|freed| unsafe { *freed })
    }

    /// Frees it. No thread may touch it meanwhile or later.
    fn free(&self) {
        // SAFETY: loom fails the model if any access is not ordered before or after.
        let before = self.freed.with_mut(|freed| unsafe { freed.replace(true) });
        assert!(!before, "memory is freed twice");
    }
}

// SAFETY: loom's cell forbids it, but finds every unordered pair of accesses.
unsafe impl Sync for Memory {}

/// A piece of work that must be done once: a job, a task, an entry of a deque.
#[derive(Debug)]
struct Work {
    link: AtomicPtr<Self>,
    number: usize,
    times_done: UnsafeCell<u32>,
}

impl Work {
    fn new(number: usize) -> Self {
        Self {
            link: AtomicPtr::new(ptr::null_mut()),
            number,
            times_done: UnsafeCell::new(0),
        }
    }

    fn some<const COUNT: usize>() -> [Self; COUNT] {
        std::array::from_fn(Self::new)
    }

    fn as_ptr(&self) -> *mut Self {
        ptr::from_ref(self).cast_mut()
    }

    /// For a queue.
    fn unqueued(&self) -> Unqueued<Self> {
        // SAFETY: 1. nothing is freed before the model's end; 2. work that is queued twice is done twice, which shows.
        unsafe { Unqueued::new(self.as_ptr()) }
    }

    /// The work from a queue.
    fn taken<'a>(work: Unqueued<Self>) -> &'a Self {
        Self::at(work.into_raw())
    }

    /// The work behind a pointer. Nothing is freed before the model's end.
    fn at<'a>(work: *mut Self) -> &'a Self {
        // SAFETY: all work lives in an `Arc` that the model keeps until its threads have ended.
        unsafe { &*work }
    }

    /// Writes it anew, as its owner does before it gives it to a queue.
    fn prepare(&self) {
        // SAFETY: loom fails the model if another access is not ordered before or after.
        self.times_done.with_mut(|times| unsafe { *times = 0 });
    }

    /// Does it.
    fn run(&self) {
        // loom fails the model if another access is not ordered before or after.
        let times = self.times_done.with_mut(|times| {
            // SAFETY: see above.
            let times = unsafe { &mut *times };
            *times += 1;
            *times
        });
        assert_eq!(times, 1, "work {} is done twice", self.number);
    }

    /// Whether it was done. The caller must have learnt that it was, or was not, by synchronisation.
    fn is_done(&self) -> bool {
        // SAFETY: loom fails the model if a `run` is not ordered before or after.
        self.times_done.with(|times| unsafe { *times }) == 1
    }
}

// SAFETY: as for `Memory`.
unsafe impl Sync for Work {}

// SAFETY: `link` is always the work's own field, used by nothing else.
unsafe impl Linked for Work {
    unsafe fn link<'a>(work: *mut Self) -> &'a AtomicPtr<Self> {
        // SAFETY: valid by the caller's promise.
        unsafe { &(*work).link }
    }
}
