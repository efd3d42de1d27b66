//! The fork-join deque: its entries are private to the owner until a thief asks, or the owner is stuck.
//!
//! The owner pushes and pops at the newest end with plain loads and stores. An entry becomes stealable
//! only when it is *exposed*: by the owner, when a thief has left a demand, or by a forcer (the monitor),
//! when the owner is stuck inside a long job. So a join that no thief steals costs no atomic
//! read-modify-write and no fence, and yet every entry can be reached.
//!
//! Not a general queue: entries are popped in the exact reverse order of their pushes, by address.
//!
//! After the split deques of Lace (van Dijk and van de Pol, Euro-Par 2014) and of low-cost work stealing (Rito
//! and Paulino); here each slot says by a tag bit whether it is private, so
//! no index has to be exact.
//!
//! # Threads
//! The owner calls `is_plain`, `make_room`, `push`, `pop`, `expose`. Any thread calls `steal`, `demand`,
//! `has_public`, `has_private`. The monitor calls `force`.
//!
//! # States of a slot
//! - `null`: free or stolen.
//! - `job | PRIVATE`: only the owner may take it.
//! - `job`: public. The thread that swaps it for null has it, and reads the job only afterwards, so the address may be
//!   reused without harm.
//!
//! A slot at or above `bottom` has no meaning.
//!
//! # Ordering
//! F1: the owner's `pop` stores `bottom`, passes the light fence, loads `signal`; `force` stores `FROZEN`
//! into `signal`, passes the heavy fence, loads `bottom`. Either the forcer sees the lowered `bottom` and
//! leaves that slot alone, or the owner sees `FROZEN` and waits for the forcer at the lock.
//!
//! Unsafe: slots are reached through a raw pointer to the current buffer.

use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, fence as barrier, lock};
use std::ptr::{self, NonNull};

/// A deque of pointers to `T`.
pub(crate) struct Deque<T> {
    /// Requests of a forcer, read by the owner at every pop.
    signal: AtomicU32,
    /// A push is plain while the index before it is below this. Normally the capacity less one; 0 while a
    /// thief's demand is unanswered. So one comparison detects an empty deque, a full one, and a demand.
    plain_below: AtomicUsize,
    /// One past the newest entry. Written by the owner.
    bottom: AtomicUsize,
    /// Slots of the current buffer. Written by the owner under the lock.
    slots: AtomicPtr<AtomicPtr<T>>,
    /// Length of the current buffer. Read and written by the owner.
    capacity: AtomicUsize,
    /// No public entry lies below. Written under the lock, read by thieves as a hint.
    public_start: AtomicUsize,
    /// No public entry lies at or above. Written under the lock, read by thieves as a hint.
    public_end: AtomicUsize,
    /// Serialises every change but the fast push and pop and the steal. Holds all buffers, newest last:
    /// thieves may still read an old one, whose slots are null from the time it was replaced.
    buffers: Mutex<Vec<Buffer<T>>>,
}

/// What the owner's pop returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Popped {
    /// The owner has the entry again.
    Mine,
    /// A thief has it.
    Stolen,
}

impl<T> Default for Deque<T> {
    fn default() -> Self {
        let buffer = Buffer::new(CAPACITY_FIRST);
        let slots = buffer.first();
        let standing = if barrier::needs_fence() { FENCE } else { 0 };
        Self {
            signal: AtomicU32::new(standing),
            plain_below: AtomicUsize::new(CAPACITY_FIRST - 1),
            bottom: AtomicUsize::new(0),
            slots: AtomicPtr::new(slots),
            capacity: AtomicUsize::new(CAPACITY_FIRST),
            public_start: AtomicUsize::new(0),
            public_end: AtomicUsize::new(0),
            buffers: Mutex::new(vec![buffer]),
        }
    }
}

