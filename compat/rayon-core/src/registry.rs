//! A pool as its threads share it: its slots, what came from outside, who is woken for what, its end.
//!
//! Not here: the threads themselves (`threads.rs`, `shared.rs`), calls into a pool (`call.rs`), the global one
//! (`global.rs`), and the public handle (`thread_pool.rs`).

use crate::handlers::Handlers;
use crate::job::{JobRef, Place};
use crate::search::Searched;
use crate::sleep::{Counts, Sleep, State};
use crate::slot::{Slot, taken};
use crate::sync::{AtomicBool, AtomicUsize, Injector, Mutex, MutexGuard, Ordering, fence};
use crate::thread_counts::ThreadCounts;
use std::cell::RefCell;
use std::sync::PoisonError;

/// What the threads of one pool share.
pub(crate) struct Registry {
    slots: Box<[Slot]>,
    /// Jobs of threads that have no slot here.
    injected: Injector<JobRef>,
    /// Held while a broadcast is queued, so that all slots see broadcasts in the same order.
    broadcasting: Mutex<()>,
    sleep: Sleep,
    /// Held by a thread that is about to sleep at a latch, until it sleeps or is the last resort.
    deciding: Mutex<()>,
    /// Where the threads come from; `None`: the pool has its own, one for each slot, for life.
    host: Option<&'static dyn Host>,
    threads: ThreadCounts,
    handlers: Handlers,
    /// The handle, and the detached jobs that have not ended.
    users: AtomicUsize,
    has_ended: AtomicBool,
}

