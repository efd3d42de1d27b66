//! Threads that the system has refused, and who tries again.
//!
//! A start is refused for a moment where a limit of processes or of memory is reached. Work that waits for that
//! thread would wait for ever if nobody tried again: there may be no other thread of the runtime. So a runtime
//! that was refused one is put on a list, and every thread that waits in this library sleeps for a
//! few milliseconds at a time while there is anybody on it, and tries again for all of them. So does who enters
//! a runtime. Where the monitor runs it tries again too, at every round in which work waits, and new work
//! always does, but not more often than once in a millisecond.
//!
//! Where no thread comes for a second and nothing runs, that is reported as a stall. After ten seconds threads that
//! wait for the pool's work panic, if the pool has no thread: what they wait for may never come.
//!
//! # Ordering
//! The flag is set (SeqCst) before every slot is unparked, and every thread that sleeps without one; who is about to
//! sleep reads it before it parks. Either it reads the flag, or it finds the wake.

use crate::runtime::sleep::waking;
use crate::runtime::worker::slot::WorkerSlot;
use crate::runtime::{RuntimeInner, Stall, current};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, Parker, clock, global, lock, try_lock};
use std::mem;
use std::sync::{Arc, Weak};
use std::time::Duration;

impl RuntimeInner {
    /// The system has refused a thread, or would just now: others are to try again. The caller holds no lock.
    #[cold]
    pub(crate) fn note_refused(&self) {
        if self.refusal.may_ask() {
            // Relaxed: advice.
            self.refusal
                .last
                .store(clock::ticks().max(1), Ordering::Relaxed);
        }
        // SeqCst: who takes it from the list clears this before it tries again.
        if self.refusal.is_listed.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut list = lock(&LIST);
        list.push(self.weak());
        // SeqCst: see the file's header. Under the lock, as where it is cleared.
        let is_first = !IS_ANY.swap(true, Ordering::SeqCst);
        drop(list);
        if is_first {
            unpark_everybody();
        }
    }

    /// Starts what was refused and is still needed.
    fn try_again(&self) {
        if self.has_ended() {
            return;
        }
        // On or off, for the outside's timers.
        self.rouse_monitor();
        if !self.idle.is_inactive() || self.has_visible_work(None) {
            self.arm_monitor();
        }
        waking::use_room(self);
    }

    /// After [`try_again`](Self::try_again): fires timers and reports, perhaps in place of the monitor, whose start is
    /// refused too. Both call code of the user, so the caller holds no lock.
    fn stand_in(&self) {
        if self.has_ended() {
            return;
        }
        // SeqCst: see `note_refused`.
        if self.refusal.is_listed.load(Ordering::SeqCst) {
            let _ = self.fire_outside_timers();
        }
        // SeqCst: as above.
        if !self.refusal.is_listed.load(Ordering::SeqCst) {
            self.refusal.forget();
        } else if self.idle.running() == 0
            && self.has_visible_work(None)
            && self.refusal.must_be_reported()
        {
            self.settings.report_stall(&Stall::of(self));
        }
    }
}

/// Whether the calling thread may wait for ever: its runtime has work and no thread, and has been refused one for ten
/// seconds.
#[inline]
pub(crate) fn is_given_up() -> bool {
    is_any() && is_own_runtime_given_up()
}

#[cold]
fn is_own_runtime_given_up() -> bool {
    let is_given_up = |shared: &RuntimeInner| {
        let is_hopeless = || {
            shared.refusal.is_given_up()
                && shared.idle.threads() == 0
                && shared.has_visible_work(None)
        };
        is_hopeless() && {
            // The refusal may have ended since somebody last asked.
            shared.try_again();
            shared.stand_in();
            is_hopeless()
        }
    };
    current::with_existing_runtime(is_given_up).unwrap_or(false)
}

/// For a thread that waits for what may be the pool's work.
///
/// # Panics
/// If it [may wait for ever](is_given_up).
#[inline]
pub(crate) fn panic_if_given_up() {
    assert!(
        !is_given_up(),
        "the system has refused every thread of this runtime for ten seconds, and work waits for one"
    );
}

/// Whether a runtime of this process waits for a thread that was refused.
#[inline]
pub(crate) fn is_any() -> bool {
    // SeqCst: see the file's header.
    IS_ANY.load(Ordering::SeqCst)
}

