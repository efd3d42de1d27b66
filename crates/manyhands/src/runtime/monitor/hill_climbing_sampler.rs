//! Takes the samples for hill climbing, and returns how many threads more than the workers may run.
//!
//! Not here: the conclusions from the samples (`hill_climbing.rs`), and adding threads (`sweep.rs`).

use crate::runtime::RuntimeInner;
use crate::runtime::monitor::hill_climbing::{HillClimber, SAMPLE_MAX, Sample};
use crate::sync::processor_load::ProcessorTicks;
use std::time::{Duration, Instant};

/// The samples of one runtime.
pub(crate) struct HillClimbingSampler {
    climber: HillClimber,
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

impl HillClimbingSampler {
    /// Takes the first reading.
    pub(crate) fn begin(shared: &RuntimeInner, now: Instant) -> Self {
        let settings = &shared.settings;
        let seed = u64::try_from(now.duration_since(crate::sync::clock::first()).as_nanos());
        let mut climber =
            HillClimber::new(settings.workers, settings.threads_max, seed.unwrap_or(1));
        Self {
            last: Reading::take(shared, now),
            due_after: climber.sample_length(),
            climber,
            extra: 0,
        }
    }

    /// How many threads more than the workers may run now. Takes a sample if one is due.
    pub(crate) fn extra(&mut self, shared: &RuntimeInner, now: Instant) -> usize {
        let elapsed = now.saturating_duration_since(self.last.at);
        if elapsed < self.due_after {
            return self.extra;
        }
        let reading = Reading::take(shared, now);
        let last = std::mem::replace(&mut self.last, reading);
        if elapsed > 2 * SAMPLE_MAX {
            // The monitor has slept, because there was no work.
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
            shared.note_change(advice.threads, advice.reason);
        }
        self.extra = extra;
        extra
    }
}

impl Reading {
    fn take(shared: &RuntimeInner, at: Instant) -> Self {
        let finished = shared.all_slots().map(|slot| slot.counters.finished.read());
        Self {
            at,
            completed: finished.sum(),
            processors: ProcessorTicks::now(),
        }
    }
}
