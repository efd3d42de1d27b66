//! The word in which the handle of a task waits for the task's end, as a parked thread or by a waker.
//!
//! It is to a task what the latch is to a job. It can also hold a waker, in the space of one pointer.
//!
//! # States
//! - null: the handle does not wait.
//! - `RUNNING(execution)`: a closure runs in this execution, so a blocked waiter may help it.
//! - `SLOT(slot)`: the waiter is parked on this slot or about to park.
//! - a waker, in a box or, if it is another task's, as that task's pointer.
//! - `FINAL`: the task has ended.
//! - `TAKEN`: it has, and its handle, as a future, has given the outcome.
//!
//! # Threads
//! The handle's holder calls `fall_asleep`, `register` and `clear`, and after the end `note_taken`. The thread that runs
//! the task calls `start` and then, once, `finish`. Any thread may read.
//!
//! # Ordering
//! Every change is an exchange, but for the last one, which only the handle makes. `finish` releases the outcome, and
//! `note_taken` what the task did; a thread that reads `FINAL` or `TAKEN` acquires it. A waker goes
//! from its registrar (Release) to the finisher or back to the registrar (Acquire), whichever exchanges first.
//!
//! Unsafe: wakers are kept as raw pointers.

use super::waker;
use crate::job::{ExecutionId, SlotNumber, discard};
use crate::sync::atomic::{AtomicPtr, Ordering};
use std::ptr;
use std::task::Waker;

/// The word.
pub(super) struct Joiner(AtomicPtr<()>);

/// The waiter of a task that has ended, to be woken by the thread that ended it.
#[must_use]
pub(super) enum Sleeper {
    /// A thread on a slot.
    WorkerSlot(SlotNumber),
    /// A future.
    Waker(Waker),
}

impl Joiner {
    /// Of a task that has not ended and has no waiter.
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Whether the task has ended; if so, its outcome is visible.
    #[inline]
    pub(super) fn is_final(&self) -> bool {
        // Acquire: pairs with the Release in `finish` and in `note_taken`.
        has_ended(self.0.load(Ordering::Acquire))
    }

    /// The holder has seen the end here, and gives the outcome.
    #[inline]
    pub(super) fn note_taken(&self) {
        // Release: an abort handle that reads this instead of FINAL sees the end's effects, too, which `is_final` has acquired
        // here. Nobody else writes after the end.
        self.0.store(TAKEN, Ordering::Release);
    }

    /// Whether the handle has given the outcome. For its holder, and for the last one.
    #[inline]
    pub(super) fn is_taken(&self) -> bool {
        // Relaxed: the holder wrote it, and has released its part to the last one.
        self.0.load(Ordering::Relaxed) == TAKEN
    }

