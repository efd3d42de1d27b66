//! Where the waiting tasks of one runtime are registered, and where whoever wakes one from outside meets
//! the runtime.
//!
//! A task that waits is known only to those who will wake it. So that a runtime can drop its waiting tasks
//! when it ends, each registers here the first time it has to wait, and takes itself out when it is done.
//! And since a task holds nothing that keeps its runtime alive, a wake from outside *visits* the registry
//! before it touches the runtime. Homes are never freed: one whose runtime has ended waits for the next.
//!
//! # Threads
//! Any thread may call anything.
//!
//! # Why a visitor finds the runtime
//! Only who has the right to queue a registered task visits. The runtime ends (`is_deserted`) only when no
//! task is registered and nobody visits: a task that is about to be queued is still registered, and when it
//! has been queued, so that it can be dropped and taken out, its visitor is still counted.
//!
//! Not here: what is done with the tasks.
//!
//! Unsafe: sends pointers from thread to thread.

use crate::job::{Job, abort};
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Backoff, Mutex, Padded, lock};
#[cfg(not(loom))]
use crate::sync::{global, leak};
use std::num::NonZeroU32;
use std::ptr;

/// One runtime's registry.
#[derive(Debug)]
pub(crate) struct TaskRegistry {
    runtime: AtomicPtr<()>,
    shards: [Padded<Shard>; SHARDS],
}

/// Where in its registry a task is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TaskKey(NonZeroU32);

/// A visit from outside: the runtime does not end before it does.
#[derive(Debug)]
struct KeepAlive<'registry> {
    registry: &'registry TaskRegistry,
    shard: &'registry Shard,
}

#[derive(Debug)]
struct Shard {
    visitors: AtomicUsize,
    slots: Mutex<Slots>,
}

#[derive(Debug)]
struct Slots {
    slots: Vec<Slot>,
    first_free: Option<u32>,
    taken: usize,
    /// No task may wait any more.
    closed: bool,
}

/// Why a shard takes no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    /// No task may wait any more.
    Closed,
    /// It has no more slots.
    Full,
}

/// A registered task, or, as an odd address, the next free slot. One word, because every waiting task has one.
#[derive(Debug, Clone, Copy)]
struct Slot(*mut Job);

// SAFETY: the pointer forbids it; it is only handed back, to those who may use it.
unsafe impl Send for Slot {}

impl Slot {
    /// A free slot before the free slot `next`.
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
    /// A registry of no runtime.
    pub(crate) fn new() -> Self {
        Self {
            runtime: AtomicPtr::new(ptr::null_mut()),
            shards: std::array::from_fn(|_| {
                Padded(Shard {
                    visitors: AtomicUsize::new(0),
                    slots: Mutex::new(Slots::new()),
                })
            }),
        }
    }

    /// An unused registry, for a runtime at this address.
    #[cfg(not(loom))]
    pub(crate) fn take(runtime: *const ()) -> &'static Self {
        let unused = lock(&UNUSED).pop();
        let registry = unused.unwrap_or_else(|| leak(Self::new()));
        for shard in &registry.shards {
            *lock(&shard.slots) = Slots::new();
        }
        // Relaxed: whoever reads it was given the registry by the runtime's threads.
        registry
            .runtime
            .store(runtime.cast_mut(), Ordering::Relaxed);
        registry
    }

    /// Gives the registry back. It must be deserted.
    #[cfg(not(loom))]
    pub(crate) fn give_back(&'static self) {
        debug_assert!(self.is_deserted(), "a runtime's tasks end before it does");
        lock(&UNUSED).push(self);
    }

    /// Registers a task, which must take itself out before it is freed. `None` when the registry is closed: then
    /// the task must not wait. `spread` chooses the shard.
    pub(crate) fn register(&self, job: *mut Job, spread: usize) -> Option<TaskKey> {
        for step in 0..SHARDS {
            let shard = (spread + step) % SHARDS;
            match lock(&self.shards[shard].slots).take(job) {
                Ok(slot) => return Some(TaskKey::new(slot, shard)),
                Err(Refused::Closed) => return None,
                // The next one is as good.
                Err(Refused::Full) => {}
            }
        }
        abort("4,294,967,264 tasks of one runtime wait, and one more is to")
    }

    /// Takes a task out.
    pub(crate) fn take_out(&self, place: TaskKey) {
        lock(&self.shard(place).slots).give_back(place.slot());
    }

    /// Calls `call` with the runtime's address, which is valid meanwhile. The caller has the right to queue a
    /// registered task. `spread` chooses the shard.
    #[inline]
    pub(crate) fn during_visit<R>(&self, spread: usize, call: impl FnOnce(*const ()) -> R) -> R {
        let visit = self.visit(spread);
        call(visit.runtime())
    }

    /// Begins a visit. The caller has the right to queue a registered task. `spread` chooses the shard.
    fn visit(&self, spread: usize) -> KeepAlive<'_> {
        let shard = &self.shards[spread % SHARDS];
        // SeqCst: comes before the push of the task; see `is_deserted`.
        shard.visitors.fetch_add(1, Ordering::SeqCst);
        KeepAlive {
            registry: self,
            shard,
        }
    }

    /// Lets no more tasks register, and calls `cancel` for each that is registered now.
    pub(crate) fn close(&self, mut cancel: impl FnMut(*mut Job)) {
        for shard in &self.shards {
            let mut slots = lock(&shard.slots);
            slots.closed = true;
            let jobs = slots.slots.iter().filter_map(|slot| slot.job());
            jobs.for_each(&mut cancel);
        }
    }

    /// How many tasks are registered.
    pub(crate) fn registered(&self) -> usize {
        let taken = |shard: &Padded<Shard>| lock(&shard.slots).taken;
        self.shards.iter().map(taken).sum()
    }

    /// Whether no task is registered. Once true of a closed registry, true for ever.
    pub(crate) fn is_empty(&self) -> bool {
        let mut shards = self.shards.iter();
        shards.all(|shard| lock(&shard.slots).taken == 0)
    }

    /// Whether no task is registered and nobody visits. Once true of a closed registry, true for ever.
    pub(crate) fn is_deserted(&self) -> bool {
        // SeqCst: a visitor counted itself before it pushed the task whose end made the registry empty.
        self.is_empty()
            && self
                .shards
                .iter()
                .all(|shard| shard.visitors.load(Ordering::SeqCst) == 0)
    }

    /// Calls `discard`, which drops what is queued, until no task is registered and nobody visits. The registry is
    /// closed, and no worker runs any more.
    pub(crate) fn until_deserted(&self, mut discard: impl FnMut()) {
        discard();
        let mut backoff = Backoff::default();
        while !self.is_deserted() {
            // Somebody outside is about to queue a task that it has woken.
            backoff.wait();
            discard();
        }
    }

    fn shard(&self, place: TaskKey) -> &Shard {
        &self.shards[place.shard()]
    }
}

