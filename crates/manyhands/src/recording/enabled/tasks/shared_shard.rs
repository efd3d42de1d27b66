//! A shard of the table behind its lock. A full scan yields the lock to waiting writers.
//!
//! The lock is not fair: a thread that releases it and takes it again at once has it before a thread that waits for it is awake. So a
//! look that takes it for some records at a time would keep others out until it is through, which takes a fifth of a second
//! for a million records.
//!
//! Not here: the records (`shard.rs`), and which shard a task is in (`table.rs`).

use crate::recording::enabled::tasks::shard::Shard;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Backoff, Mutex, MutexGuard, lock, try_lock};
use manyhands_analysis::{Record, TaskNumber};

pub(crate) struct SharedShard {
    shard: Mutex<Shard>,
    /// Threads that found it locked.
    came: AtomicU32,
    /// How many of these threads have locked it since.
    went: AtomicU32,
}

impl SharedShard {
    pub(crate) const fn empty() -> Self {
        Self {
            shard: Mutex::new(Shard::empty()),
            came: AtomicU32::new(0),
            went: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Shard> {
        try_lock(&self.shard).unwrap_or_else(|| self.wait())
    }

    #[cold]
    fn wait(&self) -> MutexGuard<'_, Shard> {
        // Relaxed: counts, and nothing is read because of them.
        self.came.fetch_add(1, Ordering::Relaxed);
        let locked = lock(&self.shard);
        self.went.fetch_add(1, Ordering::Relaxed);
        locked
    }

    /// Calls `see` for each record of this shard, which is the `number`-th; see [`Shard::for_each`].
    pub(crate) fn for_each(&self, number: usize, mut see: impl FnMut(TaskNumber, u32, &Record)) {
        let mut from = 0;
        loop {
            let places = from..from + PLACES_AT_ONCE;
            from = places.end;
            let goes_on = self.lock().for_each(number, places, &mut see);
            if !goes_on {
                return;
            }
            self.let_others_go_first();
        }
    }

    /// Waits until as many have had the lock as wait for it now.
    fn let_others_go_first(&self) {
        // Relaxed: as above. Both start again at 0 behind the highest number.
        let came = self.came.load(Ordering::Relaxed);
        let mut backoff = Backoff::default();
        while came
            .wrapping_sub(self.went.load(Ordering::Relaxed))
            .cast_signed()
            > 0
        {
            backoff.wait();
        }
    }
}

/// Read under one lock.
const PLACES_AT_ONCE: usize = 512;

#[cfg(test)]
mod tests {
    use super::{PLACES_AT_ONCE, SharedShard};
    use manyhands_analysis::Record;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn who_waits_for_the_shard_has_it_before_a_look_goes_on() {
        let shared = SharedShard::empty();
        let number = shared.lock().insert(0, Record::new(0), None).unwrap();
        for _ in 1..PLACES_AT_ONCE * 2 {
            shared.lock().insert(0, Record::new(0), None).unwrap();
        }
        for _ in 0..50 {
            let has_begun = AtomicBool::new(false);
            let mut seen = 0;
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !has_begun.load(Ordering::SeqCst) {
                        thread::yield_now();
                    }
                    shared.lock().change(number, |record| record.polls += 1);
                });
                let before = polls(&shared);
                shared.for_each(0, |seen_number, _, _| {
                    if seen == 0 {
                        has_begun.store(true, Ordering::SeqCst);
                        while shared.came.load(Ordering::SeqCst)
                            == shared.went.load(Ordering::SeqCst)
                        {
                            thread::yield_now();
                        }
                    }
                    if seen == PLACES_AT_ONCE {
                        // It is in the places that were looked at before.
                        assert_ne!(seen_number, number);
                        assert_eq!(
                            shared.went.load(Ordering::SeqCst),
                            shared.came.load(Ordering::SeqCst)
                        );
                    }
                    seen += 1;
                });
                assert_eq!(polls(&shared), before + 1);
            });
            assert_eq!(seen, PLACES_AT_ONCE * 2);
        }
    }

    /// Of the first record.
    fn polls(shared: &SharedShard) -> u32 {
        let mut polls = None;
        shared.for_each(0, |_, _, record| {
            polls.get_or_insert(record.polls);
        });
        polls.unwrap()
    }
}