impl<T> Deque<T> {
    /// Owner: number of entries, stolen ones still waited for included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: the owner reads its own word; others take it as a hint.
        self.bottom.load(Ordering::Relaxed)
    }

    /// Owner: whether a push at `index` is plain: the deque is neither empty nor full, and no thief has
    /// left a demand.
    #[inline(always)]
    pub(crate) fn is_plain(&self, index: usize) -> bool {
        // Relaxed: a demand seen late is answered at the next push.
        index.wrapping_sub(1) < self.plain_below.load(Ordering::Relaxed)
    }

    /// Owner: makes room for a push at `index`, which is not plain.
    pub(crate) fn make_room(&self, index: usize) {
        // Relaxed: only the owner writes it.
        if index == self.capacity.load(Ordering::Relaxed) {
            self.grow();
        }
    }

    /// Owner: adds the newest entry, at `index`, which must be the length.
    ///
    /// There must be room: the push is plain, or `make_room` was called. The owner keeps the index and
    /// passes it to `pop`, so that a chain of pushes and pops does not depend on a chain of loads and
    /// stores of one word.
    ///
    /// `job` must stay valid until it is popped, or until its thief has finished with it.
    #[inline(always)]
    pub(crate) fn push(&self, index: usize, job: *mut T) {
        debug_assert_eq!(index, self.len(), "an entry is pushed at the end");
        // Relaxed: only the owner writes it.
        debug_assert!(
            index < self.capacity.load(Ordering::Relaxed),
            "there is room for the entry"
        );
        // Relaxed: only the owner writes it.
        let slots = self.slots.load(Ordering::Relaxed);
        // SAFETY: index < capacity, the length of the buffer `slots` points to.
        let slot = unsafe { self.slot(slots, index) };
        // Relaxed: published by the store of `bottom` below or by the later exposure.
        slot.store(tagged(job), Ordering::Relaxed);
        // Release: publishes the slot and the job; pairs with the Acquire in `force`.
        self.bottom.store(index + 1, Ordering::Release);
    }

    /// Owner: takes back the newest entry, which must be `job`, pushed at `index`.
    #[inline(always)]
    pub(crate) fn pop(&self, index: usize, job: *mut T) -> Popped {
        debug_assert_eq!(index + 1, self.len(), "the newest entry is popped");
        // Release: a forcer that reads this length must see the entries below it, as in `push`. F1 orders
        // the store before the load of `signal`.
        self.bottom.store(index, Ordering::Release);
        barrier::light();
        // Acquire: if a forcer was here before, its change of the slot is visible below.
        if self.signal.load(Ordering::Acquire) == 0 {
            // Relaxed: only the owner writes it.
            let slots = self.slots.load(Ordering::Relaxed);
            // SAFETY: index < capacity of the buffer `slots` points to.
            let slot = unsafe { self.slot(slots, index) };
            // Relaxed: a private tag was written by this thread, and by F1 no forcer may change it now.
            let found = slot.load(Ordering::Relaxed);
            if is_private(found) {
                debug_assert_eq!(found, tagged(job), "entries are popped in reverse order");
                return Popped::Mine;
            }
        }
        self.pop_slow(index, job)
    }

    /// Owner: exposes up to `count` of the oldest private entries and clears the demand.
    /// Returns how many were exposed.
    #[cold]
    pub(crate) fn expose(&self, count: usize) -> usize {
        let buffers = lock(&self.buffers);
        // Relaxed, both: see `demand`. Pushes are plain again.
        let capacity = self.capacity.load(Ordering::Relaxed);
        self.plain_below.store(capacity - 1, Ordering::Relaxed);
        // Relaxed: the owner reads its own word.
        self.publish(&buffers, self.bottom.load(Ordering::Relaxed), count)
    }

    /// Monitor: exposes up to `count` of the oldest private entries of an owner that does not answer.
    #[cold]
    pub(crate) fn force(&self, count: usize) -> usize {
        let buffers = lock(&self.buffers);
        // SeqCst: F1, the forcer's side.
        self.signal.fetch_or(FROZEN, Ordering::SeqCst);
        barrier::heavy();
        // Acquire: pairs with the Release in `push`: the slots below were written.
        let bottom = self.bottom.load(Ordering::Acquire);
        let exposed = self.publish(&buffers, bottom, count);
        // Release: an owner that sees FROZEN gone also sees the slots as they are now.
        self.signal.fetch_and(!FROZEN, Ordering::Release);
        exposed
    }

    /// Any thread: takes the oldest public entry at or above `from`.
    pub(crate) fn steal(&self, from: usize) -> Option<*mut T> {
        self.public_slots(from).find_map(|slot| {
            // Relaxed: the exchange decides.
            let job = slot.load(Ordering::Relaxed);
            if job.is_null() || is_private(job) {
                return None;
            }
            debug_assert_ne!(job.addr(), BEYOND, "a thief stays within the buffer");
            // AcqRel: Acquire pairs with the Release in `publish`, so the thief sees the job.
            // Relaxed on failure: nothing was taken.
            let taken =
                slot.compare_exchange(job, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
            taken.ok()
        })
    }

    /// Any thread: whether `steal(from)` is worth a try. A hint, but not for long a wrong one.
    pub(crate) fn has_public(&self, from: usize) -> bool {
        self.public_slots(from).any(|slot| {
            // Relaxed: a hint.
            let job = slot.load(Ordering::Relaxed);
            !job.is_null() && !is_private(job)
        })
    }

    /// The slots at or above `from` that may hold public entries.
    fn public_slots(&self, from: usize) -> impl Iterator<Item = &AtomicPtr<T>> {
        // Acquire: pairs with the Release in `publish`; what matters is decided slot by slot.
        let end = self.public_end.load(Ordering::Acquire);
        // Relaxed: a hint.
        let start = self.public_start.load(Ordering::Relaxed).max(from);
        // Acquire: pairs with the Release in `grow`: the buffer's slots were initialised.
        let slots = self.slots.load(Ordering::Acquire);
        // SAFETY: `end` was at most the capacity of a buffer stored before it, buffers only grow, and none
        // is freed while self lives.
        (start..end).map(move |index| unsafe { self.slot(slots, index) })
    }

    /// Any thread: whether entries at or above `from` are private. A hint.
    pub(crate) fn has_private(&self, from: usize) -> bool {
        // Relaxed: a hint.
        let end = self.public_end.load(Ordering::Relaxed).max(from);
        self.bottom.load(Ordering::Relaxed) > end
    }

    /// Any thread: asks the owner to expose something at its next push.
    pub(crate) fn demand(&self) {
        // Relaxed, both: no data goes with it; the load spares the owner's line a write. If the owner overwrites a
        // demand while it answers an earlier one, the thief demands again at its next attempt.
        if !self.is_demand_pending() {
            self.plain_below.store(0, Ordering::Relaxed);
        }
    }

    /// Any thread: whether a demand has not been answered yet. A hint.
    pub(crate) fn is_demand_pending(&self) -> bool {
        // Relaxed: a hint.
        self.plain_below.load(Ordering::Relaxed) == 0
    }

    /// Slot `index` of the buffer that begins at `slots`.
    ///
    /// # Safety
    /// `slots` was read from `self.slots`, and `index` is below that buffer's length.
    #[inline(always)]
    unsafe fn slot(&self, slots: *const AtomicPtr<T>, index: usize) -> &AtomicPtr<T> {
        // SAFETY: within the buffer by the caller's promise.
        let slot = unsafe { slots.add(index) };
        // SAFETY: a valid slot, because no buffer is freed while `self` exists.
        unsafe { &*slot }
    }

    #[cold]
    #[inline(never)]
    fn pop_slow(&self, index: usize, job: *mut T) -> Popped {
        // SeqCst: the owner's side of F1 if the light fence does nothing (FENCE is set).
        fence(Ordering::SeqCst);
        // While this thread holds the lock, no forcer is between its fence and its end.
        let _buffers = lock(&self.buffers);
        // Relaxed: only the owner writes `slots`.
        let slots = self.slots.load(Ordering::Relaxed);
        // SAFETY: index < capacity, and the buffer lives as long as self.
        let slot = unsafe { self.slot(slots, index) };
        // AcqRel: orders this taking with a thief's; the job itself is the owner's own.
        let found = slot.swap(ptr::null_mut(), Ordering::AcqRel);
        // Relaxed: changed only under the lock.
        if self.public_end.load(Ordering::Relaxed) > index {
            // Release: pairs with the Acquire in `public_slots`. A thief that reads this end must not meet an
            // older buffer, which may be shorter: `grow` of this very thread came before. (The fence above would
            // do for that as well, but it is there for F1.)
            self.public_end.store(index, Ordering::Release);
        }
        // Relaxed, both: as above; a hint to thieves, which stays below an end that they have acquired.
        if self.public_start.load(Ordering::Relaxed) > index {
            self.public_start.store(index, Ordering::Relaxed);
        }
        if found.is_null() {
            Popped::Stolen
        } else {
            debug_assert_eq!(
                untagged(found),
                job,
                "entries are popped in reverse order of their pushes"
            );
            Popped::Mine
        }
    }

    /// Turns up to `count` of the oldest private entries below `bottom` public. The lock is held.
    fn publish(
        &self,
        _buffers: &MutexGuard<'_, Vec<Buffer<T>>>,
        bottom: usize,
        count: usize,
    ) -> usize {
        // Relaxed, all: changed only under the lock, which is held.
        let slots = self.slots.load(Ordering::Relaxed);
        let end = self.public_end.load(Ordering::Relaxed);
        let mut start = self.public_start.load(Ordering::Relaxed);
        let until = bottom.min(end.saturating_add(count)).max(end);
        for index in end..until {
            // SAFETY: index < bottom <= capacity, and the buffer lives as long as self.
            let slot = unsafe { self.slot(slots, index) };
            // Relaxed: the owner wrote it before `bottom`, or the lock was handed over since.
            let job = untagged(slot.load(Ordering::Relaxed));
            // Release: publishes the job; pairs with the Acquire in `steal`.
            slot.store(job, Ordering::Release);
        }
        while start < end {
            // SAFETY: start < end <= capacity, and the buffer lives as long as self.
            let slot = unsafe { self.slot(slots, start) };
            // Relaxed: a hint.
            if !slot.load(Ordering::Relaxed).is_null() {
                break;
            }
            start += 1;
        }
        // Relaxed: a hint.
        self.public_start.store(start, Ordering::Relaxed);
        // Release: pairs with the Acquire in `steal`, which then also sees a buffer that holds `until`.
        self.public_end.store(until, Ordering::Release);
        until - end
    }

    /// Doubles the buffer. Entries move by exchange, so that a thief at the old buffer either has its
    /// entry before the move or finds null.
    #[cold]
    #[inline(never)]
    fn grow(&self) {
        let mut buffers = lock(&self.buffers);
        // Relaxed: only the owner writes it.
        let capacity = self.capacity.load(Ordering::Relaxed);
        let grown = Buffer::new(capacity * 2);
        if let Some(old) = buffers.last() {
            for (from, to) in old.slots().iter().zip(grown.slots()).take(capacity) {
                // AcqRel: orders the move with a thief's exchange on the same slot.
                // Relaxed: the new buffer is published below.
                to.store(
                    from.swap(ptr::null_mut(), Ordering::AcqRel),
                    Ordering::Relaxed,
                );
            }
        }
        // Release: publishes the new slots; pairs with the Acquire in `steal`.
        self.slots.store(grown.first(), Ordering::Release);
        // Relaxed: only the owner reads it.
        self.capacity.store(capacity * 2, Ordering::Relaxed);
        // Relaxed: a demand overwritten here is made again.
        self.plain_below.store(capacity * 2 - 1, Ordering::Relaxed);
        buffers.push(grown);
    }
}

