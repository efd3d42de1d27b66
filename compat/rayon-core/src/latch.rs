//! Latches: set once, with one waiter.
//!
//! A waiter is a thread of a pool, which helps and sleeps by its slot (`wait.rs`), or an external thread, which looks
//! a few times, because a short call is over before a thread sleeps and is woken, and then sleeps.
//!
//! # Who looks does not yield
//! Between two looks an external thread spins, and so does a thread of a runtime, be it a waiter or one that searches;
//! after some microseconds it sleeps. A thread that yields gets its processor back only when the other threads there
//! have had their turns, those of other programs too. A waiter would not see until then that its latch is set, though a
//! sleeper would have been woken; what a searcher would miss, `search.rs` says.
//!
//! # Lifetime
//! A latch lies in its waiter's frame, which may be gone as soon as the latch is set. So the thread that sets it reads
//! before that step what it needs to wake the waiter, and keeps that alive.
//!
//! Unsafe: a latch is set by pointer.

use crate::job::{Awaited, Place};
use crate::park::Parker;
use crate::registry::Registry;
use crate::sync::{AtomicU8, AtomicUsize, LOOKS, Ordering};
use crate::unwind::AbortIfPanic;
use crate::worker::WorkerThread;
use manyhands::Handle;
use std::sync::Arc;
use std::time::Duration;

/// Set once, by the last access to what its waiter waits for.
pub(crate) struct Latch {
    state: AtomicU8,
    owner: Owner,
}

const UNSET: u8 = 0;
const ASLEEP: u8 = 1;
const SET: u8 = 2;

/// Who waits.
enum Owner {
    /// The thread in a slot. `registry` outlives the thread, and with it the wait.
    Slot {
        registry: *const Registry,
        place: Place,
        /// Whether threads of another pool set the latch, which do not keep `registry` alive.
        is_cross: bool,
    },
    External(Arc<Parker>),
}

// SAFETY: `registry` is only followed as described at `Latch::set`.
unsafe impl Send for Latch {}
// SAFETY: as above; the state is atomic.
unsafe impl Sync for Latch {}

impl Latch {
    /// A latch for the calling thread, `worker` or an external one, that jobs of `setters` will set.
    #[inline]
    pub(crate) fn new(worker: Option<&WorkerThread>, setters: &Registry) -> Self {
        let owner = match worker {
            Some(worker) => Owner::Slot {
                registry: Arc::as_ptr(worker.registry()),
                place: worker.place(),
                is_cross: !std::ptr::eq(Arc::as_ptr(worker.registry()), setters),
            },
            None => Owner::External(Arc::default()),
        };
        Self {
            state: AtomicU8::new(UNSET),
            owner,
        }
    }

