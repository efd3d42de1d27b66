//! The steal grace: for a moment, other workers leave the task in a worker's own queue alone.
//!
//! A task that a poll has woken mostly goes on with what that poll has made, which is in this processor's cache, and
//! its worker comes to it as soon as the poll ends. A searching worker would steal it within nanoseconds, and from
//! then on the two tasks would contend for the channel, or whatever joins them. So the worker grants itself a grace
//! while the woken task is the only one in its queue. A poll that takes longer than the grace is worth a second
//! worker, and loses the task.
//!
//! The thief measures the time, because the worker would have to read a clock for each wake.
//!
//! Not here: when a grace begins and ends (`enqueue.rs`).
//!
//! # Threads
//! The worker begins and ends its grace; any thread reads it. A grace cache belongs to one thread.
//!
//! # Protocol
//! A grace begins while the queue is empty, just before the one task is pushed; no worker is notified of that task.
//! It ends before another task is pushed of which a worker is notified, and before the worker blocks or sleeps. While
//! it lasts, no thread falls asleep because it has missed the task: its worker comes to it anyway, and the monitor
//! sees all tasks.
//!
//! # Ordering
//! The word is written before the push that publishes it (I1, see `idle.rs`). A thief that sees a task of which a
//! worker was notified also sees that the grace has ended, or sees a later one, which begins only when that task has
//! been taken.

use crate::job::SlotNumber;
use crate::sync::Padded;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::cell::Cell;

/// The number of the current grace, odd; even between two.
#[derive(Debug, Default)]
pub(crate) struct StealGrace(Padded<AtomicU32>);

impl StealGrace {
    /// Worker: begins another grace.
    #[inline]
    pub(crate) fn begin(&self) {
        let number = self.number_now();
        self.publish(number.wrapping_add(if self.is_on() { 2 } else { 1 }));
    }

    /// Worker: ends the grace.
    #[inline]
    pub(crate) fn end(&self) {
        if self.is_on() {
            self.publish(self.number_now().wrapping_add(1));
        }
    }

    /// Whether a grace lasts.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.number_now() % 2 == 1
    }

    fn number_now(&self) -> u32 {
        // Relaxed: the worker wrote it; others have acquired what matters with their look at the queue.
        self.0.load(Ordering::Relaxed)
    }

    fn publish(&self, number: u32) {
        // Relaxed: published by the push that follows, or by the steps of the idle protocol.
        self.0.store(number, Ordering::Relaxed);
    }
}

/// What a worker remembers of others' graces that it has met: enough that two slots seldom share a place.
#[derive(Debug, Default)]
pub(crate) struct GraceCache([Cell<SeenGrace>; 8]);

#[derive(Debug, Clone, Copy, Default)]
struct SeenGrace {
    slot: SlotNumber,
    grace: u32,
    /// When, in ticks.
    at: u64,
}

impl GraceCache {
    /// Whether to leave alone what is in the queue of `slot`, because of its grace: for `duration` ticks after the
    /// first look. Until then it is not even looked at, so that the word stays in the other's cache.
    pub(crate) fn lasts(
        &self,
        slot: SlotNumber,
        grace: &StealGrace,
        now: impl Fn() -> u64,
        duration: u64,
    ) -> bool {
        let place = &self.0[usize::from(slot) % self.0.len()];
        let met = place.get();
        // A counter that has jumped, back or forth, ends the moment.
        if met.slot == slot && met.grace != 0 && now().abs_diff(met.at) < duration {
            return true;
        }
        let number = grace.number_now();
        let is_new = number % 2 == 1 && (met.slot, met.grace) != (slot, number);
        if is_new {
            place.set(SeenGrace {
                slot,
                grace: number,
                at: now(),
            });
        }
        is_new
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{GraceCache, StealGrace};

    #[test]
    fn a_hold_is_respected_for_a_moment_and_the_next_one_again() {
        let (grace, seen) = (StealGrace::default(), GraceCache::default());
        let lasts = |now| seen.lasts(3, &grace, || now, 10);
        assert!(!lasts(100), "nothing is held");
        grace.begin();
        assert!(lasts(101) && lasts(110));
        assert!(!lasts(111) && !lasts(112), "the moment is over");
        grace.begin();
        assert!(lasts(113), "another grace, another moment");
        grace.end();
        assert!(lasts(122), "it is not looked at before the moment is over");
        assert!(!lasts(123));
    }

    #[test]
    fn who_shares_a_place_is_met_anew() {
        let (grace, seen) = (StealGrace::default(), GraceCache::default());
        grace.begin();
        let lasts = |slot, now| seen.lasts(slot, &grace, || now, 10);
        let other = u16::try_from(seen.0.len()).unwrap() + 1;
        assert!(lasts(1, 100) && lasts(other, 101) && lasts(1, 102));
        assert!(!lasts(1, 112));
    }

    #[test]
    fn a_counter_that_jumps_back_ends_the_moment() {
        let (grace, seen) = (StealGrace::default(), GraceCache::default());
        grace.begin();
        let lasts = |now| seen.lasts(3, &grace, || now, 10);
        assert!(lasts(u64::MAX - 1));
        assert!(lasts(u64::MAX - 4), "processors may differ a little");
        assert!(!lasts(1_000), "the machine has moved");
        grace.begin();
        assert!(lasts(1_001) && lasts(1_010) && !lasts(1_011));
    }

    #[test]
    fn a_hold_ends_once_and_begins_again() {
        let grace = StealGrace::default();
        grace.end();
        assert!(!grace.is_on());
        grace.begin();
        grace.begin();
        assert!(grace.is_on());
        grace.end();
        grace.end();
        assert!(!grace.is_on());
        grace.begin();
        assert!(grace.is_on());
    }
}
