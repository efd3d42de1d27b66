//! What kept a loop from being faster.
//!
//! A loop on `n` threads could have used `n` times its own time. What it did not use is lost, and each cause that is
//! recorded accounts for a part of that: the caller began alone; helpers came late or not at all; runners had nothing
//! left to do while others still worked; bodies took longer beside others than alone; threads were not on a processor.
//! The cause with the greatest part is the verdict, if that is a notable part of the whole.
//!
//! Not here: what is said about it (`sentences.rs`), and async loops (`calls_verdict.rs`).

use crate::loops::numbers::ratio;
use crate::loops::report::{AloneBecause, LoopReport};
use std::time::Duration;

/// What kept a loop from being faster.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Nothing: its threads were busy for most of the time. Of an async loop: as many calls were in flight as a loop tries by
    /// itself.
    Scaled,
    /// All of it took hardly longer than handing a part to another thread.
    TooShort,
    /// It had so few items that threads were left over in the last round. Of an async loop: the list ended before the number of
    /// calls was found that is fastest.
    TooFewItems,
    /// The first items were so much lighter than later ones that the caller began those alone.
    SharedLate,
    /// The other runners waited for one that was in a long item, or in a block of items longer than those before. Of an async
    /// loop: one call still ran when the others had ended.
    LongItem,
    /// Its bodies take longer beside each other: they need the same memory, lock or atomic number. Of an async loop: more
    /// calls at a time were no faster, so that the loop did not raise their number.
    BodiesSlowEachOther,
    /// It runs over an iterator, which gives its items to one thread at a time: the others waited for it. Of an async loop:
    /// its source gave items slower than they were handled.
    SourceSlow,
    /// Helpers came late, left early, or never came: they slept, or had other work.
    HelpersElsewhere,
    /// Its threads were not on a processor: bodies blocked, or other threads ran there.
    OffProcessor,
    /// One runner is what the caller, or the limit of the runtime, allows.
    OneRunner,
    /// Too many loops, scopes and invokes of the calling thread were open.
    NoPlace,
    /// The caller of an async loop has set how many calls may run at once, or the highest number, and as many did.
    ConcurrencySet,
    /// The results of an async loop were taken slower than they came.
    ConsumerSlow,
    /// It was stopped, by a failure, a panic or a cancellation, or because no more items were wanted; or the async loop was
    /// dropped. Perhaps by its last item.
    Stopped,
}