/// Entries of a new deque; deeper recursion doubles it.
const CAPACITY_FIRST: usize = if cfg!(loom) { 2 } else { 256 };

/// A forcer is at work: `pop` must wait for it at the lock.
const FROZEN: u32 = 1;
/// There is no process-wide barrier here: `pop` must pay a fence. Never cleared.
const FENCE: u32 = 2;

const PRIVATE: usize = 1;

fn tagged<T>(job: *mut T) -> *mut T {
    const {
        assert!(
            align_of::<T>() > PRIVATE,
            "the lowest address bit is the tag"
        );
    };
    job.map_addr(|address| address | PRIVATE)
}

fn untagged<T>(job: *mut T) -> *mut T {
    job.map_addr(|address| address & !PRIVATE)
}

fn is_private<T>(job: *mut T) -> bool {
    job.addr() & PRIVATE != 0
}

/// The slots of a deque. Other threads hold pointers to them, so this is not a `Box`, which claims unique access when
/// it moves.
struct Buffer<T>(NonNull<[AtomicPtr<T>]>);

impl<T> Buffer<T> {
    /// Empty slots.
    fn new(capacity: usize) -> Self {
        let slots: Box<[AtomicPtr<T>]> = (0..capacity)
            .map(|_| ptr::null_mut())
            .chain(beyond())
            .map(AtomicPtr::new)
            .collect();
        Self(NonNull::from(Box::leak(slots)))
    }

