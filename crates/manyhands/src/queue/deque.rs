//! The fork-join deque: private to its owner until somebody asks, or somebody must be helped.
//!
//! The owner pushes and pops at the newest end with plain loads and stores. An entry becomes stealable
//! only when it is *exposed*: by the owner, when a thief has left a demand, or by a forcer (the monitor),
//! when the owner is stuck inside a long job. So a join that nobody steals costs no atomic
//! read-modify-write and no fence, and yet no entry is ever out of reach.
//!
//! Not a general queue: entries are popped in the exact reverse order of their pushes, by address.
//!
//! After Lace and LCWS (split deques: Dijk and van de Pol 2014; Rito and Paulino 2022,
//! <https://doi.org/10.1145/3503221.3508443>); here each slot says by a tag bit whether it is private, so
//! no index has to be exact.
//!
//! # Threads
//! The owner calls `push`, `pop`, `answer_demand`, `expose`. Any thread calls `steal`, `demand`,
//! `has_public`, `has_private`. The monitor calls `force`.
//!
//! # States of a slot
//! `null` free or stolen · `job | PRIVATE` only the owner may take it · `job` public: whoever swaps it for
//! null has it, and reads the job only afterwards, so the address may be reused without harm.
//! A slot at or above `bottom` is meaningless.
//!
//! # Ordering
//! F1: the owner's `pop` stores `bottom`, passes the light fence, loads `signal`; `force` stores `FROZEN`
//! into `signal`, passes the heavy fence, loads `bottom`. Either the forcer sees the lowered `bottom` and
//! leaves that slot alone, or the owner sees `FROZEN` and waits for the forcer at the lock.
//!
//! Unsafe: slots are reached through a raw pointer to the current buffer.

use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, Padded, fence as barrier, lock};
use std::ptr;

/// A deque of pointers to `T`.
#[derive(Debug)]
pub(crate) struct Deque<T> {
    /// Requests to the owner. Written by thieves and the forcer, read by the owner at every push and pop.
    signal: Padded<AtomicU32>,
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
    buffers: Mutex<Vec<Box<[AtomicPtr<T>]>>>,
}

/// What the owner found at its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Popped {
    /// The entry is the owner's again.
    Mine,
    /// A thief has it.
    Stolen,
}

impl<T> Deque<T> {
    /// An empty deque.
    pub(crate) fn new() -> Self {
        let buffer = new_buffer(CAPACITY_FIRST);
        let slots = buffer.as_ptr().cast_mut();
        let standing = if barrier::needs_fence() { FENCE } else { 0 };
        Self {
            signal: Padded(AtomicU32::new(standing)),
            bottom: AtomicUsize::new(0),
            slots: AtomicPtr::new(slots),
            capacity: AtomicUsize::new(CAPACITY_FIRST),
            public_start: AtomicUsize::new(0),
            public_end: AtomicUsize::new(0),
            buffers: Mutex::new(vec![buffer]),
        }
    }

