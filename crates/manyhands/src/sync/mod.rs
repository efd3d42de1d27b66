//! The one door to atomics, threads and clocks.
//!
//! Every other module takes its atomics, locks and threads from here, so that the protocol files can be
//! compiled against loom's versions and explored exhaustively. Not here: any policy.

#[cfg_attr(any(not(target_os = "linux"), miri, shuttle), path = "no_affinity.rs")]
mod affinity;
mod backoff;
pub(crate) mod cell;
#[cfg(not(shuttle))]
pub(crate) mod clock;
#[cfg(shuttle)]
pub(crate) mod explored_atomic;
pub(crate) mod fence;
pub(crate) mod files;
#[cfg(loom)]
mod model_locks;
mod padded;
mod park;
#[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
pub(crate) mod peer;
#[cfg(any(feature = "tokio", loom))]
pub(crate) mod poller;
mod prefetch;
pub(crate) mod process;
pub(crate) mod processor_load;
mod reactor;
#[cfg(loom)]
pub(crate) mod seq_cst;
pub(crate) mod short_lock;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) mod stack_copy;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[cfg_attr(
    not(all(
        target_os = "linux",
        target_pointer_width = "64",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        not(miri)
    )),
    path = "no_stack_signal.rs"
)]
mod stack_signal;
#[cfg(not(shuttle))]
mod statics;
#[cfg(not(shuttle))]
pub(crate) mod thread_state;
#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "tests/wait_until.rs"]
mod wait_until;
#[cfg(any(loom, shuttle, all(test, not(miri))))]
mod wrapped_atomic;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
#[path = "tests/writers.rs"]
pub(crate) mod writers;

pub(crate) use affinity::allowed_cpus;
#[cfg(all(target_os = "linux", not(any(shuttle, miri))))]
pub(crate) use affinity::{CpuSet, current_cpu};
pub(crate) use backoff::Backoff;
#[cfg(shuttle)]
pub(crate) use manyhands_explore::{
    Condvar, Mutex, MutexGuard, clock, global, leak, thread, thread_local, thread_state,
};
#[cfg(loom)]
pub(crate) use model_locks::{OnceLock, ShortGuard, ShortLock};
pub(crate) use padded::Padded;
pub(crate) use park::Parker;
pub(crate) use prefetch::{prefetch_for_reading, prefetch_for_writing};
pub(crate) use reactor::{PollerState, Reactor, Sleeper};
#[cfg(not(loom))]
pub(crate) use short_lock::{ShortGuard, ShortLock};
#[cfg(not(shuttle))]
pub(crate) use statics::{global, leak};
#[cfg(not(loom))]
pub(crate) use std::sync::OnceLock;
#[cfg(all(feature = "tokio", not(loom)))]
pub(crate) use std::sync::mpsc;
#[cfg(not(shuttle))]
pub(crate) use std::thread_local;
#[cfg(all(test, not(any(loom, shuttle))))]
pub(crate) use wait_until::wait_until;

use std::sync::{PoisonError, TryLockError};

// Atomic types and orderings.
#[cfg(shuttle)]
pub(crate) use explored_atomic as atomic;
#[cfg(loom)]
pub(crate) use seq_cst as atomic;
#[cfg(all(any(not(test), miri), not(any(loom, shuttle))))]
pub(crate) use std::sync::atomic;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
pub(crate) use writers as atomic;

// Atomics of counters. They take part in no protocol, so the models leave their orders unexplored.
#[cfg(any(not(test), loom, shuttle, miri))]
pub(crate) use std::sync::atomic as counting;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
pub(crate) use writers as counting;

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(crate) use loom::thread;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::thread;

/// Tells the processor (or the model checker) that this thread is spinning.
#[inline]
pub(crate) fn spin_loop() {
    #[cfg(not(any(loom, shuttle)))]
    std::hint::spin_loop();
    #[cfg(loom)]
    thread::yield_now();
    #[cfg(shuttle)]
    manyhands_explore::spin_loop();
}

/// Locks a mutex whose holder cannot panic while it holds it, so poison carries no information.
#[cfg_attr(test, track_caller)]
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(all(test, not(any(loom, shuttle, miri))))]
    writers::note_write(mutex);
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
