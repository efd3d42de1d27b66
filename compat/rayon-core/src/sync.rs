//! What the threads of a pool meet in: atomics, locks and queues; and how often they look before they sleep. In
//! `tests/models` loom's are in their place, and one look.

pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker as Deque};
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Looks of a waiter before it sleeps.
pub(crate) const LOOKS: u32 = 64;
/// Looks of a free thread before it sleeps.
pub(crate) const SEARCHES: u32 = 32;
