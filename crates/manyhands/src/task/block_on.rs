//! Running a future to its end on the calling thread.
//!
//! The thread's seat has a signal that the future's waker raises. Seats are never freed, so wakers need
//! not be counted, and a late one does no harm: it causes a poll too many.
//!
//! Unsafe: a waker is a pointer to a seat.

use crate::job::ExecutionId;
use crate::runtime::seat::Seat;
use crate::runtime::{current, wait};
use crate::task::budget;
use std::pin::pin;
use std::ptr;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// Runs `future` to its end on the calling thread.
///
/// The future need not be sendable. Tasks that it spawns run on the current runtime, not here.
///
/// # Blocking
/// Until the future is ready. On a thread of the pool, the pool is told whenever the future waits, and runs
/// another worker in its place; nothing unrelated is run on the calling thread. Inside a task, awaiting is
/// the better way to wait.
///
/// # Panics
/// If the future does.
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
#[doc(alias = "tokio::main")]
#[doc(alias = "GetAwaiter().GetResult")]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match current::seat() {
        Some(seat) => poll_on(seat, future),
        None => Seat::borrow_to_wait(|seat| poll_on(seat, future)),
    }
}

fn poll_on<F: Future>(seat: &'static Seat, future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = waker_of(seat);
    let mut context = Context::from_waker(&waker);
    let _outer = RaiseOnDrop(seat);
    budget::unlimited(|| {
        let poll = || future.as_mut().poll(&mut context);
        seat.signal.drive(poll, |signal| {
            let nobody = || ExecutionId::UNKNOWN;
            wait::for_work(seat, &|| signal.is_raised(), &nobody, &|| true);
        })
    })
}

/// Wakes that were meant for a `block_on` further down the same thread's stack may have been taken by this
/// one; so that one polls once more.
struct RaiseOnDrop(&'static Seat);

impl Drop for RaiseOnDrop {
    fn drop(&mut self) {
        self.0.signal.raise();
    }
}

fn waker_of(seat: &'static Seat) -> Waker {
    // SAFETY: the table's functions do what a waker's must; a seat is never freed. Held by `callers.rs`.
    unsafe { Waker::new(ptr::from_ref(seat).cast(), &VTABLE) }
}

static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|seat| RawWaker::new(seat, &VTABLE), wake, wake, |_| {});

/// # Safety
/// `seat` is a waker's of this file.
unsafe fn wake(seat: *const ()) {
    // SAFETY: made from a seat, which is never freed. Held by `callers.rs`.
    let seat: &'static Seat = unsafe { &*seat.cast() };
    seat.signal.wake(&seat.parker);
}
