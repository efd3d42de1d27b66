//! A lock for critical sections of a few dozen instructions.
//!
//! Not a general mutex: it has no queue, so it is not fair, and no poison. Locking is one exchange, unlocking one
//! store; the system's mutex needs an exchange for each. A thread that finds it locked first spins for a moment, so
//! that the holder can do several operations while it has the cache line. Then it yields, because the holder itself may
//! wait for a processor. In a virtual machine that is also cheaper than spinning: the hypervisor takes many spins in a
//! row for a sign to preempt. A thread that has yielded often sleeps by the clock (see `backoff.rs`), because a holder
//! of lower priority runs only then. No thread wakes it, so that unlocking stays one store.
//!
//! A thread that finds the lock taken again competes with a thread that takes it repeatedly. If two threads alternate,
//! the cache line moves for every few operations, which costs more than the operations. So the owner of the lock sets a
//! patience: for how many operations of the other thread a waiter then leaves the lock to it.
//!
//! # States
//! `held` false: unlocked · true: locked by one thread.
//!
//! Each unlocking raises `version`, so a thread can see without taking the lock that nobody has held it since an earlier
//! look. That is a hint: the number starts again after four thousand million times, and is read apart from `held`.
//!
//! # Threads
//! Any thread calls `lock`; the guard unlocks on the same thread, also during unwinding.
//!
//! # Ordering
//! Each holder's Acquire exchange reads the Release store of the previous holder, so critical sections are in
//! one order and each sees all that earlier ones wrote.
//!
//! Unsafe: the guarded value is reached through a cell.

use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Backoff, cell, spin_loop};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A value that one thread at a time may touch; the first fields of the value share the lock's cache line.
#[repr(C)]
pub(crate) struct ShortLock<T> {
    held: AtomicBool,
    /// Spins between later attempts.
    patience: u16,
    version: AtomicU32,
    value: cell::UnsafeCell<T>,
}

// SAFETY: the cell forbids it; the lock lets one thread at a time reach the value, which therefore only has
// to be `Send`.
unsafe impl<T: Send> Sync for ShortLock<T> {}

impl<T> ShortLock<T> {
    /// A free lock around `value`.
    pub(crate) fn new(value: T) -> Self {
        Self::with_patience(value, 0)
    }

    /// As [`new`](Self::new); a thread that finds the lock taken again waits each time for about `operations`
    /// operations of others.
    pub(crate) fn with_patience(value: T, operations: usize) -> Self {
        let spins = u16::try_from(operations).unwrap_or(u16::MAX);
        Self {
            held: AtomicBool::new(false),
            patience: spins.min(PATIENCE_MAX),
            version: AtomicU32::new(0),
            value: cell::UnsafeCell::new(value),
        }
    }

    /// Locks. No thread may sleep, and no user code run but what C7 in the channels' README names, while the guard exists. Held by
    /// `tests/it/channel_lock.rs::items_may_use_their_channel_when_they_are_dropped`,
    /// `tests/it/channel_lock.rs::wakers_may_use_the_channel_when_they_are_woken_and_when_they_are_dropped` and
    /// `tests/it/channel_lock.rs::a_clone_of_a_waker_waits_for_a_task_that_uses_the_channel`.
    #[inline]
    pub(crate) fn lock(&self) -> ShortGuard<'_, T> {
        if !self.try_hold() {
            self.hold_later(self.patience);
        }
        self.guard()
    }

    /// As [`lock`](Self::lock), with four times the patience, for polls: when one task has to wait, its worker polls
    /// the next one, which mostly needs the same lock.
    #[inline]
    pub(crate) fn lock_patiently(&self) -> ShortGuard<'_, T> {
        if !self.try_hold() {
            self.hold_later(PATIENCE_MAX.min(4 * self.patience));
        }
        self.guard()
    }

    /// A number that changes each time the lock is held; `None` while it is held.
    #[inline]
    pub(crate) fn version(&self) -> Option<u32> {
        // Relaxed, both: a hint. A thread that acts on it takes the lock.
        let is_held = self.held.load(Ordering::Relaxed);
        (!is_held).then(|| self.version.load(Ordering::Relaxed))
    }

    /// The lock's version once this guard is dropped.
    #[inline]
    pub(crate) fn version_after(guard: &ShortGuard<'_, T>) -> u32 {
        // Relaxed: only the holder writes it.
        guard.lock.version.load(Ordering::Relaxed).wrapping_add(1)
    }

    /// Locks if the lock is free soon: for a look from outside, which must not wait for what its holder does.
    #[cfg(feature = "inspect")]
    pub(crate) fn try_lock(&self) -> Option<ShortGuard<'_, T>> {
        let is_free_soon = (0..LOOKS).any(|_| {
            spin_loop();
            self.try_hold()
        });
        is_free_soon.then(|| self.guard())
    }

    #[inline]
    fn guard(&self) -> ShortGuard<'_, T> {
        ShortGuard {
            lock: self,
            value: self.value.get_mut(),
            stays: PhantomData,
        }
    }

    #[inline]
    fn try_hold(&self) -> bool {
        // Acquire: pairs with the Release of the guard before. Relaxed on failure: nothing was read.
        self.held
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[cold]
    fn hold_later(&self, patience: u16) {
        (0..SPINS).for_each(|_| spin_loop());
        let mut backoff = Backoff::default();
        let mut yields = 1;
        loop {
            // Relaxed: a load before the exchange, because an exchange takes the cache line away from the holder.
            if !self.held.load(Ordering::Relaxed) && self.try_hold() {
                return;
            }
            (0..patience).for_each(|_| spin_loop());
            backoff.yield_or_sleep(yields);
            yields = YIELDS_MAX.min(2 * yields);
        }
    }
}