    /// A pointer to the first slot.
    fn first(&self) -> *mut AtomicPtr<T> {
        self.0.cast().as_ptr()
    }

    fn slots(&self) -> &[AtomicPtr<T>] {
        // SAFETY: allocated by `new`, freed with self, and only reached by shared references.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: an owned array of atomics, which any thread may touch and free.
unsafe impl<T> Send for Buffer<T> {}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: from a box that `new` has leaked, and freed here only. Its slots are freed with the deque, which no
        // thread uses any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Entries behind a buffer's last slot: none, but one in a model, which a thread must never reach.
fn beyond<T>() -> impl Iterator<Item = *mut T> {
    let count = if cfg!(loom) { CAPACITY_FIRST } else { 0 };
    (0..count).map(|_| ptr::without_provenance_mut(BEYOND))
}

/// Marks the end of a buffer in a model; no job has this address.
const BEYOND: usize = 2;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CAPACITY_FIRST, Deque, Popped};
    use std::ptr::from_ref;

    fn deque_of(jobs: &[u64]) -> Deque<u64> {
        let deque = Deque::default();
        for job in jobs {
            push(&deque, job);
        }
        deque
    }

    fn push(deque: &Deque<u64>, job: &u64) {
        let index = deque.len();
        deque.make_room(index);
        deque.push(index, from_ref(job).cast_mut());
    }

