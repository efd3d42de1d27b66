//! Who searches, and the slots of a pool on a runtime that no thread has.
//!
//! # User's code
//! While a thread counts as searching, new work wakes nobody else, so what a user's code pushed and waited for then
//! would not be run. That is why a search is a value, [`Search`]: a job comes out of it only when it is given up, and
//! so does the right to call a handler.
//!
//! For the same reason a thread of a runtime does not yield its processor while it searches: among other busy programs
//! it would have the next turn milliseconds later, seen up to 96, and until then all new work would wait for it, beside
//! free slots. A pool's own threads do yield, as the original's: they may be more than the processors, and then one that
//! works may need this one's.
//!
//! # No work is lost
//! Who adds work wakes no free thread in two cases: somebody searches, or no slot is free. A thread that ends this, as
//! it gives up the last search or gives back a slot, looks for work afterwards, and wakes or calls another one for it.
//! A thread that gives back its slot while another one searches leaves that to it: the other one sees the free slot
//! when it gives up. Each first writes, and then looks at what the other one writes, with a SeqCst fence in between,
//! so one of two that meet sees the other. A push into a thread's own deque has no such fence; see `sleep.rs`.
//!
//! Not here: where a thread looks (`worker.rs`), and the counts (`sleep.rs`).

use crate::sleep::Sleep;
use crate::sync::{AtomicPtr, Ordering, fence};
use std::ptr::{self, NonNull};

/// What is searched.
pub(crate) trait Searched {
    fn sleep(&self) -> &Sleep;

    /// Whether there is something that any thread may run.
    fn has_work_for_anybody(&self) -> bool;

    /// Wakes, or calls, a thread that is free for anything, if there is one and nobody searches.
    fn wake_idle(&self);
}

/// A thread that is free for anything looks for work, or has been called to. It counts as searching while this lives.
/// If it is the last one, and something is left when it is dropped, another one comes for that.
#[must_use = "the search ends where this is dropped"]
pub(crate) struct Search<'pool, P: Searched>(&'pool P);

impl<'pool, P: Searched> Search<'pool, P> {
    pub(crate) fn begin(pool: &'pool P) -> Self {
        pool.sleep().begin_search();
        Self(pool)
    }

    /// The search that has been counted by [`Sleep::end`], when it ended an idle sleep of the calling thread.
    pub(crate) fn of_woken(pool: &'pool P) -> Self {
        Self(pool)
    }
}

impl<P: Searched> Drop for Search<'_, P> {
    fn drop(&mut self) {
        let sleep = self.0.sleep();
        let is_last = sleep.end_search();
        if is_last && sleep.counts().idle() > 0 && self.0.has_work_for_anybody() {
            self.0.wake_idle();
        }
    }
}

/// The slots that no thread has, with what a thread needs to take one. Each counts as an idle thread.
pub(crate) struct FreeSlots<T>(Box<[AtomicPtr<T>]>);

impl<T> FreeSlots<T> {
    /// Slots that threads have.
    pub(crate) fn new(count: usize) -> Self {
        Self(
            (0..count)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
        )
    }

    /// The number of slots, free or not.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_free(&self, index: usize) -> bool {
        // SeqCst: not older than the caller's fence, which follows what it has added.
        !self.0[index].load(Ordering::SeqCst).is_null()
    }

    /// Takes a slot, if it is free. What it was given back with is the caller's alone.
    pub(crate) fn take(&self, index: usize, sleep: &Sleep) -> Option<NonNull<T>> {
        let slot = &self.0[index];
        // Relaxed: what counts is the exchange.
        let half = NonNull::new(slot.load(Ordering::Relaxed))?;
        let none = ptr::null_mut();
        // Acquire: what the thread before has left there; pairs with the Release in `give_back`.
        slot.compare_exchange(half.as_ptr(), none, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        sleep.remove_idle();
        Some(half)
    }

    /// Gives back a slot. If there is work that others have left to its thread, somebody else comes for that.
    pub(crate) fn give_back(&self, index: usize, half: NonNull<T>, pool: &impl Searched) {
        // First, so that the one who takes the slot takes away what is there.
        pool.sleep().add_idle();
        // Release: pairs with the Acquire in `take`.
        self.0[index].store(half.as_ptr(), Ordering::Release);
        fence(Ordering::SeqCst);
        if pool.has_work_for_anybody() {
            pool.wake_idle();
        }
    }

    /// Begins the search of a thread that is to be called: unless somebody searches, or there is no slot for it.
    pub(crate) fn call<'pool, P: Searched>(&self, pool: &'pool P) -> Option<Search<'pool, P>> {
        let is_any_free = (0..self.count()).any(|index| self.is_free(index));
        let begins = is_any_free && pool.sleep().begin_search_alone();
        begins.then(|| Search(pool))
    }
}
