//! Where slots come from, and how one is found by its number.
//!
//! Slots are never freed: a slot whose runtime has ended waits in a pool for the next one. So a late wake or a stale
//! hint always meets valid memory.
//!
//! Not here: what is in a slot (`slot.rs`, `occupied_slot.rs`).
//!
//! # Which thread occupies a slot
//! A slot is occupied by one thread at a time. It changes occupants only through the pool's lock, the runtime's mask of
//! external threads, or the claim of a worker, which all order what the old occupant wrote before what the new one
//! reads.
//!
//! Unsafe: the table keeps slots as pointers to leaked memory.

use crate::job::SlotNumber;
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::WorkerSlot;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Mutex, global, leak, lock, process};
use std::ptr;

impl WorkerSlot {
    /// The slot with this number.
    pub(crate) fn by_number(number: SlotNumber) -> Option<&'static Self> {
        // Acquire: pairs with the Release in `take`.
        let slot = TABLE[usize::from(number)].load(Ordering::Acquire);
        if slot.is_null() {
            return None;
        }
        // SAFETY: stored by `take` from a leaked box; the occupant's cells are not touched.
        Some(unsafe { OccupiedSlot::shared(slot) })
    }

    /// Occupies the slot, and returns what only its occupant may use.
    ///
    /// # Safety
    /// From now until the slot is left no other thread occupies it, and the one before has handed it over with
    /// synchronisation. What is returned is not used after the slot has been left.
    pub(crate) unsafe fn occupy(&self) -> &'static OccupiedSlot {
        // Relaxed: this thread has come by the slot, which is in the table since it was made.
        let slot = TABLE[usize::from(self.number)].load(Ordering::Relaxed);
        // SAFETY: stored by `take` from a leaked box, before it gave the slot to anybody; no other thread uses the
        // cells, by the caller's promise.
        unsafe { &*slot }
    }

    /// Wakes the occupant of slot `number` if it sleeps.
    pub(crate) fn wake(number: SlotNumber) {
        if let Some(slot) = Self::by_number(number) {
            slot.parker.unpark();
        }
    }

    /// Wakes the occupants of all slots, to look again.
    pub(crate) fn unpark_all() {
        let made = lock(&POOL).made;
        let numbers = (0..made).filter_map(|number| SlotNumber::try_from(number).ok());
        numbers.for_each(Self::wake);
    }

    /// Lends a slot without a runtime to a thread that only waits. Such a slot can be woken, no more.
    ///
    /// # Panics
    /// When 65,536 slots are in use, and in a forked child.
    pub(crate) fn borrow_to_wait<R>(f: impl FnOnce(&'static OccupiedSlot) -> R) -> R {
        struct Borrowed(&'static WorkerSlot);
        impl Drop for Borrowed {
            fn drop(&mut self) {
                self.0.give_back();
            }
        }
        process::refuse_forked();
        let slot =
            Self::take(ptr::null()).expect("fewer than 65,536 threads take part or wait at once");
        let lent = Borrowed(slot);
        // SAFETY: taken from the pool just now, and given back when `f` has ended.
        f(unsafe { lent.0.occupy() })
    }

    /// Takes an unused slot for `runtime`, a `RuntimeInner`, which must give it back before it is freed.
    ///
    /// `None` when 65,536 slots are in use.
    pub(crate) fn take(runtime: *const ()) -> Option<&'static Self> {
        #[cfg(test)]
        if tests::ARE_REFUSED.get() {
            return None;
        }
        let mut pool = lock(&POOL);
        let slot = match pool.unused.pop() {
            Some(slot) => slot,
            None => {
                let number = SlotNumber::try_from(pool.made).ok()?;
                let slot = leak(OccupiedSlot::new(number));
                pool.made += 1;
                // Release: pairs with the Acquire in `by_number`.
                TABLE[usize::from(number)].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
                slot
            }
        };
        slot.assign_to(runtime);
        Some(slot)
    }

    /// Gives the slot back. Nobody may occupy it, and its queues must be empty.
    pub(crate) fn give_back(&'static self) {
        debug_assert!(
            self.is_empty(),
            "a slot is given back with work in its queues"
        );
        self.detach();
        // The next occupant would run what is in its queues, which may be bound to another thread. So one with
        // something in them is never taken again.
        if self.is_empty() {
            lock(&POOL).unused.push(self);
        }
    }
}

const SLOTS_MAX: usize = if cfg!(shuttle) {
    256
} else {
    SlotNumber::MAX as usize + 1
};

global! {
    /// Every slot ever made, by number.
    static TABLE: [AtomicPtr<OccupiedSlot>; SLOTS_MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS_MAX];
}

global! {
    /// Slots that no runtime holds.
    static POOL: Mutex<Pool> = Mutex::new(Pool {
        unused: Vec::new(),
        made: 0,
    });
}

#[derive(Debug)]
struct Pool {
    unused: Vec<&'static WorkerSlot>,
    made: usize,
}

#[cfg(test)]
mod tests {
    use crate::simulation::Simulation;
    use crate::{Runtime, join, parallel, scope, task};
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    thread_local! {
        /// This thread gets no slots, as when all are in use.
        pub(crate) static ARE_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    fn without_slots<R>(work: impl FnOnce() -> R) -> R {
        ARE_REFUSED.set(true);
        let done = catch_unwind(AssertUnwindSafe(work));
        ARE_REFUSED.set(false);
        done.unwrap()
    }

    fn message_of(work: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        crate::job::PanicPayload::new(payload).to_string()
    }

    #[test]
    fn a_thread_without_a_slot_runs_its_calls_alone_and_takes_part_again_later() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        let calls = || {
            let sum = AtomicUsize::new(0);
            parallel::for_each(0..100, |i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
            scope(|scope| {
                scope.spawn(|_| {
                    sum.fetch_add(1, Ordering::Relaxed);
                });
            });
            let (a, b) = join(|| 1, || 2);
            sum.into_inner() + a + b
        };
        // More often than there are places for external threads.
        for _ in 0..2000 {
            assert_eq!(without_slots(calls), 4954);
        }
        runtime.install(|| assert_eq!(calls(), 4954));
        let mut slots = runtime.shared().all_slots();
        assert!(slots.any(|slot| !slot.is_worker()), "it was a external");
    }

    #[test]
    fn a_thread_without_a_slot_cannot_wait_and_panics_with_the_reason() {
        const SENTENCE: &str = "fewer than 65,536 threads take part or wait at once";
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        without_slots(|| {
            let handle = task::spawn(std::future::pending::<()>());
            assert_eq!(message_of(|| drop(handle.join())), SENTENCE);
            assert_eq!(
                message_of(|| task::block_on(std::future::pending())),
                SENTENCE
            );
            let simulated = message_of(|| drop(Simulation::new(1).run(async {})));
            assert_eq!(simulated, SENTENCE);
        });
        assert_eq!(task::run(|| 7).join().unwrap(), 7);
    }

    #[test]
    fn a_worker_without_a_slot_is_started_when_there_is_one() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        let handle = without_slots(|| task::run(|| 7));
        assert_eq!(task::run(|| 8).join().unwrap(), 8);
        assert_eq!(handle.join().unwrap(), 7);
    }
}
