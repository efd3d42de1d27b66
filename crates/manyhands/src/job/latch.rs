//! A latch: set once, by the thread that finishes a piece of work; at most one slot waits for it.
//!
//! The word also names the execution that runs the work, so that the waiter can help with just that.
//!
//! # States
//! - `WAITING`: not started.
//! - `RUNNING(execution)`: started, the waiter is awake.
//! - `ASLEEP(slot)`: the waiter is parked or about to park.
//! - `SET`: final, the work is done.
//!
//! `ASLEEP` may follow both first ones; a start that comes after it is not recorded. `WAITING` follows `ASLEEP`
//! when the waiter is to check again although the work is not done.
//!
//! # Threads
//! The runner calls `start` and then `set`; any thread that knows that the latch is valid may call
//! `rouse`; the waiter calls the rest.
//!
//! # Ordering
//! Falling asleep and the load of `rouse` are SeqCst. A waiter that looks for work after it fell asleep, and a thread
//! that makes work for it before it calls `rouse`, do not miss each other (S1, see
//! `runtime/fork_join/scope_closures.rs`).
//!
//! Unsafe: the latch may be freed as soon as it is final, so the last step takes a pointer.

use crate::job::ExecutionId;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Number of a slot in the process-wide table.
pub(crate) type SlotNumber = u16;

/// The word. Every change is one read-modify-write, so its history is a single order.
#[derive(Debug)]
pub(crate) struct Latch(AtomicU64);

impl Latch {
    /// A latch that is not set.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(WAITING))
    }

    /// Whether the latch is final: the work is done, and its writes are visible.
    #[inline]
    pub(crate) fn is_final(&self) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.0.load(Ordering::Acquire) & KIND_MASK == SET
    }

    /// Records the execution that runs the work. Skipped when the waiter already sleeps.
    pub(crate) fn start(&self, execution: ExecutionId) {
        let running = execution.to_bits() << KIND_BITS | RUNNING;
        // Release: a thread that reads the id sees the record it names. Relaxed on failure: nothing is read.
        let _ = self
            .0
            .compare_exchange(WAITING, running, Ordering::Release, Ordering::Relaxed);
    }

    /// The work is done. The latch may be freed when this returns. The caller must wake the returned slot.
    ///
    /// # Safety
    /// `latch` is valid until the exchange.
    #[must_use]
    pub(crate) unsafe fn set(latch: *const Self) -> Option<SlotNumber> {
        // SAFETY: valid until the exchange by the caller's promise.
        let word = unsafe { &(*latch).0 };
        // Release: publishes the work's writes; pairs with the Acquire in `is_final` and `fall_asleep`.
        // If this comes first, the waiter's exchange fails and it never parks;
        // if the waiter comes first, this reads ASLEEP and the caller must wake it.
        let before = word.swap(SET, Ordering::Release);
        (before & KIND_MASK == ASLEEP).then(|| Self::sleeper(before))
    }

    /// The slot in the word of a sleeping waiter.
    fn sleeper(word: u64) -> SlotNumber {
        SlotNumber::try_from(word >> KIND_BITS).expect("a sleeper's word holds its slot")
    }

    /// The execution that runs the work, if that is known.
    pub(crate) fn runner(&self) -> ExecutionId {
        // Acquire: pairs with the Release in `start`.
        let word = self.0.load(Ordering::Acquire);
        if word & KIND_MASK == RUNNING {
            ExecutionId::from_bits(word >> KIND_BITS)
        } else {
            ExecutionId::UNKNOWN
        }
    }

    /// Announces that the waiter on `slot` is about to park; `false` means the latch is final.
    pub(crate) fn fall_asleep(&self, slot: SlotNumber) -> bool {
        let asleep = u64::from(slot) << KIND_BITS | ASLEEP;
        let unless_set = |word: u64| (word & KIND_MASK != SET).then_some(asleep);
        // SeqCst on success: S1. Acquire where it is set: pairs with `set`.
        let announced = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::Acquire, unless_set);
        announced.is_ok()
    }

    /// Waiter, after it fell asleep: whether the latch is not final and no thread has roused it.
    pub(crate) fn is_asleep(&self) -> bool {
        // Acquire: as in `is_final`; a thread that rouses publishes nothing here.
        self.0.load(Ordering::Acquire) & KIND_MASK == ASLEEP
    }

    /// Makes a sleeping waiter check again. The caller must wake the returned slot.
    #[must_use]
    pub(crate) fn rouse(&self) -> Option<SlotNumber> {
        // SeqCst: S1.
        let word = self.0.load(Ordering::SeqCst);
        if word & KIND_MASK != ASLEEP {
            return None;
        }
        // Relaxed, both: carries no data. If it fails, another thread wakes the waiter.
        self.0
            .compare_exchange(word, WAITING, Ordering::Relaxed, Ordering::Relaxed)
            .ok()
            .map(Self::sleeper)
    }
}

const KIND_BITS: u32 = 2;
const KIND_MASK: u64 = 3;
const WAITING: u64 = 0;
const RUNNING: u64 = 1;
const ASLEEP: u64 = 2;
const SET: u64 = 3;

const _: () = assert!(
    ExecutionId::BITS + KIND_BITS == u64::BITS,
    "id and kind share one word"
);
