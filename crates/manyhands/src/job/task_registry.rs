//! The registry of one runtime's waiting tasks; a wake from outside reaches the runtime through it.
//!
//! Only its wakers know a waiting task. So that a runtime can drop its waiting tasks when it ends, each task registers
//! here before it waits for the first time, and unregisters when it is done. A task holds nothing that keeps its
//! runtime alive. So a wake from outside takes a *keep-alive guard* before it touches the runtime: the registry counts it until
//! it has ended ([`TaskRegistry::with_runtime`]). Registries are never freed: one whose runtime has ended is reused.
//!
//! # Threads
//! Any thread may call anything.
//!
//! # Why the runtime is valid for a guard's holder
//! Only a thread that has the right to queue a registered task takes a guard. The runtime ends (`is_deserted`) only
//! when no task is registered and there is no guard. A task that is about to be queued is still registered. Once it has
//! been queued, so that it can be dropped and unregistered, the guard is still counted.
//!
//! Not here: what is done with the tasks.
//!
//! Unsafe: sends pointers from thread to thread.

use crate::job::{Job, abort};
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Backoff, Mutex, Padded, lock};
use std::num::NonZeroU32;
use std::ptr;

/// One runtime's registry.
#[derive(Debug, Default)]
pub(crate) struct TaskRegistry {
    runtime: AtomicPtr<()>,
    shards: [Padded<Shard>; SHARDS],
}

/// The key of a registered task in its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskKey(NonZeroU32);

#[derive(Debug, Default)]
struct Shard {
    /// Wakes from outside that have not ended: the runtime does not end before.
    guards: AtomicUsize,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    slots: Vec<Slot>,
    first_free: Option<u32>,
    taken: usize,
    /// No task may wait any more.
    closed: bool,
}

/// A registered task, or, as an odd address, the index of the next free slot. One word, because every waiting task has
/// one.
#[derive(Debug, Clone, Copy)]
struct Slot(*mut Job);

// SAFETY: the pointer forbids it; the registry only returns it, to threads that may use it.
unsafe impl Send for Slot {}

impl Slot {
    /// A free slot, followed by the free slot `next`.
    fn free(next: Option<u32>) -> Self {
        let next = next.map_or(0, |next| next as usize + 1);
        Self(ptr::without_provenance_mut(next << 1 | 1))
    }

    /// The task registered here.
    fn job(self) -> Option<*mut Job> {
        self.0.addr().is_multiple_of(2).then_some(self.0)
    }

    /// The free slot after this free one.
    fn next_free(self) -> Option<u32> {
        let next = (self.0.addr() >> 1).checked_sub(1)?;
        Some(u32::try_from(next).expect("slots are counted with 32 bits"))
    }
}

impl TaskRegistry {
    /// Opens a registry that is deserted, for a runtime at this address.
    #[cfg(not(loom))]
    pub(crate) fn open(&self, runtime: *const ()) {
        debug_assert!(self.is_deserted(), "a runtime's tasks end before it does");
        for shard in &self.shards {
            *lock(&shard.slots) = Slots::default();
        }
        // Relaxed: the runtime's threads have passed the registry to every thread that reads it.
        self.runtime.store(runtime.cast_mut(), Ordering::Relaxed);
    }

    /// Registers a task, which must unregister before it is freed. `None` when the registry is closed: then
    /// the task must not wait. `spread` chooses the shard.
    pub(crate) fn register(&self, job: *mut Job, spread: usize) -> Option<TaskKey> {
        for step in 0..SHARDS {
            let shard = (spread + step) % SHARDS;
            let mut slots = lock(&self.shards[shard].slots);
            if slots.closed {
                return None;
            }
            if let Some(slot) = slots.take(job) {
                return Some(TaskKey::new(slot, shard));
            }
            // It is full: any other shard will do.
        }
        abort("4,294,967,264 tasks of one runtime wait, and one more is to")
    }

    /// Unregisters a task.
    pub(crate) fn take_out(&self, key: TaskKey) {
        let shard = &self.shards[key.shard()];
        lock(&shard.slots).give_back(key.slot());
    }

    /// Calls `call` with the runtime's address, which is valid meanwhile. The caller has the right to queue a
    /// registered task. `spread` chooses the shard. `call` does not unwind: the runtime would not end then.
    #[inline]
    pub(crate) fn with_runtime<R>(&self, spread: usize, call: impl FnOnce(*const ()) -> R) -> R {
        let guards = &self.shards[spread % SHARDS].guards;
        // SeqCst: comes before the push of the task; see `is_deserted`.
        guards.fetch_add(1, Ordering::SeqCst);
        // Relaxed: written before the first task was registered.
        let result = call(self.runtime.load(Ordering::Relaxed));
        // SeqCst: what `call` did comes before the runtime's end; pairs with `is_deserted`.
        guards.fetch_sub(1, Ordering::SeqCst);
        result
    }

    /// Closes the registry for new tasks, and calls `cancel` for each registered one.
    pub(crate) fn close(&self, mut cancel: impl FnMut(*mut Job)) {
        for shard in &self.shards {
            let mut slots = lock(&shard.slots);
            slots.closed = true;
            let jobs = slots.slots.iter().filter_map(|slot| slot.job());
            jobs.for_each(&mut cancel);
        }
    }

