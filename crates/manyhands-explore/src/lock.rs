//! Locks and conditions over the scheduler's blocking.
//!
//! A thread that unlocks wakes all waiters; the scheduler chooses which of them locks next.

use crate::world::{self, Awaits, Thread};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{
    Arc, LockResult, Mutex as Plain, MutexGuard as PlainGuard, TryLockError, TryLockResult,
};
use std::time::Duration;

/// As the standard library's, but that it is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    waiters: Plain<Vec<Thread>>,
    value: Plain<T>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self {
            waiters: Plain::new(Vec::new()),
            value: Plain::new(value),
        }
    }

    pub fn into_inner(self) -> LockResult<T> {
        Ok(plain(self.value.into_inner()))
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(plain(self.value.get_mut()))
    }

    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        world::point();
        loop {
            if let Some(guard) = self.take() {
                // While the lock is held other threads may run.
                world::point();
                return Ok(guard);
            }
            plain(self.waiters.lock()).push(world::this());
            world::block(Awaits::Lock, None);
        }
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        world::point();
        let guard = self.take().ok_or(TryLockError::WouldBlock)?;
        world::point();
        Ok(guard)
    }

    fn take(&self) -> Option<MutexGuard<'_, T>> {
        let value = match self.value.try_lock() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(MutexGuard {
            value: Some(value),
            mutex: self,
        })
    }
}

/// As the standard library's.
#[derive(Debug)]
pub struct MutexGuard<'a, T: ?Sized> {
    /// Taken when dropped.
    value: Option<PlainGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("held until dropped")
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("held until dropped")
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        let waiters = std::mem::take(&mut *plain(self.mutex.waiters.lock()));
        waiters.into_iter().for_each(world::unblock);
    }
}

/// As the standard library's.
#[derive(Debug, Default)]
pub struct Condvar {
    waiters: Plain<Vec<Arc<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    thread: Thread,
    is_notified: AtomicBool,
}

impl Condvar {
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_until(guard, None).lock()
    }

    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        let mutex = self.wait_until(guard, world::deadline(limit));
        Ok((plain(mutex.lock()), ()))
    }

    #[track_caller]
    fn wait_until<'a, T>(&self, guard: MutexGuard<'a, T>, deadline: Option<u64>) -> &'a Mutex<T> {
        let waiter = Arc::new(Waiter {
            thread: world::this(),
            is_notified: AtomicBool::new(false),
        });
        plain(self.waiters.lock()).push(Arc::clone(&waiter));
        let mutex = guard.mutex;
        drop(guard);
        // Relaxed: all run on one thread of the system.
        while !waiter.is_notified.load(Ordering::Relaxed) && !world::has_come(deadline) {
            world::block(Awaits::Condition, deadline);
        }
        plain(self.waiters.lock()).retain(|other| !Arc::ptr_eq(other, &waiter));
        mutex
    }

    pub fn notify_one(&self) {
        world::point();
        let mut waiters = plain(self.waiters.lock());
        if waiters.is_empty() {
            return;
        }
        let waiter = waiters.remove(0);
        drop(waiters);
        Self::notify(&waiter);
    }

    pub fn notify_all(&self) {
        world::point();
        let waiters = std::mem::take(&mut *plain(self.waiters.lock()));
        waiters.iter().for_each(|waiter| Self::notify(waiter));
    }

    fn notify(waiter: &Waiter) {
        // Relaxed: as above.
        waiter.is_notified.store(true, Ordering::Relaxed);
        world::unblock(waiter.thread.clone());
    }
}

/// Ignores poison.
pub(crate) fn plain<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(|poisoned| poisoned.into_inner())
}
