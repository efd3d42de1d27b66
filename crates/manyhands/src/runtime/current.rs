//! Which seat the calling thread occupies, and which runtime its calls go to.
//!
//! Each thread has a stack of what it has entered and where it has sat down. Guards may be dropped in any
//! order, or never: each takes its own entry out, and an entry keeps its runtime's memory alive. Only tokio's,
//! which a guard may hold, insists on the order.
//!
//! # An entry that is left for ever
//! A worker on whose thread a task has forgotten a guard of another runtime has, as seen from here, no seat while
//! that runtime is open: what it spawns goes to that one, what it wakes goes the way of a thread from outside, and a
//! call that needs a seat takes a guest's. The worker itself never asks here where it sits: it looks for work, sleeps
//! and ends by the seat that it was given, and `WORKER` says whose bound tasks it may queue. So it neither spins nor
//! sleeps too long. When the other runtime is closed its entry is skipped, but for the seat.
//!
//! Not here: what is done there.
//!
//! Unsafe: woken tasks are queued by pointer, and find their runtime through their home.

use crate::job::{Home, Job, Place};
use crate::runtime::idle::Activity;
use crate::runtime::seat::{Occupant, Seat};
use crate::runtime::surroundings::Surrounded;
use crate::runtime::waking::{self, Ring};
use crate::runtime::{Priority, Runtime, Shared, refused, worker};
use crate::sync::{process, thread_state};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, OnceLock};

crate::sync::thread_local! {
    /// The seat that calls use now: what [`recompute`] found in the stack.
    static SEAT: Cell<Option<&'static Seat>> = const { Cell::new(None) };
    /// The seat of a worker thread, whatever it has entered since.
    static WORKER: Cell<Option<&'static Seat>> = const { Cell::new(None) };
    static STACK: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
    static NEXT_ID: Cell<u64> = const { Cell::new(0) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// One entry of a thread's stack.
struct Frame {
    id: u64,
    shared: Arc<Shared>,
    /// The seat, if the thread has sat down and not only entered.
    seat: Option<&'static Seat>,
}

/// The seat of the calling thread, if it is a worker or a guest of the runtime that is current.
#[inline(always)]
pub(crate) fn seat() -> Option<&'static Seat> {
    SEAT.get()
}

/// The seat of the calling thread, if it is a worker, with its runtime; whatever it has entered since.
#[inline]
pub(crate) fn worker() -> Option<(&'static Seat, &'static Shared)> {
    let seat = WORKER.get()?;
    Some((seat, seat.runtime()))
}

/// The seat of the calling thread with its runtime, if it takes part in one.
#[inline]
pub(crate) fn seat_of_runtime() -> Option<(&'static Seat, &'static Shared)> {
    let seat = seat()?;
    Some((seat, seat.runtime_or_none()?))
}

/// Queues a task that was taken out of its home, to be run or dropped there: on a thread that takes part in
/// the task's runtime at the back of its own queue, else at the back of the runtime's.
///
/// # Safety
/// `job` is registered in `home` at `place`, in no queue, and the caller's to queue.
pub(crate) unsafe fn requeue(home: &'static Home, place: Place, job: *mut Job, caller: Caller) {
    if let Some((seat, shared)) = seat_of_runtime()
        && ptr::eq(shared.home(), home)
    {
        let ring = if seat.is_worker() {
            ring_for(seat, caller)
        } else {
            Ring::Others
        };
        // SAFETY: valid until it is taken, by the caller's promise, and the seat is this thread's.
        unsafe { waking::queue(shared, &seat.hold, &seat.tasks, job, ring) };
        return;
    }
    home.during_visit(place.shard(), |runtime| {
        // SAFETY: a home with a registered task belongs to a runtime, which does not end during a visit. Held by
        // `models/home.rs` and `models/shutdown.rs`.
        let shared = unsafe { &*runtime.cast::<Shared>() };
        // SAFETY: valid until it is taken, by the caller's promise.
        unsafe { shared.inject(job) };
    });
}

/// Whom to ring for a task that the worker on `seat` queues now. Nobody if it will soon come to that itself; then
/// others leave it alone for a moment.
fn ring_for(seat: &Seat, caller: Caller) -> Ring {
    // Only this thread pushes: if the queue is empty the task will be the first.
    let is_first = seat.tasks.is_empty();
    let is_away = caller == Caller::Other || seat.times_away.get() > 0;
    if is_first && !is_away {
        Ring::NobodyAndHold
    } else if (is_first && seat.is_turning.get())
        // What is held is the task that has made the polled one use up its budget.
        || (!is_away && caller == Caller::SpentTask && seat.hold.is_on())
    {
        Ring::Nobody
    } else {
        Ring::Others
    }
}

/// Queues a task that was taken out of its home, in the lane of its priority, which is not the usual one.
///
/// # Safety
/// As for [`requeue`].
pub(crate) unsafe fn requeue_in_lane(
    home: &'static Home,
    place: Place,
    job: *mut Job,
    priority: Priority,
) {
    home.during_visit(place.shard(), |runtime| {
        // SAFETY: a home with a registered task belongs to a runtime, which does not end during a visit. Held by
        // `models/home.rs` and `models/shutdown.rs`.
        let shared = unsafe { &*runtime.cast::<Shared>() };
        // SAFETY: valid until it is taken, by the caller's promise.
        unsafe { shared.queue_in_lane(job, priority) };
    });
}

/// What the calling thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A worker polls a task, and will soon look for the next. If it is kept from that after all, the monitor
    /// finds somebody.
    Poll,
    /// A worker has polled the task itself, which goes on later, and will now look for the next.
    PolledTask,
    /// As that, and the task has quickly used up its budget.
    SpentTask,
    /// Something that may take long.
    Other,
}

