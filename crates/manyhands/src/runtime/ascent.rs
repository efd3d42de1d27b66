//! Hill climbing put to use: takes the samples, and says how many threads more than the workers may run.
//!
//! Not here: what is concluded from the samples (`climbing.rs`), and the threads (`patrol.rs`).

use crate::runtime::climbing::{Climber, Reason, Sample};
use crate::runtime::{Shared, ThreadChangeReason};
use crate::sync::processor_load::ProcessorTicks;
use std::time::{Duration, Instant};

/// The samples of one runtime.
#[derive(Debug)]
pub(super) struct Ascent {
    climber: Climber,
    last: Reading,
    due_after: Duration,
    extra: usize,
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    completed: u64,
    processors: Option<ProcessorTicks>,
}

impl Ascent {
    /// Takes the first reading.
    pub(super) fn begin(shared: &Shared, now: Instant) -> Self {
        let settings = &shared.settings;
        let seed = u64::try_from(now.duration_since(crate::sync::clock::first()).as_nanos());
        Self {
            climber: Climber::new(settings.workers, settings.threads_max, seed.unwrap_or(1)),
            last: Reading::take(shared, now),
            due_after: FIRST_SAMPLE,
            extra: 0,
        }
    }

    /// How many threads more than the workers may run now. Takes a sample if one is due.
    pub(super) fn extra(&mut self, shared: &Shared, now: Instant) -> usize {
        let elapsed = now.saturating_duration_since(self.last.at);
        if elapsed < self.due_after {
            return self.extra;
        }
        let reading = Reading::take(shared, now);
        let last = std::mem::replace(&mut self.last, reading);
        if elapsed > SAMPLE_BELIEVED_MAX {
            // The monitor has slept, because nothing was to be done.
            return self.extra;
        }
        let load = reading.processors.zip(last.processors);
        let advice = self.climber.climb(Sample {
            elapsed,
            completed: reading.completed.saturating_sub(last.completed),
            load: load.map_or(0.0, |(now, before)| now.load_since(before)),
        });
        self.due_after = advice.next_after;
        let extra = advice.threads - shared.settings.workers;
        if extra != self.extra {
            let reason = match advice.reason {
                Reason::Warmup | Reason::Wave => ThreadChangeReason::Wave,
                Reason::Climbing => ThreadChangeReason::Climbing,
            };
            shared.note_change(advice.threads, reason);
        }
        self.extra = extra;
        extra
    }
}

impl Reading {
    fn take(shared: &Shared, at: Instant) -> Self {
        let finished = shared.all_seats().map(|seat| seat.counters.finished.read());
        Self {
            at,
            completed: finished.sum(),
            processors: ProcessorTicks::now(),
        }
    }
}

const FIRST_SAMPLE: Duration = Duration::from_millis(50);
/// A sample that took longer holds a time without work.
const SAMPLE_BELIEVED_MAX: Duration = Duration::from_millis(500);