    #[test]
    fn private_entries_cannot_be_stolen_and_come_back_in_reverse() {
        let jobs = [0, 1, 2];
        let deque = deque_of(&jobs);
        assert_eq!(deque.steal(0), None);
        assert!(deque.has_private(0));
        for job in jobs.iter().rev() {
            assert_eq!(
                deque.pop(deque.len() - 1, from_ref(job).cast_mut()),
                Popped::Mine
            );
        }
        assert_eq!(deque.len(), 0);
    }

    #[test]
    fn exposed_entries_are_stolen_oldest_first_from_the_given_index_on() {
        let jobs = [0, 1, 2, 3];
        let deque = deque_of(&jobs);
        assert_eq!(deque.expose(3), 3);
        assert_eq!(deque.steal(1), Some(from_ref(&jobs[1]).cast_mut()));
        assert_eq!(deque.steal(0), Some(from_ref(&jobs[0]).cast_mut()));
        assert_eq!(deque.steal(0), Some(from_ref(&jobs[2]).cast_mut()));
        assert_eq!(deque.steal(0), None);
        assert_eq!(
            deque.pop(deque.len() - 1, from_ref(&jobs[3]).cast_mut()),
            Popped::Mine
        );
        for job in jobs[..3].iter().rev() {
            assert_eq!(
                deque.pop(deque.len() - 1, from_ref(job).cast_mut()),
                Popped::Stolen
            );
        }
    }

    #[test]
    fn a_demand_makes_pushes_not_plain_until_the_exposure() {
        let jobs = [0, 1, 2];
        let deque = deque_of(&jobs[..1]);
        assert!(deque.is_plain(1));
        deque.demand();
        assert!(deque.is_demand_pending() && !deque.is_plain(1));
        push(&deque, &jobs[1]);
        assert_eq!(deque.expose(1), 1);
        assert!(deque.is_plain(2) && deque.has_public(0));
        assert_eq!(deque.steal(0), Some(from_ref(&jobs[0]).cast_mut()));
        assert!(
            !deque.has_public(0),
            "what was stolen is no longer there to be taken"
        );
    }

    #[test]
    fn pushes_at_both_ends_of_the_buffer_are_not_plain() {
        let jobs = vec![0; CAPACITY_FIRST + 1];
        assert!(!Deque::<u64>::default().is_plain(0));
        let deque = deque_of(&jobs[..CAPACITY_FIRST]);
        assert!(deque.is_plain(CAPACITY_FIRST - 1) && !deque.is_plain(CAPACITY_FIRST));
        push(&deque, &jobs[CAPACITY_FIRST]);
        assert!(deque.is_plain(CAPACITY_FIRST + 1));
    }

    #[test]
    fn growing_keeps_public_private_and_stolen_entries_apart() {
        let jobs: Vec<u64> = (0..CAPACITY_FIRST as u64 + 2).collect();
        let deque = deque_of(&jobs[..CAPACITY_FIRST]);
        assert_eq!(deque.force(2), 2);
        assert_eq!(deque.steal(0), Some(from_ref(&jobs[0]).cast_mut()));
        for job in &jobs[CAPACITY_FIRST..] {
            push(&deque, job);
        }
        for job in jobs[1..].iter().rev() {
            assert_eq!(
                deque.pop(deque.len() - 1, from_ref(job).cast_mut()),
                Popped::Mine
            );
        }
        assert_eq!(
            deque.pop(deque.len() - 1, from_ref(&jobs[0]).cast_mut()),
            Popped::Stolen
        );
    }
}