impl KeepAlive<'_> {
    /// The runtime's address. Valid while the visit lasts.
    fn runtime(&self) -> *const () {
        // Relaxed: written before the first task was registered.
        self.registry.runtime.load(Ordering::Relaxed)
    }
}

impl Drop for KeepAlive<'_> {
    fn drop(&mut self) {
        // SeqCst: what the visitor did comes before the runtime's end; pairs with `is_deserted`.
        self.shard.visitors.fetch_sub(1, Ordering::SeqCst);
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

    /// The shard, for a visit.
    pub(crate) fn shard(self) -> usize {
        (self.0.get() as usize) % SHARDS
    }
}

impl Slots {
    const fn new() -> Self {
        Self {
            slots: Vec::new(),
            first_free: None,
            taken: 0,
            closed: false,
        }
    }

    fn take(&mut self, job: *mut Job) -> Result<u32, Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        let slot = match self.first_free {
            Some(free) => free,
            None => {
                let new = u32::try_from(self.slots.len())
                    .ok()
                    .filter(|&new| new < SLOTS_MAX)
                    .ok_or(Refused::Full)?;
                self.slots.push(Slot::free(None));
                new
            }
        };
        let place = &mut self.slots[slot as usize];
        self.first_free = place.next_free();
        *place = Slot(job);
        self.taken += 1;
        Ok(slot)
    }

    fn give_back(&mut self, slot: u32) {
        self.slots[slot as usize] = Slot::free(self.first_free);
        self.first_free = Some(slot);
        self.taken -= 1;
    }
}

#[cfg(not(loom))]
global! {
    /// Homes that no runtime has.
    static UNUSED: Mutex<Vec<&'static TaskRegistry>> = Mutex::new(Vec::new());
}

const SHARD_BITS: u32 = if cfg!(loom) { 0 } else { 4 };
/// So many threads can let tasks wait, or wake some from outside, without meeting at one lock.
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
    fn places_survive_the_packing_and_are_used_again() {
        let registry = TaskRegistry::take(ptr::null());
        let job = ptr::without_provenance_mut(64);
        let places: Vec<_> = (0..100)
            .map(|i| registry.register(job, i).unwrap())
            .collect();
        for (i, place) in places.iter().enumerate() {
            assert_eq!((place.shard(), place.slot() as usize), (i % 16, i / 16));
            assert_eq!(TaskKey::from_bits(place.to_bits()), Some(*place));
        }
        assert!(!registry.is_deserted());
        registry.take_out(places[20]);
        assert_eq!(registry.register(job, 4), Some(places[20]));
        places
            .into_iter()
            .for_each(|place| registry.take_out(place));
        assert!(registry.is_deserted());
        registry.give_back();
    }

    #[test]
    fn a_task_whose_shard_is_full_waits_in_another_one() {
        let registry = TaskRegistry::take(ptr::null());
        let job = ptr::without_provenance_mut(64);
        let count = 2 * SLOTS_MAX as usize + 1;
        let places: Vec<_> = (0..count)
            .map(|_| registry.register(job, 15).unwrap())
            .collect();
        let in_shard = |shard| places.iter().filter(|place| place.shard() == shard).count();
        let full = SLOTS_MAX as usize;
        assert_eq!((in_shard(15), in_shard(0), in_shard(1)), (full, full, 1));
        registry.take_out(places[0]);
        assert_eq!(registry.register(job, 15), Some(places[0]));
        places
            .into_iter()
            .for_each(|place| registry.take_out(place));
        registry.close(|_| unreachable!("nobody is there"));
        assert_eq!(registry.register(job, 15), None);
        registry.give_back();
    }

    #[test]
    fn a_closed_home_takes_nobody_and_shows_who_is_there() {
        let registry = TaskRegistry::take(ptr::null());
        let job = ptr::without_provenance_mut(64);
        let place = registry.register(job, 7).unwrap();
        let mut seen = Vec::new();
        registry.close(|job| seen.push(job));
        assert_eq!(seen, [job]);
        assert_eq!(registry.register(job, 0), None);
        let visit = registry.visit(place.shard());
        registry.take_out(place);
        assert!(!registry.is_deserted());
        drop(visit);
        assert!(registry.is_deserted());
        registry.give_back();
    }
}