/// The threads of somebody else, which take the slots when there is work.
pub(crate) trait Host: Send + Sync {
    /// There is work: calls a thread to a free slot, unless one is on its way.
    fn call_for_work(&'static self);

    /// There is a broadcast for slot `index`: calls a thread to it, if it has none.
    fn call_for_slot(&'static self, index: usize);
}

impl Registry {
    /// A pool of these slots. Without a host it has threads of its own.
    pub(crate) fn new(
        slots: Box<[Slot]>,
        host: Option<&'static dyn Host>,
        handlers: Handlers,
    ) -> Self {
        Self {
            slots,
            injected: Injector::new(),
            broadcasting: Mutex::new(()),
            sleep: Sleep::default(),
            deciding: Mutex::new(()),
            host,
            threads: ThreadCounts::default(),
            handlers,
            users: AtomicUsize::new(1),
            has_ended: AtomicBool::new(false),
        }
    }

    /// A name for the pool while it lives.
    pub(crate) fn id(&self) -> RegistryId {
        RegistryId(std::ptr::from_ref(self) as usize)
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn num_threads(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// A thread that is about to sleep at a latch: until the guard is dropped no other one begins to, or becomes the last resort.
    pub(crate) fn decide_alone(&self) -> MutexGuard<'_, ()> {
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job from outside.
    pub(crate) fn inject(&self, job: JobRef) {
        debug_assert!(!self.has_ended(), "a pool that is used has not ended");
        self.injected.push(job);
        fence(Ordering::SeqCst);
        let counts = self.sleep.counts();
        if counts.wants_wake() {
            self.wake_for_injected(counts);
        }
    }

    /// Hands a job over to the slot of its waiter, which may sleep, and wakes somebody as for a push: a free thread first, because
    /// the waiter may be in another wait now, and may not run the job there. If the waiter has no slot here, any thread is to
    /// come for the job.
    pub(crate) fn hand_over(&self, job: JobRef) {
        let Some(index) = job.awaited().waiter.slot() else {
            return self.inject(job);
        };
        self.slots[index].handed.push(job);
        fence(Ordering::SeqCst);
        let counts = self.sleep.counts();
        if counts.wants_wake() {
            self.wake_for_push(counts, index, Some(index), &RefCell::default());
        }
    }

    /// Queues a job for each slot, in the order of the slots.
    pub(crate) fn inject_broadcast(&self, jobs: &[JobRef]) {
        assert_eq!(self.num_threads(), jobs.len(), "one job for each slot");
        {
            let _alone = self
                .broadcasting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (slot, job) in self.slots.iter().zip(jobs) {
                slot.broadcasts.push(*job);
            }
        }
        fence(Ordering::SeqCst);
        for index in 0..self.num_threads() {
            self.bring_to(index);
        }
    }

    /// Sees to it that a thread in this slot looks for work.
    fn bring_to(&self, index: usize) {
        self.wake_slot(index);
        if let Some(host) = self.host {
            host.call_for_slot(index);
        }
    }

    pub(crate) fn take_injected(&self) -> Option<JobRef> {
        taken(|| self.injected.steal())
    }

    /// Wakes a sleeper for what an external thread has added: one that is free for anything, else one that waits.
    #[cold]
    fn wake_for_injected(&self, counts: Counts) {
        if counts.idle() > 0 && self.wake_idle_from(0) {
            return;
        }
        if counts.waiting() > 0 {
            // Every thread may wait, and then one of them is the last resort.
            let _ = (0..self.num_threads()).any(|index| self.rouse(index, State::Waiting));
        }
    }

    /// Wakes a sleeper for what the thread in slot `pusher` has pushed, and the one in slot `waiter` waits for: one that is
    /// free for anything, else the waiter, else one that waits for that. `seen` is room for the slots that are looked at.
    #[cold]
    pub(crate) fn wake_for_push(
        &self,
        counts: Counts,
        pusher: usize,
        waiter: Option<usize>,
        seen: &RefCell<Vec<usize>>,
    ) {
        if counts.idle() > 0 && self.wake_idle_from(pusher) {
            return;
        }
        if counts.waiting() > 0
            && let Some(waiter) = waiter
            && !self.rouse(waiter, State::Waiting)
        {
            self.wake_waiter_of(waiter, &mut seen.borrow_mut());
        }
    }

    /// Wakes a thread that is free for anything, where the pool has its own, the one in slot `first` before others; or
    /// calls one. Returns whether there is one.
    fn wake_idle_from(&self, first: usize) -> bool {
        match self.host {
            None => (first..self.num_threads())
                .chain(0..first)
                .any(|index| self.rouse(index, State::Idle)),
            Some(host) => {
                host.call_for_work();
                true
            }
        }
    }

    /// Wakes a thread that waits for what the thread in slot `whole` executes, be it through others.
    fn wake_waiter_of(&self, whole: usize, seen: &mut Vec<usize>) {
        seen.clear();
        seen.push(whole);
        let mut next = 0;
        while let Some(&index) = seen.get(next) {
            next += 1;
            for waiter in self.slots[index].executions.waiters() {
                if seen.contains(&waiter) {
                    continue;
                }
                if self.rouse(waiter, State::Waiting) {
                    return;
                }
                seen.push(waiter);
            }
        }
    }

    /// Wakes the thread in a slot if it sleeps so.
    fn rouse(&self, index: usize, state: State) -> bool {
        let slot = &self.slots[index];
        let is_woken = slot.state.is(state) && self.sleep.end(&slot.state, state);
        if is_woken {
            slot.parker.unpark();
        }
        is_woken
    }

    /// Wakes the thread in a slot however it sleeps.
    fn wake_slot(&self, index: usize) {
        if !self.rouse(index, State::Idle) {
            self.rouse(index, State::Waiting);
        }
    }

    /// The latch is set at which the thread in the slot of `place` sleeps, or is about to.
    pub(crate) fn wake_waiter(&self, place: Place) {
        let Some(index) = place.slot() else {
            unreachable!("a thread without a slot waits elsewhere");
        };
        let slot = &self.slots[index];
        self.sleep.interrupt_wait(&slot.state);
        slot.parker.unpark();
    }

    /// One more user, beside the calling one.
    pub(crate) fn add_user(&self) {
        let before = self.users.fetch_add(1, Ordering::AcqRel);
        debug_assert_ne!(before, 0, "a pool that has ended has no users");
    }

    /// One user less. With the last the pool ends.
    pub(crate) fn remove_user(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.has_ended.store(true, Ordering::SeqCst);
            for index in 0..self.num_threads() {
                self.wake_slot(index);
                self.slots[index].parker.unpark();
            }
        }
    }

    /// Whether the threads leave.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// How many of the pool's own threads have started and left.
    pub(crate) fn threads(&self) -> &ThreadCounts {
        &self.threads
    }

    /// Whether the pool has threads of its own, one for each slot.
    pub(crate) fn has_own_threads(&self) -> bool {
        self.host.is_none()
    }

    /// Waits until the pool's own threads have started.
    pub(crate) fn wait_until_started(&self) {
        if self.has_own_threads() {
            self.threads.wait_until_started(self.num_threads());
        }
    }

    /// Waits until the pool's own threads have left their main loops.
    #[cfg(test)]
    pub(crate) fn wait_until_stopped(&self) {
        self.threads.wait_until_stopped(self.num_threads());
    }
}

impl Searched for Registry {
    fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    fn has_work_for_anybody(&self) -> bool {
        !self.injected.is_empty() || self.slots.iter().any(Slot::has_work_for_others)
    }

    fn wake_idle(&self) {
        self.wake_idle_from(0);
    }
}

/// Names a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegistryId(usize);
