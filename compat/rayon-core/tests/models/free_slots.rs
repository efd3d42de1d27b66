//! The slots that no thread has, and who searches (`src/search.rs`, with the counts of `src/sleep.rs`).
//!
//! Threads: one that pushes from outside, one that was called, one in a slot. Operations: the beginning and the end of searches
//! and calls, taking a slot and giving it back.
//! Property: when all have ended, the job has been taken, or exactly one thread is called for it.

use crate::search::{FreeSlots, Search, Searched};
use crate::sleep::Sleep;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use loom::thread;
use std::mem;
use std::ptr::NonNull;

/// A pool on a runtime with room for one job.
struct Pool {
    sleep: Sleep,
    free: FreeSlots<()>,
    has_job: AtomicBool,
    /// Threads that were called. Their searches are counted.
    calls: AtomicUsize,
}

impl Searched for Pool {
    fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    fn has_work_for_anybody(&self) -> bool {
        self.has_job.load(Ordering::Relaxed)
    }

    fn wake_idle(&self) {
        if let Some(call) = self.free.call(self) {
            mem::forget(call);
            self.calls.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Pool {
    /// All slots are free.
    fn new(slots: usize) -> Arc<Self> {
        let pool = Self {
            sleep: Sleep::default(),
            free: FreeSlots::new(slots),
            has_job: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        };
        (0..slots).for_each(|slot| pool.leave(slot));
        Arc::new(pool)
    }

    /// As a thread from outside does.
    fn push(&self) {
        self.has_job.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let counts = self.sleep.counts();
        assert!(counts.idle() <= self.free.count() as u64);
        if counts.wants_wake() {
            self.wake_idle();
        }
    }

    fn take(&self, slot: usize) -> bool {
        self.free.take(slot, &self.sleep).is_some()
    }

    fn leave(&self, slot: usize) {
        self.free.give_back(slot, NonNull::dangling(), self);
    }

    /// What a called thread does.
    fn answer(&self, slot: usize) {
        self.calls.fetch_sub(1, Ordering::Relaxed);
        let search = Search::of_woken(self);
        let is_taken = self.take(slot);
        if is_taken {
            self.has_job.swap(false, Ordering::Relaxed);
        }
        drop(search);
        if is_taken {
            self.leave(slot);
        }
    }

    fn check(&self) {
        let has_job = self.has_job.load(Ordering::Relaxed);
        let calls = self.calls.load(Ordering::Relaxed);
        assert!(calls <= 1, "more than one thread is called");
        assert!(
            !has_job || calls == 1,
            "the job is left behind {} {} {}",
            self.sleep.counts().idle(),
            self.sleep.counts().searching(),
            self.free.is_free(0)
        );
        assert_eq!(self.sleep.counts().searching(), calls as u64);
    }
}

/// Runs both at once.
fn race(pool: &Arc<Pool>, other: impl FnOnce(&Pool) + 'static, this: impl FnOnce(&Pool)) {
    let other = thread::spawn({
        let pool = Arc::clone(pool);
        move || other(&pool)
    });
    this(pool);
    other.join().unwrap();
}

fn a_thread_is_called_while_another_one_takes_a_slot() {
    let pool = Pool::new(2);
    race(&pool, |pool| assert!(pool.take(1)), Pool::push);
    pool.check();
}

fn a_thread_is_called_while_another_one_takes_a_slot_and_leaves() {
    let pool = Pool::new(1);
    race(
        &pool,
        |pool| {
            assert!(pool.take(0));
            pool.leave(0);
        },
        Pool::push,
    );
    pool.check();
}

fn a_slot_that_becomes_free_while_a_called_thread_finds_none_is_not_left_beside_a_job() {
    let pool = Pool::new(1);
    pool.push();
    assert!(pool.take(0));
    race(&pool, |pool| pool.leave(0), |pool| pool.answer(0));
    pool.check();
}

fn a_job_that_comes_while_a_search_ends_is_not_left_behind() {
    let pool = Pool::new(2);
    pool.wake_idle();
    race(&pool, |pool| pool.answer(0), Pool::push);
    pool.check();
}

fn a_job_that_comes_while_a_called_thread_finds_no_slot_and_one_becomes_free_is_not_left_behind() {
    let pool = Pool::new(1);
    pool.wake_idle();
    assert!(pool.take(0));
    let pusher = thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.push()
    });
    race(&pool, |pool| pool.leave(0), |pool| pool.answer(0));
    pusher.join().unwrap();
    pool.check();
}

/// Runs them all.
pub(crate) fn check() {
    let models = [
        a_thread_is_called_while_another_one_takes_a_slot,
        a_thread_is_called_while_another_one_takes_a_slot_and_leaves,
        a_slot_that_becomes_free_while_a_called_thread_finds_none_is_not_left_beside_a_job,
        a_job_that_comes_while_a_search_ends_is_not_left_behind,
        a_job_that_comes_while_a_called_thread_finds_no_slot_and_one_becomes_free_is_not_left_behind,
    ];
    for model in models {
        crate::check(PREEMPTIONS_MAX, model);
    }
}

/// Without a bound the model with three threads takes longer than anybody waits.
const PREEMPTIONS_MAX: usize = 3;