/// Queues a task that belongs to the worker on `seat`, and sees to it that the worker comes for it.
///
/// # Safety
/// `job` is registered in the home of the seat's runtime, in no queue, and the caller's to queue.
pub(crate) unsafe fn requeue_local(owner: &'static Seat, job: *mut Job) {
    if WORKER.get().is_some_and(|seat| ptr::eq(seat, owner)) {
        // SAFETY: valid until it is taken, by the caller's promise. Taken by this very thread.
        unsafe { owner.local.push(job) };
        return;
    }
    // While the task is registered and in no queue, the runtime does not end.
    let shared = owner.runtime();
    shared.home().during_visit(owner.number.into(), |_| {
        // SAFETY: valid until it is taken, by the caller's promise.
        unsafe { owner.local.push(job) };
        shared.wake_worker(owner);
    });
}

/// Calls `f` with the runtime of the calling thread: that of its seat, else the entered one, else the
/// default one, which is made if need be.
pub(crate) fn with_runtime<R>(f: impl FnOnce(&Shared) -> R) -> R {
    if let Some(seat) = seat() {
        return f(seat.runtime());
    }
    process::refuse_forked();
    match entered() {
        Some(shared) => f(&shared),
        None => f(default_runtime().shared()),
    }
}

/// The runtime entered last that has not been closed.
fn entered() -> Option<Arc<Shared>> {
    let newest_open = |stack: &RefCell<Vec<Frame>>| {
        let stack = stack.borrow();
        let frame = stack.iter().rev().find(|frame| !frame.shared.is_closing());
        frame.map(|frame| Arc::clone(&frame.shared))
    };
    // A thread that is ending has no stack any more.
    STACK.try_with(newest_open).ok().flatten()
}

/// Puts an entry on the stack; returns what takes it out again.
fn push(shared: Arc<Shared>, seat: Option<&'static Seat>) -> u64 {
    let id = NEXT_ID.get();
    NEXT_ID.set(id + 1);
    // A thread that is ending has no stack any more, and no use for one.
    let _ = STACK.try_with(|stack| {
        stack.borrow_mut().push(Frame { id, shared, seat });
        recompute(&stack.borrow());
    });
    id
}

/// Takes an entry out, wherever it is.
fn remove(id: u64) {
    let removed = STACK.try_with(|stack| {
        let mut frames = stack.borrow_mut();
        let index = frames.iter().rposition(|frame| frame.id == id)?;
        let removed = frames.remove(index);
        recompute(&frames);
        Some(removed)
    });
    // Dropped only now, because the last owner of a runtime may itself look at the stack.
    drop(removed);
}

