//! Running a future to its end on the calling thread.
//!
//! The thread's slot has a signal that the future's waker raises. Slots are never freed, so wakers need
//! not be counted, and a late one does no harm: it causes a superfluous poll.
//!
//! Unsafe: a waker is a pointer to a slot.

use crate::job::{ExecutionId, InPlace, OnDrop};
use crate::recording::{self, Site};
use crate::runtime::{OccupiedSlot, WorkerSlot, current, wait};
use crate::task::budget;
use std::pin::pin;
use std::ptr;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// Runs `future` to its end on the calling thread.
///
/// The future need not be `Send`. Tasks that it spawns run on the current runtime, not on this thread.
///
/// # Blocking
/// Until the future is ready. On a thread of the pool, each wait is declared as blocking, and
/// another worker runs in its place; the calling thread runs nothing unrelated. Inside a task,
/// await instead: there, as on other threads, a part of the future that is always ready leaves the others a turn, and on a
/// thread of the pool it does not.
///
/// # Panics
/// If the future does; and where the system has refused every thread of the runtime for ten seconds while work waits for
/// one ([`RuntimeBuilder::build`](crate::RuntimeBuilder::build)).
///
/// # Examples
/// ```
/// use manyhands::task;
/// let sum = task::block_on(async {
///     let (a, b) = (task::spawn(async { 1 }), task::run(|| 2));
///     a.await.unwrap() + b.await.unwrap()
/// });
/// assert_eq!(sum, 3);
/// ```
#[doc(alias("tokio::main", "GetAwaiter().GetResult"))]
#[cfg_attr(feature = "inspect", track_caller)]
pub fn block_on<F: Future>(future: F) -> F::Output {
    block(future, Site::here(), wait::for_task)
}

/// [`block_on`] for a future that becomes ready without any thread of the pool, so that nothing is ever given up.
#[cfg_attr(feature = "inspect", track_caller)]
pub(crate) fn block_on_timer<F: Future>(future: F) -> F::Output {
    block(future, Site::here(), wait::for_work)
}

type Wait =
    fn(&'static OccupiedSlot, &dyn Fn() -> bool, &dyn Fn() -> ExecutionId, &dyn Fn() -> bool);

fn block<F: Future>(future: F, site: Site, wait: Wait) -> F::Output {
    match current::slot() {
        Some(slot) => poll_on(slot, future, site, wait),
        None => WorkerSlot::borrow_to_wait(|slot| poll_on(slot, future, site, wait)),
    }
}

fn poll_on<F: Future>(slot: &'static OccupiedSlot, future: F, site: Site, wait: Wait) -> F::Output {
    let mut future = pin!(InPlace::of(future));
    let waker = waker_of(slot);
    let mut context = Context::from_waker(&waker);
    // This call may consume wakes that were meant for a `block_on` further down the same thread's stack; so that one polls once
    // more.
    let _outer = OnDrop(|| {
        slot.signal.raise();
    });
    let recorded = recording::thread_polls(&waker, None);
    let mut poll = || recorded.poll(|| site.around(|| future.as_mut().poll(&mut context)));
    budget::unlimited(|| {
        let poll = || match slot.worker() {
            None => budget::during_poll(&mut poll),
            // Its budget would say that it polls a task.
            Some(_) => poll(),
        };
        slot.signal.drive(poll, |signal| {
            let nobody = || ExecutionId::UNKNOWN;
            wait(slot, &|| signal.is_raised(), &nobody, &|| true);
        })
    })
}

fn waker_of(slot: &'static WorkerSlot) -> Waker {
    // SAFETY: the table's functions do what a waker's must; a slot is never freed. Held by `callers.rs`.
    unsafe { Waker::new(ptr::from_ref(slot).cast(), &VTABLE) }
}

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|slot| RawWaker::new(slot, &VTABLE), wake, wake, |_| {});

/// # Safety
/// `slot` is a waker's of this file.
unsafe fn wake(slot: *const ()) {
    // SAFETY: made from a slot, which is never freed. Held by `callers.rs`.
    let slot: &'static WorkerSlot = unsafe { &*slot.cast() };
    slot.signal.wake(&slot.parker);
}