    /// How many tasks are registered. Once 0 for a closed registry, it stays 0.
    pub(crate) fn registered(&self) -> usize {
        let taken = |shard: &Padded<Shard>| lock(&shard.slots).taken;
        self.shards.iter().map(taken).sum()
    }

    /// Whether no task is registered and there is no guard. Once true of a closed registry, it stays true.
    pub(crate) fn is_deserted(&self) -> bool {
        // SeqCst: a guard was counted before its holder pushed the task whose end made the registry empty.
        let is_let_go = |shard: &Padded<Shard>| shard.guards.load(Ordering::SeqCst) == 0;
        self.registered() == 0 && self.shards.iter().all(is_let_go)
    }

    /// Calls `discard`, which drops queued tasks, until no task is registered and there is no guard. The registry is
    /// closed, and no worker runs any more.
    pub(crate) fn until_deserted(&self, mut discard: impl FnMut()) {
        discard();
        let mut backoff = Backoff::default();
        while !self.is_deserted() {
            // A thread outside is about to queue a task that it has woken.
            backoff.wait();
            discard();
        }
    }
}

impl TaskKey {
    fn new(slot: u32, shard: usize) -> Self {
        let shard = u32::try_from(shard).expect("there are a few shards");
        let bits = (slot + 1) << SHARD_BITS | shard;
        Self(NonZeroU32::new(bits).expect("the slot's number is not zero"))
    }

    /// From [`to_bits`](Self::to_bits); `None` from 0.
    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        NonZeroU32::new(bits).map(Self)
    }

    /// As a number that is not 0.
    pub(crate) fn to_bits(self) -> u32 {
        self.0.get()
    }

    fn slot(self) -> u32 {
        (self.0.get() >> SHARD_BITS) - 1
    }

    /// The shard, for a guard.
    pub(crate) fn shard(self) -> usize {
        (self.0.get() as usize) % SHARDS
    }
}

impl Slots {
    /// Takes a slot for a task, if there is one.
    fn take(&mut self, job: *mut Job) -> Option<u32> {
        let slot = match self.first_free {
            Some(free) => free,
            None => {
                let new = u32::try_from(self.slots.len()).ok();
                let new = new.filter(|&new| new < SLOTS_MAX)?;
                self.slots.push(Slot::free(None));
                new
            }
        };
        let key = &mut self.slots[slot as usize];
        self.first_free = key.next_free();
        *key = Slot(job);
        self.taken += 1;
        Some(slot)
    }

    fn give_back(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot::free(self.first_free);
        self.first_free = Some(slot);
        self.taken -= 1;
    }
}

const SHARD_BITS: u32 = if cfg!(loom) { 0 } else { 4 };
/// This number of threads can register tasks, or wake some from outside, without contention for one lock.
const SHARDS: usize = 1 << SHARD_BITS;
/// Tasks that can wait in one shard. Few in unit tests, so that they can fill it.
const SLOTS_MAX: u32 = if cfg!(all(test, not(loom))) {
    4096
} else {
    (u32::MAX >> SHARD_BITS) - 1
};

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{SLOTS_MAX, TaskKey, TaskRegistry};
    use std::ptr;

    #[test]
    fn keys_survive_the_packing_and_slots_are_reused() {
        let registry = TaskRegistry::default();
        let job = ptr::without_provenance_mut(64);
        let places: Vec<_> = (0..100)
            .map(|i| registry.register(job, i).unwrap())
            .collect();
        for (i, key) in places.iter().enumerate() {
            assert_eq!((key.shard(), key.slot() as usize), (i % 16, i / 16));
            assert_eq!(TaskKey::from_bits(key.to_bits()), Some(*key));
        }
        assert!(!registry.is_deserted());
        registry.take_out(places[20]);
        assert_eq!(registry.register(job, 4), Some(places[20]));
        places.into_iter().for_each(|key| registry.take_out(key));
        assert!(registry.is_deserted());
    }

    #[test]
    fn a_task_whose_shard_is_full_waits_in_another_one() {
        let registry = TaskRegistry::default();
        let job = ptr::without_provenance_mut(64);
        let count = 2 * SLOTS_MAX as usize + 1;
        let places: Vec<_> = (0..count)
            .map(|_| registry.register(job, 15).unwrap())
            .collect();
        let in_shard = |shard| places.iter().filter(|key| key.shard() == shard).count();
        let full = SLOTS_MAX as usize;
        assert_eq!((in_shard(15), in_shard(0), in_shard(1)), (full, full, 1));
        registry.take_out(places[0]);
        assert_eq!(registry.register(job, 15), Some(places[0]));
        places.into_iter().for_each(|key| registry.take_out(key));
        registry.close(|_| unreachable!("nobody is there"));
        assert_eq!(registry.register(job, 15), None);
    }

    #[test]
    fn a_closed_registry_takes_no_task_and_lists_those_it_has() {
        let registry = TaskRegistry::default();
        let job = ptr::without_provenance_mut(64);
        let key = registry.register(job, 7).unwrap();
        let mut seen = Vec::new();
        registry.close(|job| seen.push(job));
        assert_eq!(seen, [job]);
        assert_eq!(registry.register(job, 0), None);
        registry.with_runtime(key.shard(), |_| {
            registry.take_out(key);
            assert!(!registry.is_deserted());
        });
        assert!(registry.is_deserted());
    }
}