    /// Whether it is set. What happened before that is visible then.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.state.load(Ordering::Acquire) == SET
    }

    /// A name for it while it lives.
    #[inline]
    pub(crate) fn id(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Who waits here, as jobs show it. A place counts only if it is one of the pool whose threads set this latch.
    #[inline]
    pub(crate) fn awaited(&self) -> Awaited {
        let waiter = match self.owner {
            Owner::Slot {
                place,
                is_cross: false,
                ..
            } => place,
            _ => Place::ELSEWHERE,
        };
        Awaited {
            latch: self.id(),
            waiter,
        }
    }

    /// Waiter: says that it is about to sleep. False if the latch is set.
    pub(crate) fn fall_asleep(&self) -> bool {
        // Acquire: as in `is_set`.
        let before =
            self.state
                .compare_exchange(UNSET, ASLEEP, Ordering::Relaxed, Ordering::Acquire);
        before != Err(SET)
    }

    /// Waiter: is awake again, for whatever reason.
    pub(crate) fn wake_up(&self) {
        // Relaxed: `is_set` synchronises.
        let _ = self
            .state
            .compare_exchange(ASLEEP, UNSET, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// External waiter: waits until the latch is set. A thread of manyhands declares it when it sleeps, so that another
    /// one runs in its place. If the system has refused the pool's threads, it goes on when they are allowed again.
    ///
    /// # Panics
    /// If the waiter has a slot, whose wait is another one.
    pub(crate) fn wait_outside(&self) {
        let Owner::External(parker) = &self.owner else {
            unreachable!("a thread with a slot waits there");
        };
        for _ in 0..LOOKS {
            if self.is_set() {
                return;
            }
            pause();
        }
        if self.fall_asleep() {
            // Others hold pointers into the frames below.
            let frame = AbortIfPanic;
            manyhands::task::blocking(|| {
                while !parker.park(Some(BETWEEN_TRIES)) {
                    retry_refused_threads();
                }
            });
            frame.disarm();
        }
        debug_assert!(self.is_set(), "who sets a latch gives the token after that");
    }

    /// Sets the latch and wakes its waiter.
    ///
    /// # Safety
    /// 1. `this` is valid until the latch is set. 2. The calling thread has a slot in the pool of `setters`.
    pub(crate) unsafe fn set(this: *const Self) {
        // SAFETY: valid by 1.
        let owner = unsafe { &(*this).owner };
        match *owner {
            Owner::Slot {
                registry,
                place,
                is_cross,
            } => {
                let kept = is_cross.then(|| {
                    // SAFETY: from an `Arc`, of which the waiter holds an owner while it waits.
                    unsafe { Arc::increment_strong_count(registry) };
                    // SAFETY: that owner is this one.
                    unsafe { Arc::from_raw(registry) }
                });
                // SAFETY: valid by 1.
                let state = unsafe { &(*this).state };
                // AcqRel: hands on what happened before, also from earlier steps of the waiter.
                if state.swap(SET, Ordering::AcqRel) == ASLEEP {
                    // SAFETY: kept alive by `kept`, or by the slot of the calling thread.
                    unsafe { &*registry }.wake_waiter(place);
                }
                drop(kept);
            }
            Owner::External(ref parker) => {
                let parker = Arc::clone(parker);
                // SAFETY: valid by 1.
                let state = unsafe { &(*this).state };
                // Release: pairs with the Acquire in `is_set` and `fall_asleep`.
                if state.swap(SET, Ordering::Release) == ASLEEP {
                    parker.unpark();
                }
            }
        }
    }
}

/// Starts threads that the system has refused to manyhands, if it allows them now.
pub(crate) fn retry_refused_threads() {
    // Each thread that enters a runtime does that.
    if let Some(runtime) = Handle::try_current() {
        drop(runtime.enter());
    }
}

/// How long an external thread waits before it tries to start threads that the system has refused.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Passes the time between two looks, on the processor.
pub(crate) fn pause() {
    (0..16).for_each(|_| std::hint::spin_loop());
}

/// A latch that is set when a count reaches zero.
pub(crate) struct CountLatch {
    count: AtomicUsize,
    latch: Latch,
}

impl CountLatch {
    /// See [`Latch::new`].
    pub(crate) fn new(count: usize, worker: Option<&WorkerThread>, setters: &Registry) -> Self {
        Self {
            count: AtomicUsize::new(count),
            latch: Latch::new(worker, setters),
        }
    }

    /// What is waited at.
    pub(crate) fn latch(&self) -> &Latch {
        &self.latch
    }

    /// One more. The count is not zero yet.
    pub(crate) fn increment(&self) {
        // Relaxed: the caller is one of those counted.
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        debug_assert_ne!(before, 0, "a count that has reached zero stays there");
    }

    /// One less.
    ///
    /// # Safety
    /// As for [`Latch::set`], until the count is lowered.
    pub(crate) unsafe fn decrement(this: *const Self) {
        // SAFETY: valid by the caller's promise.
        let count = unsafe { &(*this).count };
        // AcqRel: the last one hands on what all have done.
        if count.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the waiter waits for the latch, so it is valid until that is set.
            let latch = unsafe { &raw const (*this).latch };
            // SAFETY: 1. as above. 2. By the caller's promise.
            unsafe { Latch::set(latch) };
        }
    }
}
