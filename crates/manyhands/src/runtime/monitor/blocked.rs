//! Blocked threads: a look at every thread that takes part.
//!
//! While work waits and the limit is reached, or no thread takes the work although it is not, a sweep detects which of
//! the running threads are blocked (`detector.rs`) and flags their slots. Each flag is counted, and makes room for another
//! thread. The worker clears its flag when its job ends, or a later sweep that sees the thread run does.
//!
//! A thread that waits in its start hook, declared or not, counts as blocked after 50 ms. Before, it is on its way to the work
//! that waits, and a thread in its place would wait in the same hook.
//!
//! Not here: when sweeps look (`sweep.rs`, `burst.rs`).

use crate::job::SlotNumber;
use crate::runtime::monitor::detector::{Look, ThreadVerdict, Watch};
use crate::runtime::monitor::starved::Long;
use crate::runtime::policy::{IN_DOUBT, LONG};
use crate::runtime::{RuntimeInner, SlotState, WorkerSlot, waking};
use crate::sync::{clock, processor_load, thread_state};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What the monitor remembers of the threads from look to look.
#[derive(Debug, Default)]
pub(super) struct Threads {
    watches: HashMap<SlotNumber, Watch>,
    rechecked: Option<Instant>,
}

/// What one look has found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Threads that are blocked and did not count as such before.
    pub(super) newly_blocked: usize,
    /// Threads in the same job as at the last look, for too short a time to decide.
    pub(super) undecided: usize,
    /// Threads in the same job as at the last look.
    pub(super) at_same_job: usize,
    pub(super) long: Long,
}

impl Threads {
    /// Looks at every thread that takes part, and flags those that are blocked: off the processor for `blocked_after`.
    pub(super) fn look(
        &mut self,
        shared: &RuntimeInner,
        now: Instant,
        blocked_after: Duration,
    ) -> Found {
        // Threads that count as blocked are looked at, too.
        let is_long_ago = |last| now.saturating_duration_since(last) >= LONG;
        let recheck = self.rechecked.is_none_or(is_long_ago);
        if recheck {
            self.rechecked = Some(now);
        }
        let mut found = Found::default();
        let (mut asleep, mut others_run) = (Vec::new(), false);
        for slot in shared.all_slots() {
            let job = slot.job();
            let watch = self.watches.entry(slot.number).or_default();
            if job.is_none() && !slot.detected_blocked.is_set() {
                *watch = Watch::default();
                continue;
            }
            let is_same_job = watch.job == job;
            if watch.verdict == ThreadVerdict::Blocked && is_same_job && !recheck {
                continue;
            }
            found.at_same_job += usize::from(is_same_job);
            match look_at(watch, slot, now, blocked_after) {
                ThreadVerdict::Blocked => {
                    asleep.push(slot);
                    continue;
                }
                ThreadVerdict::Unknown => found.undecided += usize::from(is_same_job),
                ThreadVerdict::Runs | ThreadVerdict::Starved => {
                    found.long.count(shared, slot, watch, now);
                }
            }
            others_run |= job.is_some();
            // However short its call is, it runs no task before the end, and may call again at once.
            found.long.starving += usize::from(job.is_some() && !slot.is_worker());
            shared.idle.detected_blocked.unmark(&slot.detected_blocked);
        }
        // Read once for all of them, and only if it matters.
        let mut taken = None;
        let mut are_taken = || *taken.get_or_insert_with(processor_load::all_are_taken);
        asleep.retain(|slot| !slot.detected_blocked.is_set());
        for slot in asleep {
            let watch = self.watches.entry(slot.number).or_default();
            if watch.is_to_be_replaced(since_first(now), others_run, &mut are_taken) {
                shared.note_blocking_kind(slot);
                found.newly_blocked +=
                    usize::from(shared.idle.detected_blocked.mark(&slot.detected_blocked));
                waking::block_in_short_task(shared, &slot.in_short_task);
            } else {
                found.undecided += 1;
            }
        }
        found
    }
}

fn look_at(
    watch: &mut Watch,
    slot: &WorkerSlot,
    now: Instant,
    blocked_after: Duration,
) -> ThreadVerdict {
    let look = Look {
        at: since_first(now),
        job: slot.job(),
        cpu_nanos: thread_state::cpu_nanos(slot.thread()),
    };
    let blocked_after = if slot.occupant() == SlotState::Starting {
        // It will soon run the work that waits.
        IN_DOUBT
    } else {
        blocked_after
    };
    let activity = || thread_state::activity(slot.thread());
    watch.look(look, blocked_after, activity)
}

/// The time as the detector counts it.
fn since_first(now: Instant) -> Duration {
    now.saturating_duration_since(clock::first())
}