    /// Owner: number of entries, stolen ones still waited for included.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        // Relaxed: the owner reads its own word; others take it as a hint.
        self.bottom.load(Ordering::Relaxed)
    }

    /// Owner: adds the newest entry. Returns true when a thief has left a demand.
    ///
    /// `job` must stay valid until it is popped, or until its thief has finished with it.
    #[inline(always)]
    pub(crate) fn push(&self, job: *mut T) -> bool {
        // Relaxed, all three: only the owner writes these words.
        let bottom = self.bottom.load(Ordering::Relaxed);
        if bottom == self.capacity.load(Ordering::Relaxed) {
            self.grow();
        }
        let slots = self.slots.load(Ordering::Relaxed);
        // SAFETY: bottom < capacity, the length of the buffer `slots` points to, which lives as long as self.
        let slot = unsafe { self.slot(slots, bottom) };
        // Relaxed: published by the store of `bottom` below or by the later exposure.
        slot.store(tagged(job), Ordering::Relaxed);
        // Release: publishes the slot and the job; pairs with the Acquire in `force`.
        self.bottom.store(bottom + 1, Ordering::Release);
        // Relaxed: a demand seen late is answered at the next push.
        self.signal.load(Ordering::Relaxed) & DEMAND != 0
    }

    /// Owner: takes back the newest entry, which must be `job`.
    #[inline(always)]
    pub(crate) fn pop(&self, job: *mut T) -> Popped {
        // Relaxed: only the owner writes these words.
        let bottom = self.bottom.load(Ordering::Relaxed) - 1;
        // Relaxed: F1 orders this store before the load of `signal`.
        self.bottom.store(bottom, Ordering::Relaxed);
        barrier::light();
        // Acquire: if a forcer has come and gone, its change of the slot is visible below.
        if self.signal.load(Ordering::Acquire) & (FROZEN | FENCE) == 0 {
            // Relaxed: as in `push`.
            let slots = self.slots.load(Ordering::Relaxed);
            // SAFETY: bottom < capacity, and the buffer lives as long as self.
            let slot = unsafe { self.slot(slots, bottom) };
            // Relaxed: a private tag was written by this thread, and by F1 no forcer may change it now.
            if slot.load(Ordering::Relaxed) == tagged(job) {
                return Popped::Mine;
            }
        }
        self.pop_slow(bottom, job)
    }

    /// Owner: exposes up to `count` of the oldest private entries and clears the demand.
    /// Returns how many were exposed.
    #[cold]
    pub(crate) fn expose(&self, count: usize) -> usize {
        let buffers = lock(&self.buffers);
        // Relaxed: clearing late costs one more visit here.
        self.signal.fetch_and(!DEMAND, Ordering::Relaxed);
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
        self.signal.fetch_and(!(FROZEN | DEMAND), Ordering::Release);
        exposed
    }

    /// Any thread: takes the oldest public entry at or above `from`.
    pub(crate) fn steal(&self, from: usize) -> Option<*mut T> {
        // Acquire: pairs with the Release in `publish`; what matters per slot is the exchange below.
        let end = self.public_end.load(Ordering::Acquire);
        // Relaxed: a hint.
        let start = self.public_start.load(Ordering::Relaxed).max(from);
        if start >= end {
            return None;
        }
        // Acquire: pairs with the Release in `grow`: the buffer's slots were initialised.
        let slots = self.slots.load(Ordering::Acquire);
        for index in start..end {
            // SAFETY: `end` was at most the capacity of a buffer stored before it, buffers only grow, and
            // none is freed while self lives.
            let slot = unsafe { self.slot(slots, index) };
            // Relaxed: the exchange decides.
            let job = slot.load(Ordering::Relaxed);
            if job.is_null() || is_private(job) {
                continue;
            }
            // AcqRel: Acquire pairs with the Release in `publish`, so the thief sees the job.
            // Relaxed on failure: nothing was taken.
            let taken =
                slot.compare_exchange(job, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(job);
            }
        }
        None
    }

    /// Any thread: whether `steal(from)` is worth a try. A hint.
    pub(crate) fn has_public(&self, from: usize) -> bool {
        // Relaxed: a hint.
        let end = self.public_end.load(Ordering::Relaxed);
        end > from && end > self.public_start.load(Ordering::Relaxed)
    }

    /// Any thread: whether entries at or above `from` are private. A hint.
    pub(crate) fn has_private(&self, from: usize) -> bool {
        // Relaxed: a hint.
        let end = self.public_end.load(Ordering::Relaxed).max(from);
        self.bottom.load(Ordering::Relaxed) > end
    }

    /// Any thread: asks the owner to expose something at its next push.
    pub(crate) fn demand(&self) {
        // Relaxed, both: the bit carries no data; the load spares the owner's line a write.
        if self.signal.load(Ordering::Relaxed) & DEMAND == 0 {
            self.signal.fetch_or(DEMAND, Ordering::Relaxed);
        }
    }

    /// Monitor: whether a demand has not been answered yet.
    pub(crate) fn is_demand_pending(&self) -> bool {
        // Relaxed: a hint.
        self.signal.load(Ordering::Relaxed) & DEMAND != 0
    }

    /// Slot `index` of the buffer that begins at `slots`.
    ///
    /// # Safety
    /// `slots` was read from `self.slots`, and `index` is below that buffer's length.
    #[inline(always)]
    unsafe fn slot(&self, slots: *const AtomicPtr<T>, index: usize) -> &AtomicPtr<T> {
        // SAFETY: within the buffer by the caller's promise.
        let slot = unsafe { slots.add(index) };
        // SAFETY: a live slot, because no buffer is freed while `self` lives.
        unsafe { &*slot }
    }

    #[cold]
    #[inline(never)]
    fn pop_slow(&self, bottom: usize, job: *mut T) -> Popped {
        // SeqCst: the owner's side of F1 where the light fence is none (FENCE is set).
        fence(Ordering::SeqCst);
        // Holding the lock, no forcer is between its fence and its end.
        let _buffers = lock(&self.buffers);
        // Relaxed: only the owner writes `slots`.
        let slots = self.slots.load(Ordering::Relaxed);
        // SAFETY: bottom < capacity, and the buffer lives as long as self.
        let slot = unsafe { self.slot(slots, bottom) };
        // AcqRel: orders this taking with a thief's; the job itself is the owner's own.
        let found = slot.swap(ptr::null_mut(), Ordering::AcqRel);
        // Relaxed, both: changed only under the lock.
        if self.public_end.load(Ordering::Relaxed) > bottom {
            self.public_end.store(bottom, Ordering::Relaxed);
        }
        if self.public_start.load(Ordering::Relaxed) > bottom {
            self.public_start.store(bottom, Ordering::Relaxed);
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
        _buffers: &MutexGuard<'_, Vec<Box<[AtomicPtr<T>]>>>,
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
        let grown = new_buffer(capacity * 2);
        if let Some(old) = buffers.last() {
            for (from, to) in old.iter().zip(&grown) {
                // AcqRel: orders the move with a thief's exchange on the same slot.
                // Relaxed: the new buffer is published below.
                to.store(
                    from.swap(ptr::null_mut(), Ordering::AcqRel),
                    Ordering::Relaxed,
                );
            }
        }
        // Release: publishes the new slots; pairs with the Acquire in `steal`.
        self.slots
            .store(grown.as_ptr().cast_mut(), Ordering::Release);
        // Relaxed: only the owner reads it.
        self.capacity.store(capacity * 2, Ordering::Relaxed);
        buffers.push(grown);
    }
}