/// Whether threads are refused for so long that who waits had better help itself; waits for that long, unless
/// `is_over`.
#[inline]
pub(crate) fn goes_on(is_over: impl Fn() -> bool) -> bool {
    is_any() && outlasts(&is_over)
}

#[cold]
fn outlasts(is_over: &dyn Fn() -> bool) -> bool {
    let nobody_wakes = Parker::new();
    for _ in 0..ATTEMPTS {
        try_again();
        if is_over() || !is_any() {
            return false;
        }
        nobody_wakes.park_timeout(PATIENCE);
    }
    true
}

/// How long a thread may sleep before it tries again; `None` where nothing was refused.
pub(crate) fn patience() -> Option<Duration> {
    is_any().then_some(PATIENCE)
}

/// Tries again, if anything was refused and nobody else is about it.
#[inline]
pub(crate) fn try_again() {
    if is_any() {
        try_all();
    }
}

#[cold]
fn try_all() {
    let Some(alone) = try_lock(&TRYING) else {
        return;
    };
    let listed = mem::take(&mut *lock(&LIST));
    let listed: Vec<_> = listed.iter().filter_map(Weak::upgrade).collect();
    for shared in &listed {
        // SeqCst: see `note_refused`.
        shared.refusal.is_listed.store(false, Ordering::SeqCst);
        shared.try_again();
    }
    let list = lock(&LIST);
    if list.is_empty() {
        // SeqCst: see the file's header.
        IS_ANY.store(false, Ordering::SeqCst);
    }
    drop((list, alone));
    listed.iter().for_each(|shared| shared.stand_in());
}

/// Parks a thread that has no slot, for `limit` at most; while anything is refused it returns early and tries
/// again.
pub(crate) fn park(parker: &Arc<Parker>, limit: Option<Duration>) {
    let asleep = Asleep::begin(parker);
    match limit.into_iter().chain(patience()).min() {
        None => parker.park(),
        Some(limit) => parker.park_timeout(limit),
    }
    drop(asleep);
    try_again();
}

/// A thread without a slot that is about to sleep, or does; it is unparked when something is refused.
struct Asleep<'parker> {
    parker: &'parker Arc<Parker>,
    shard: &'static Shard,
}

impl<'parker> Asleep<'parker> {
    /// Before the flag is read: the thread that has set it comes to the shard's lock before this, so that the flag is seen,
    /// or after it, and unparks.
    fn begin(parker: &'parker Arc<Parker>) -> Self {
        // Neighbours in memory go to different shards.
        let shard = &ASLEEP[(Arc::as_ptr(parker).addr() / size_of::<Parker>()) % SHARDS];
        lock(&shard.0).push(Arc::clone(parker));
        Self { parker, shard }
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        let mut sleepers = lock(&self.shard.0);
        let own = |sleeper: &Arc<Parker>| Arc::ptr_eq(sleeper, self.parker);
        // The newest mostly wakes first.
        if let Some(index) = sleepers.iter().rposition(own) {
            sleepers.swap_remove(index);
        }
    }
}

/// Wakes every thread that waits in this library, to look again.
fn unpark_everybody() {
    WorkerSlot::unpark_all();
    for shard in ASLEEP.iter() {
        lock(&shard.0).iter().for_each(|sleeper| sleeper.unpark());
    }
}

global! {
    static IS_ANY: AtomicBool = AtomicBool::new(false);
}
global! {
    static LIST: Mutex<Vec<Weak<RuntimeInner>>> = Mutex::new(Vec::new());
}
global! {
    /// The threads without slots that sleep, apart from one another: each sleep takes a lock twice.
    static ASLEEP: [Shard; SHARDS] = [const { Shard(Mutex::new(Vec::new())) }; SHARDS];
}
global! {
    /// Held by who tries.
    static TRYING: Mutex<()> = Mutex::new(());
}

#[repr(align(128))]
struct Shard(Mutex<Vec<Arc<Parker>>>);

const SHARDS: usize = 16;
/// More than the time between two askings.
const PATIENCE: Duration = Duration::from_millis(3);
/// Before a thread that waits helps itself: 0.3 s.
const ATTEMPTS: u32 = 100;
