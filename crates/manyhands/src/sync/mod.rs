//! The one door to atomics, threads and clocks.
//!
//! Every other module takes its atomics, locks and threads from here, so that the protocol files can be
//! compiled against loom's versions and explored exhaustively. Not here: any policy.

mod backoff;
#[cfg(not(loom))]
pub(crate) mod cell;
#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "tests/own_clock.rs"]
pub(crate) mod clock;
pub(crate) mod fence;
mod padded;
mod park;
#[cfg(any(feature = "tokio", loom))]
pub(crate) mod poller;
pub(crate) mod process;
#[cfg_attr(loom, path = "tests/provided_to_models.rs")]
#[cfg_attr(shuttle, path = "tests/provided_to_explorations.rs")]
mod provided;
mod reactor;
pub(crate) mod short_lock;
#[cfg(not(shuttle))]
mod statics;
#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "tests/wait_until.rs"]
mod wait_until;
#[cfg(all(test, any(loom, shuttle, not(miri))))]
#[path = "tests/wrapped_atomic.rs"]
mod wrapped_atomic;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
#[path = "tests/writers.rs"]
pub(crate) mod writers;

pub(crate) use backoff::Backoff;
#[cfg(all(test, loom))]
pub(crate) use loom::cell;
#[cfg(all(test, shuttle))]
pub(crate) use manyhands_explore::{clock, global, leak, thread_state};
#[cfg(not(any(shuttle, all(test, not(loom)))))]
pub(crate) use manyhands_system::clock;
#[cfg(feature = "inspect")]
pub(crate) use manyhands_system::stack_copy;
#[cfg(not(shuttle))]
pub(crate) use manyhands_system::thread_state;
pub(crate) use manyhands_system::{
    CpuSet, current_cpu, prefetch_for_reading, prefetch_for_writing, processor_load,
    usable_processors,
};
#[cfg(all(feature = "inspect", unix))]
pub(crate) use manyhands_system::{memory_map, socket, user};
pub(crate) use padded::Padded;
pub(crate) use park::Parker;
pub(crate) use provided::{
    Condvar, Mutex, MutexGuard, OnceLock, atomic, counting, spin_loop, thread, thread_local,
};
#[cfg(all(test, loom))]
pub(crate) use provided::{ShortGuard, ShortLock};
pub(crate) use reactor::{PollerState, Reactor, Sleeper};
#[cfg(not(loom))]
pub(crate) use short_lock::{ShortGuard, ShortLock};
#[cfg(not(shuttle))]
pub(crate) use statics::{global, leak};
#[cfg(all(feature = "tokio", not(loom)))]
pub(crate) use std::sync::mpsc;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use wait_until::wait_until;

use std::sync::{PoisonError, TryLockError};

/// Locks a mutex whose holder cannot panic while it holds it, so poison carries no information.
#[cfg_attr(test, track_caller)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(all(test, not(any(loom, shuttle, miri))))]
    writers::note_write(mutex);
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], also in a child of `fork`, where a thread of the parent may have the mutex for ever: then the child ends.
#[cfg_attr(test, track_caller)]
pub(crate) fn lock_or_end<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut backoff = Backoff::default();
    while process::is_forked() {
        if let Some(guard) = try_lock(mutex) {
            return guard;
        }
        backoff.wait();
    }
    lock(mutex)
}

/// Locks a mutex unless another thread has it; poison carries no information, as for [`lock`].
#[cfg_attr(test, track_caller)]
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    #[cfg(all(test, not(any(loom, shuttle, miri))))]
    writers::note_write(mutex);
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Takes a mutex apart whose holders are gone; poison carries no information, as for [`lock`].
pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a mutex that nobody else has. A panic while it was held does not matter.
pub(crate) fn get_mut<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}