impl LoopReport {
    /// What kept it from being faster.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.is_stopped {
            return Verdict::Stopped;
        }
        if let Some(calls) = &self.calls {
            return calls.verdict(self);
        }
        if let Some(because) = self.alone_because {
            return self.verdict_alone(because);
        }
        if self.threads_in_all() == 1 {
            return Verdict::OneRunner;
        }
        let notable = self.notable();
        // The time that bodies took because others ran beside them.
        let slowed = self.trial.map_or(Duration::ZERO, |trial| {
            let slower = trial.times_slower().max(1.0);
            self.worked().mul_f64(1.0 - 1.0 / slower)
        });
        if slowed > notable || self.trial.is_some_and(|trial| trial.is_contended) {
            return Verdict::BodiesSlowEachOther;
        }
        greatest((notable, Verdict::Scaled), &self.losses())
    }

    /// A loss of more than this is worth a word.
    fn notable(&self) -> Duration {
        times(self.elapsed, self.threads).mul_f64(NOTABLE)
    }

    /// Whether runners waited for one in a long item for a notable time, whatever else was lost.
    pub(super) fn has_waited_for_long_item(&self) -> bool {
        let [(waiting, because), ..] = self.losses();
        waiting > self.notable() && because == Verdict::LongItem
    }

    fn verdict_alone(&self, because: AloneBecause) -> Verdict {
        match because {
            AloneBecause::OneAllowed => Verdict::OneRunner,
            AloneBecause::SharingHurt => Verdict::BodiesSlowEachOther,
            AloneBecause::NoPlace => Verdict::NoPlace,
            AloneBecause::SourceSlow => Verdict::SourceSlow,
            AloneBecause::AlwaysShort | AloneBecause::TooShort => {
                let long = self.longest_block().filter(|block| {
                    block.took >= WORTH_SHARING && ratio(block.took, self.elapsed) > 0.5
                });
                match long {
                    _ if self.items == 1 => Verdict::TooFewItems,
                    Some(block) if block.items == 1 => Verdict::LongItem,
                    Some(_) => Verdict::SharedLate,
                    None => Verdict::TooShort,
                }
            }
        }
    }

    /// The lost time by its causes, summed over threads.
    fn losses(&self) -> [(Duration, Verdict); 6] {
        let opened = self.opened_after.unwrap_or(self.elapsed);
        let open = self.elapsed.saturating_sub(opened);
        let others = self.threads.saturating_sub(1);
        let items = usize::try_from(self.items).unwrap_or(usize::MAX);
        let needed = others.min(items.saturating_sub(1));
        let joined = self.helpers().map(|helper| helper.joined_after);
        let mut late: Vec<_> = joined.map(|joined| joined.saturating_sub(opened)).collect();
        late.sort_unstable();
        late.resize(needed.max(late.len()), open);
        let why_lacked = match self.elapsed < WORTH_SHARING {
            true => Verdict::TooShort,
            false => Verdict::HelpersElsewhere,
        };
        let last = self.last_left();
        let ends = self.runners.iter().map(|runner| runner.left_after);
        // Who waits for the iterator is not on a processor either.
        let off = self.runners.iter().filter_map(|runner| {
            let off = runner.off_processor?;
            Some(off.saturating_sub(runner.took_items))
        });
        [
            // Runners had nothing left to do.
            (
                ends.map(|end| last.saturating_sub(end)).sum(),
                self.why_others_waited(),
            ),
            // There were fewer items than threads.
            (times(open, others - needed), Verdict::TooFewItems),
            // The caller had not opened the loop.
            (times(opened, others), self.why_opened_late()),
            // Helpers were not there yet, or not at all, though there were items for them.
            (late.iter().take(needed).sum(), why_lacked),
            // Runners took items from an iterator, or waited for their turn.
            (self.took_items(), Verdict::SourceSlow),
            (
                off.sum::<Duration>() + self.after_last(),
                Verdict::OffProcessor,
            ),
        ]
    }

    fn why_others_waited(&self) -> Verdict {
        if self
            .last_busy()
            .is_some_and(|last| last.took_items > last.worked)
        {
            // Helpers leave while another runner keeps the iterator.
            return Verdict::SourceSlow;
        }
        let Some(longest) = self.longest_block() else {
            return Verdict::HelpersElsewhere;
        };
        if ratio(longest.took, self.elapsed) < LONG_SHARE {
            return Verdict::HelpersElsewhere;
        }
        let mean = self.worked().as_secs_f64() / self.items.max(1) as f64;
        let is_like_others = longest.items == 1 && longest.took.as_secs_f64() < 2.0 * mean;
        if is_like_others && self.rounds() <= FEW_ROUNDS {
            Verdict::TooFewItems
        } else {
            Verdict::LongItem
        }
    }

    fn why_opened_late(&self) -> Verdict {
        let Some(first) = &self.before_opening else {
            return Verdict::TooShort;
        };
        let block = first.longest_block;
        // Else the monitor has opened it in the middle of an item, so that this did not keep others from the rest.
        let is_opened_by_caller = Some(first.left_after) <= self.opened_after;
        if block.took < WORTH_SHARING {
            Verdict::TooShort
        } else if block.items == 1 && is_opened_by_caller {
            Verdict::LongItem
        } else {
            Verdict::SharedLate
        }
    }
}

/// The cause with the greatest time, the first of those with the same.
pub(crate) fn greatest(first: (Duration, Verdict), others: &[(Duration, Verdict)]) -> Verdict {
    // Of those with the same the last one is taken.
    let backwards = others.iter().rev().chain([&first]);
    let greatest = backwards.max_by_key(|cause| cause.0);
    greatest.map_or(first.1, |cause| cause.1)
}

fn times(time: Duration, count: usize) -> Duration {
    time * u32::try_from(count).unwrap_or(u32::MAX)
}

/// A loss of less than this part of what a loop could have used is not worth a word.
pub(crate) const NOTABLE: f64 = 0.2;
/// Others have waited for a block that took this part of the whole loop.
const LONG_SHARE: f64 = 0.25;
/// Items of the same length need so few rounds that one more or less can be seen.
const FEW_ROUNDS: u64 = 4;
/// What takes less than this alone gains little by another thread, which has to wake.
pub(crate) const WORTH_SHARING: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests;
