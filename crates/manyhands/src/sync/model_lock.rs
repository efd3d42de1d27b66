//! Replaces the short lock in the models of its users: a lock that blocks, because a spinning one
//! takes the model checker too many steps. The short lock has a model of its own.
//!
//! Not built outside the models.

use crate::sync::{Mutex, MutexGuard, lock};

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