    /// Records the execution that runs the task, unless a waiter is registered already. If a pointer is too small for
    /// the number, it is not recorded, and waiters do not help.
    pub(super) fn start(&self, execution: ExecutionId) {
        let Ok(bits) = usize::try_from(execution.to_bits() << KIND_BITS) else {
            return;
        };
        let running = ptr::without_provenance_mut(bits | RUNNING);
        // Release: a thread that reads the number sees the record it names. Relaxed on failure: nothing is read.
        let _ = self.0.compare_exchange(
            ptr::null_mut(),
            running,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }

    /// The execution that runs the task, if that is known.
    pub(super) fn runner(&self) -> ExecutionId {
        // Acquire: pairs with the Release in `start`.
        let word = self.0.load(Ordering::Acquire).addr();
        if word & KIND_MASK == RUNNING {
            ExecutionId::from_bits((word >> KIND_BITS) as u64)
        } else {
            ExecutionId::UNKNOWN
        }
    }

    /// The task has ended. The caller must wake the returned waiter.
    #[must_use]
    pub(super) fn finish(&self) -> Option<Sleeper> {
        // AcqRel: Release publishes the outcome; Acquire gets the waker. If this comes first, the waiter reads
        // FINAL and does not wait; if the waiter comes first, this reads the waiter and the caller must wake it.
        let before = self.0.swap(FINAL, Ordering::AcqRel);
        match before.addr() & KIND_MASK {
            SLOT => {
                let slot = SlotNumber::try_from((before.addr() >> KIND_BITS) - 1);
                Some(Sleeper::WorkerSlot(
                    slot.expect("a sleeper's word holds its slot"),
                ))
            }
            // SAFETY: the word held a waker, which the exchange has taken out.
            _ => unsafe { into_waker(before) }.map(Sleeper::Waker),
        }
    }

    /// Announces that the waiter on `slot` is about to park; false means that the task has ended.
    pub(super) fn fall_asleep(&self, slot: SlotNumber) -> bool {
        let asleep = (usize::from(slot) + 1) << KIND_BITS | SLOT;
        self.replace(ptr::without_provenance_mut(asleep))
    }

    /// Registers `waker` to be woken; false means that the task has ended.
    pub(super) fn register(&self, waker: &Waker) -> bool {
        // Acquire: sees the outcome if this is FINAL; a waker in it is this thread's own.
        let word = self.0.load(Ordering::Acquire);
        if word.addr() & KIND_MASK == TASK && waker::task_of(waker) == Some(untagged(word)) {
            return true;
        }
        let registered = from_waker(waker.clone());
        let is_registered = self.replace(registered);
        if !is_registered {
            // SAFETY: made above, and in no word.
            discard(unsafe { into_waker(registered) });
        }
        is_registered
    }

    /// Forgets the waiter.
    pub(super) fn clear(&self) {
        // Relaxed: the exchange in `replace` decides; only this thread puts a waker in.
        let word = self.0.load(Ordering::Relaxed);
        if !word.is_null() && [BOXED, TASK].contains(&(word.addr() & KIND_MASK)) {
            let _ = self.replace(ptr::null_mut());
        }
    }

    /// Puts `word` in unless the task has ended; returns whether it did.
    fn replace(&self, word: *mut ()) -> bool {
        // Relaxed: the exchange decides.
        let mut before = self.0.load(Ordering::Relaxed);
        while !has_ended(before) {
            // AcqRel: Release publishes the new waker; Acquire gets this thread's earlier one back.
            // Relaxed on failure: tried again.
            let exchanged =
                self.0
                    .compare_exchange(before, word, Ordering::AcqRel, Ordering::Relaxed);
            match exchanged {
                Ok(_) => {
                    // SAFETY: the exchange has taken out what the word held.
                    discard(unsafe { into_waker(before) });
                    return true;
                }
                Err(now) => before = now,
            }
        }
        // Acquire: the loads above were relaxed.
        !self.is_final()
    }
}

/// Whether a word is `FINAL` or `TAKEN`.
#[inline]
fn has_ended(word: *mut ()) -> bool {
    word.addr() & !TAKEN_BIT == SLOT
}

/// A waker as a word.
fn from_waker(waker: Waker) -> *mut () {
    if let Some(task) = waker::task_of(&waker) {
        // The pointer now stands for the waker's part of that task.
        let _ = std::mem::ManuallyDrop::new(waker);
        return task.map_addr(|task| task | TASK);
    }
    Box::into_raw(Box::new(waker)).cast()
}

/// The waker in a word, if it holds one.
///
/// # Safety
/// The word is from [`from_waker`] and was taken out, or holds no waker.
unsafe fn into_waker(word: *mut ()) -> Option<Waker> {
    match word.addr() & KIND_MASK {
        BOXED if !word.is_null() => {
            // SAFETY: such a word is from `from_waker`, and only this thread has it.
            Some(*unsafe { Box::from_raw(word.cast::<Waker>()) })
        }
        // SAFETY: such a word is from `from_waker`, and only this thread has it.
        TASK => Some(unsafe { waker::from_task(untagged(word)) }),
        _ => None,
    }
}

fn untagged(word: *mut ()) -> *mut () {
    word.map_addr(|word| word & !KIND_MASK)
}

const KIND_BITS: u32 = 2;
const KIND_MASK: usize = 3;
/// Also null.
const BOXED: usize = 0;
const TASK: usize = 1;
const RUNNING: usize = 2;
const SLOT: usize = 3;
/// The word of a slot that does not exist: slots are counted from one here.
const FINAL: *mut () = ptr::without_provenance_mut(SLOT);
/// No number of a slot has it.
const TAKEN_BIT: usize = 1 << (usize::BITS - 1);
const TAKEN: *mut () = ptr::without_provenance_mut(SLOT | TAKEN_BIT);

const _: () = assert!(
    ExecutionId::BITS + KIND_BITS == u64::BITS,
    "number and kind share one word"
);
const _: () = assert!(
    align_of::<Waker>() > KIND_MASK,
    "a box leaves room for the kind"
);
