//! Two locks of the models, in place of what the library has.
//!
//! The short lock, in the models of its users: a lock that blocks, because a spinning one takes the model checker too many
//! steps. The short lock has a model of its own. And the standard `OnceLock`, so that the models see what it orders: a thread
//! that reads the value also sees what was written before it. Writers take turns.
//!
//! Not built outside the models.
//!
//! Unsafe: once written, the value of a `OnceLock` is shared by reference.

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard, lock};
use loom::cell::UnsafeCell;

/// As [`short_lock::ShortLock`](crate::sync::short_lock::ShortLock).
pub(crate) struct ShortLock<T>(Mutex<T>);

/// As [`short_lock::ShortGuard`](crate::sync::short_lock::ShortGuard).
pub(crate) type ShortGuard<'a, T> = MutexGuard<'a, T>;

impl<T> ShortLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(crate) fn with_patience(value: T, _operations: usize) -> Self {
        Self::new(value)
    }

    pub(crate) fn lock(&self) -> ShortGuard<'_, T> {
        lock(&self.0)
    }

    pub(crate) fn lock_patiently(&self) -> ShortGuard<'_, T> {
        self.lock()
    }

    /// Not known here.
    pub(crate) fn version(&self) -> Option<u32> {
        None
    }

    pub(crate) fn version_after(_guard: &ShortGuard<'_, T>) -> u32 {
        0
    }
}

/// As [`std::sync::OnceLock`].
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    writers: Mutex<()>,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written by one thread and then only shared; loom finds every unordered access.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self {
            is_set: AtomicBool::new(false),
            writers: Mutex::new(()),
            value: UnsafeCell::new(None),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Acquire: pairs with the Release in `set`.
        if !self.is_set.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: written before the flag was set, and never again.
        self.value.with(|value| unsafe { &*value }).as_ref()
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        let _writer = lock(&self.writers);
        // Relaxed: set under the lock only.
        if self.is_set.load(Ordering::Relaxed) {
            return Err(value);
        }
        // SAFETY: the only writer, before any thread reads.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        // Release: pairs with the Acquire in `get`.
        self.is_set.store(true, Ordering::Release);
        Ok(())
    }
}