/// Finds the seat that calls use: the newest one in the runtime that was entered last.
fn recompute(stack: &[Frame]) {
    let seat = stack.last().and_then(|newest| {
        let same = |frame: &&Frame| Arc::ptr_eq(&frame.shared, &newest.shared);
        stack.iter().rev().filter(same).find_map(|frame| frame.seat)
    });
    SEAT.set(seat);
}

/// The runtime that is used where no other is current.
pub(crate) fn default_runtime() -> &'static Runtime {
    static DEFAULT: OnceLock<Runtime> = OnceLock::new();
    DEFAULT.get_or_init(Runtime::with_defaults)
}

/// Makes a runtime the current one of this thread until dropped. See [`Runtime::enter`].
#[derive(Debug)]
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'runtime> {
    id: u64,
    _surrounded: Surrounded<'runtime>,
    /// Not `Send`: it speaks of this thread.
    borrowed: PhantomData<(&'runtime Runtime, *const ())>,
}

impl<'runtime> EnterGuard<'runtime> {
    pub(crate) fn new(runtime: &'runtime Runtime) -> Self {
        refused::try_again();
        Self {
            id: push(runtime.shared().to_arc(), None),
            _surrounded: runtime.shared().settings.surroundings.enter(),
            borrowed: PhantomData,
        }
    }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        remove(self.id);
    }
}

/// A thread's stay on a seat: a worker's for life, a guest's for one outermost call.
#[derive(Debug)]
pub(crate) struct Stay {
    seat: &'static Seat,
    id: u64,
    /// The worker's seat that the thread had before, if this is a simulation on top of it.
    before: Option<&'static Seat>,
}

impl Stay {
    /// Sits the calling thread down.
    pub(crate) fn begin(shared: Arc<Shared>, seat: &'static Seat) -> Self {
        if THREAD.get() == 0 {
            THREAD.set(thread_state::current_thread());
        }
        let before = WORKER.get();
        if seat.is_worker() {
            WORKER.set(Some(seat));
        }
        seat.set_thread(THREAD.get());
        seat.set_occupant(Occupant::Running);
        Self {
            seat,
            id: push(shared, Some(seat)),
            before,
        }
    }
}

impl Drop for Stay {
    /// Whoever sits down here next is another thread, so nothing may be left that only this one may poll. Waiting
    /// tasks of that kind are gone before a worker ends (`Shared::is_over`, `SpareTime`); what a hook, a waker or a
    /// destructor has spawned since is dropped here, while the thread still is the worker, until nothing is left.
    fn drop(&mut self) {
        if self.seat.is_worker() {
            worker::discard_local(self.seat.runtime(), self.seat);
            self.seat.hosts_tasks.set(false);
        }
        remove(self.id);
        if self.seat.is_worker() {
            WORKER.set(self.before);
        }
        self.seat.is_not_blocked();
        self.seat.set_occupant(Occupant::None);
    }
}

/// An outside thread's stay, as one of the threads that run.
#[derive(Debug)]
pub(crate) struct Guest {
    shared: Arc<Shared>,
    stay: Option<Stay>,
}

impl Guest {
    /// Sits down. `None` when every guest seat is taken: then the call is the thread's alone.
    pub(crate) fn sit_down(shared: &Shared) -> Option<Self> {
        process::refuse_forked();
        let seat = shared.take_guest_seat()?;
        shared.idle.begin(Activity::Guest);
        let shared = shared.to_arc();
        let stay = Stay::begin(Arc::clone(&shared), seat);
        Some(Self {
            shared,
            stay: Some(stay),
        })
    }

    /// The seat.
    pub(crate) fn seat(&self) -> Option<&'static Seat> {
        self.stay.as_ref().map(|stay| stay.seat)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(seat) = self.seat() {
            self.stay = None;
            self.shared.give_guest_seat_back(seat);
        }
        waking::end_stay(&*self.shared);
    }
}

/// Calls `f` with the seat of the calling thread, which sits down as a guest of the current runtime if it
/// has none. `f` gets `None` when every guest seat is taken.
pub(crate) fn with_seat<R>(f: impl FnOnce(Option<&'static Seat>) -> R) -> R {
    match seat() {
        Some(seat) => f(Some(seat)),
        None => with_runtime(|shared| {
            let guest = Guest::sit_down(shared);
            f(guest.as_ref().and_then(Guest::seat))
        }),
    }
}