/// Entries of a new deque; deeper recursion doubles it.
const CAPACITY_FIRST: usize = if cfg!(loom) { 2 } else { 256 };

/// A thief wants work.
const DEMAND: u32 = 1;
/// A forcer is at work: `pop` must wait for it at the lock.
const FROZEN: u32 = 2;
/// There is no process-wide barrier here: `pop` must pay a fence. Never cleared.
const FENCE: u32 = 4;

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

fn new_buffer<T>(capacity: usize) -> Box<[AtomicPtr<T>]> {
    (0..capacity)
        .map(|_| AtomicPtr::new(ptr::null_mut()))
        .collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CAPACITY_FIRST, Deque, Popped};
    use std::ptr::from_ref;

    fn deque_of(jobs: &[u64]) -> Deque<u64> {
        let deque = Deque::new();
        for job in jobs {
            let _ = deque.push(from_ref(job).cast_mut());
        }
        deque
    }

    #[test]
    fn private_entries_cannot_be_stolen_and_come_back_in_reverse() {
        let jobs = [0, 1, 2];
        let deque = deque_of(&jobs);
        assert_eq!(deque.steal(0), None);
        assert!(deque.has_private(0));
        for job in jobs.iter().rev() {
            assert_eq!(deque.pop(from_ref(job).cast_mut()), Popped::Mine);
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
        assert_eq!(deque.pop(from_ref(&jobs[3]).cast_mut()), Popped::Mine);
        for job in jobs[..3].iter().rev() {
            assert_eq!(deque.pop(from_ref(job).cast_mut()), Popped::Stolen);
        }
    }

    #[test]
    fn a_demand_is_seen_by_the_next_push_and_cleared_by_the_exposure() {
        let jobs = [0, 1, 2];
        let deque = Deque::new();
        assert!(!deque.push(from_ref(&jobs[0]).cast_mut()));
        deque.demand();
        assert!(deque.push(from_ref(&jobs[1]).cast_mut()));
        assert_eq!(deque.expose(1), 1);
        assert!(!deque.push(from_ref(&jobs[2]).cast_mut()));
        assert!(deque.has_public(0));
    }

    #[test]
    fn growing_keeps_public_private_and_stolen_entries_apart() {
        let jobs: Vec<u64> = (0..CAPACITY_FIRST as u64 + 2).collect();
        let deque = deque_of(&jobs[..CAPACITY_FIRST]);
        assert_eq!(deque.force(2), 2);
        assert_eq!(deque.steal(0), Some(from_ref(&jobs[0]).cast_mut()));
        for job in &jobs[CAPACITY_FIRST..] {
            let _ = deque.push(from_ref(job).cast_mut());
        }
        for job in jobs[1..].iter().rev() {
            assert_eq!(deque.pop(from_ref(job).cast_mut()), Popped::Mine);
        }
        assert_eq!(deque.pop(from_ref(&jobs[0]).cast_mut()), Popped::Stolen);
    }
}