/// The lock, held; dropping it unlocks.
pub(crate) struct ShortGuard<'a, T> {
    lock: &'a ShortLock<T>,
    value: cell::MutPtr<T>,
    /// Borrows the value, and keeps the guard on the thread that locked.
    stays: PhantomData<(&'a mut T, *const ())>,
}

impl<T> Deref for ShortGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard holds the lock, so no other thread reaches the value.
        unsafe { self.value.deref() }
    }
}

impl<T> DerefMut for ShortGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard itself is borrowed exclusively.
        unsafe { self.value.deref() }
    }
}

impl<T> Drop for ShortGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let version = ShortLock::version_after(self);
        // Relaxed: a hint.
        self.lock.version.store(version, Ordering::Relaxed);
        // Release: publishes the critical section; pairs with the Acquire of the next holder.
        self.lock.held.store(false, Ordering::Release);
    }
}

/// Attempts of a look from outside: some ten microseconds.
#[cfg(feature = "inspect")]
const LOOKS: u32 = 1_000;

/// Spins before the second attempt.
const SPINS: u32 = if cfg!(loom) { 1 } else { 16 };
/// The most spins; each takes about as long as an operation. All of them take some microseconds.
const PATIENCE_MAX: u16 = if cfg!(loom) { 0 } else { 512 };
/// Times that other threads may run before a later attempt.
const YIELDS_MAX: u32 = if cfg!(loom) { 1 } else { 16 };

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ShortLock;
    use crate::sync::atomic::Ordering;
    #[cfg(all(target_os = "linux", not(miri)))]
    use crate::sync::{clock, thread_state};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    #[test]
    fn increments_of_several_threads_add_up() {
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let lock = ShortLock::new(0_u64);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..rounds).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 4 * rounds);
    }

    #[test]
    fn unwinding_gives_the_lock_back() {
        let lock = ShortLock::new(1);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _inside = lock.lock();
            panic!("inside");
        }));
        assert!(unwound.is_err());
        assert_eq!(*lock.lock(), 1);
    }

    #[test]
    fn a_thread_can_see_that_nobody_has_held_the_lock_since() {
        let lock = ShortLock::new(0);
        let mut guard = lock.lock();
        assert_eq!(lock.version(), None, "it is held");
        *guard += 1;
        let seen = ShortLock::version_after(&guard);
        drop(guard);
        assert_eq!(lock.version(), Some(seen));
        drop(lock.lock_patiently());
        assert_ne!(lock.version(), Some(seen));
        // The numbers start again.
        lock.version.store(u32::MAX, Ordering::Relaxed);
        drop(lock.lock());
        assert_eq!(lock.version(), Some(0));
    }

    /// A waiter of higher priority would keep the holder from running.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_thread_that_waits_long_sleeps() {
        let lock = ShortLock::new(0);
        let held = lock.lock();
        let (name_sender, name) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                name_sender.send(thread_state::current_thread()).unwrap();
                *lock.lock() += 1;
            });
            let waiter = name.recv().unwrap();
            let deadline = clock::now() + std::time::Duration::from_secs(30);
            while thread_state::activity(waiter) != Some(thread_state::Activity::Asleep) {
                assert!(clock::now() < deadline, "it never sleeps");
            }
            drop(held);
        });
        assert_eq!(*lock.lock(), 1);
    }
}
