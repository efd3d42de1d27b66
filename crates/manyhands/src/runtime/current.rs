//! Which seat the calling thread occupies, and which runtime its calls go to.
//!
//! Not here: what is done there.
//!
//! Unsafe: the entered runtime is kept as a pointer, valid while the guard that entered it lives.

use crate::runtime::idle::Activity;
use crate::runtime::seat::{Occupant, Seat};
use crate::runtime::{Runtime, Shared};
use crate::sync::thread_state;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;
use std::sync::OnceLock;

thread_local! {
    static SEAT: Cell<Option<&'static Seat>> = const { Cell::new(None) };
    static ENTERED: Cell<*const Shared> = const { Cell::new(ptr::null()) };
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The seat of the calling thread, if it is a worker or a guest.
#[inline(always)]
pub(crate) fn seat() -> Option<&'static Seat> {
    SEAT.get()
}

/// Sits the calling thread down on `seat`, or on none; returns where it sat.
pub(crate) fn set_seat(seat: Option<&'static Seat>) -> Option<&'static Seat> {
    if let Some(seat) = seat {
        if THREAD.get() == 0 {
            THREAD.set(thread_state::current_thread());
        }
        seat.set_thread(THREAD.get());
        seat.set_occupant(Occupant::Running);
    }
    SEAT.replace(seat)
}

/// Calls `f` with the runtime of the calling thread: that of its seat, else the entered one, else the
/// default one, which is made if need be.
pub(crate) fn with_runtime<R>(f: impl FnOnce(&Shared) -> R) -> R {
    if let Some(seat) = seat() {
        return f(seat.runtime());
    }
    let entered = ENTERED.get();
    if entered.is_null() {
        f(default_runtime().shared())
    } else {
        // SAFETY: set by a guard that borrows the runtime and resets this when dropped.
        f(unsafe { &*entered })
    }
}

/// The runtime that is used where no other is current.
fn default_runtime() -> &'static Runtime {
    static DEFAULT: OnceLock<Runtime> = OnceLock::new();
    DEFAULT.get_or_init(Runtime::with_defaults)
}

/// Makes a runtime the current one of this thread until dropped. See [`Runtime::enter`].
#[derive(Debug)]
#[must_use = "the runtime is current only while the guard lives"]
pub struct EnterGuard<'runtime> {
    seat_before: Option<&'static Seat>,
    entered_before: *const Shared,
    /// Not `Send`: it speaks of this thread.
    borrowed: PhantomData<(&'runtime Runtime, *const ())>,
}

impl<'runtime> EnterGuard<'runtime> {
    pub(crate) fn new(runtime: &'runtime Runtime) -> Self {
        let shared: *const Shared = runtime.shared();
        let keep = seat().filter(|seat| ptr::eq(seat.runtime(), shared));
        Self {
            seat_before: SEAT.replace(keep),
            entered_before: ENTERED.replace(shared),
            borrowed: PhantomData,
        }
    }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        SEAT.set(self.seat_before);
        ENTERED.set(self.entered_before);
    }
}

/// An outside thread's stay on a seat, for one outermost call.
#[derive(Debug)]
pub(crate) struct Guest<'runtime> {
    shared: &'runtime Shared,
    seat: &'static Seat,
    seat_before: Option<&'static Seat>,
}

impl<'runtime> Guest<'runtime> {
    /// Sits down. `None` when every guest seat is taken: then the call is the thread's alone.
    pub(crate) fn sit_down(shared: &'runtime Shared) -> Option<Self> {
        let seat = shared.take_guest_seat()?;
        shared.idle.begin(Activity::Guest);
        Some(Self {
            shared,
            seat,
            seat_before: set_seat(Some(seat)),
        })
    }

    /// The seat.
    pub(crate) fn seat(&self) -> &'static Seat {
        self.seat
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        SEAT.set(self.seat_before);
        self.seat.set_occupant(Occupant::None);
        self.shared.give_guest_seat_back(self.seat);
        self.shared.idle.end(Activity::Guest);
        self.shared.use_room();
    }
}

/// Calls `f` with the seat of the calling thread, which sits down as a guest of the current runtime if it
/// has none. `f` gets `None` when every guest seat is taken.
pub(crate) fn with_seat<R>(f: impl FnOnce(Option<&'static Seat>) -> R) -> R {
    match seat() {
        Some(seat) => f(Some(seat)),
        None => with_runtime(|shared| {
            let guest = Guest::sit_down(shared);
            f(guest.as_ref().map(Guest::seat))
        }),
    }
}
