//! The two sentences about a loop: how it ran, and what kept it from being faster.
//!
//! Not here: how that is decided (`verdict.rs`), and async loops (`calls_verdict.rs`).

use crate::inspect::loops::report::{plural, ratio};
use crate::inspect::loops::verdict::{NOTABLE, Verdict};
use crate::recording::{BlockReport, LoopReport};
use std::fmt;

impl LoopReport {
    /// The first sentence: how it ran.
    #[cfg(unix)]
    pub(in crate::inspect) fn ran(&self) -> String {
        fmt::from_fn(|f| self.describe(f)).to_string()
    }

    /// The second one: what kept it from being faster.
    #[cfg(unix)]
    pub(in crate::inspect) fn why(&self) -> String {
        fmt::from_fn(|f| self.explain(f)).to_string()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(calls) = &self.calls {
            return calls.describe(self, f);
        }
        let (items, blocks, helpers) = (self.items, self.blocks(), self.helpers().count());
        let elapsed = self.elapsed;
        write!(
            f,
            "{items} item{} ran in {elapsed:.1?}, in {blocks} block{}, on ",
            plural(items),
            plural(blocks)
        )?;
        match helpers {
            0 => f.write_str("the calling thread alone."),
            _ => write!(
                f,
                "the calling thread and {helpers} helper{}.",
                plural(helpers as u64)
            ),
        }
    }

    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(calls) = &self.calls {
            return calls.explain(self, f);
        }
        match self.verdict() {
            Verdict::Scaled
            | Verdict::ConcurrencySet
            | Verdict::ConsumerSlow
            | Verdict::Stopped => write!(
                f,
                "{:.1} of {} threads were busy with it on average.",
                self.mean_runners(),
                // More where a thread was added for one that blocked.
                self.threads.max(self.runners.len())
            ),
            Verdict::TooShort => f.write_str(
                "It was too short: another thread would hardly have begun before the end.",
            ),
            Verdict::TooFewItems => self.explain_few(f),
            Verdict::SharedLate => self.explain_late(f),
            Verdict::LongItem => self.explain_long(f),
            Verdict::BodiesSlowEachOther => self.explain_slow(f),
            Verdict::HelpersElsewhere => self.explain_helpers(f),
            Verdict::SourceSlow if self.alone_because.is_some() => f.write_str(
                "To take an item from the iterator, which one thread can do at a time, took longer than its body.",
            ),
            Verdict::SourceSlow => write!(
                f,
                "Its threads waited for the iterator for {:.0} % of their time: it gives items to one of them at a time.",
                ratio(self.took_items(), self.worked() + self.took_items()) * 100.0
            ),
            Verdict::OffProcessor => self.explain_off_processor(f),
            Verdict::OneRunner => f.write_str("No more than one runner was allowed."),
            Verdict::NoPlace => {
                f.write_str("Too many loops, scopes and invokes of the calling thread were open.")
            }
        }
    }

    fn explain_few(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.items == 1 {
            return f.write_str("It had too few items: one item is never divided.");
        }
        let rounds = self.rounds();
        write!(
            f,
            "It had too few items: {} of the same length on {} threads take {rounds} round{}.",
            self.items,
            self.threads,
            plural(rounds)
        )
    }

    fn explain_late(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(part) = &self.before_opening else {
            return f.write_str("Shared late.");
        };
        let block = part.longest_block;
        let heavier = block.times_heavier();
        if heavier < 2.0 {
            return write!(
                f,
                "Shared late: the calling thread was alone for the first {:.1?}.",
                self.opened_after.unwrap_or(part.worked)
            );
        }
        write!(
            f,
            "Shared late: the first {} items were {heavier:.0} × lighter than the next {}, which the calling thread had \
             taken as one block.",
            block.items_before, block.items
        )
    }

    fn explain_long(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(block) = self.longest_block() else {
            return f.write_str("The runners waited for one of them.");
        };
        let BlockReport { took, items, .. } = block;
        let others = self.threads.saturating_sub(1);
        match (others, items) {
            (0, 1) => write!(f, "One item took {took:.1?}; one item is never divided."),
            (0, _) => write!(f, "One block of {items} items took {took:.1?}."),
            (_, 1) => write!(
                f,
                "{others} of {} threads waited for one item of {took:.1?}.",
                self.threads
            ),
            _ => write!(
                f,
                "{others} of {} threads waited for one block of {items} items that took {took:.1?}; the items before it \
                 were {:.0} × lighter.",
                self.threads,
                block.times_heavier()
            ),
        }
    }

    fn explain_off_processor(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Its threads were not on a processor for {:.0} % of their time: bodies blocked, or other threads ran there.",
            self.off_processor_share().unwrap_or(0.0) * 100.0
        )?;
        // On a busy machine that is so of every loop, and hides what its author can change.
        if self.has_waited_for_long_item() {
            f.write_str(" ")?;
            self.explain_long(f)?;
        }
        Ok(())
    }

    fn explain_slow(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trial) = self.trial else {
            return f.write_str(
                "The bodies slow each other down, at memory, a lock or an atomic number: earlier calls from this place \
                 became slower when they were shared.",
            );
        };
        let waits = self
            .off_processor_share()
            .is_some_and(|share| share > NOTABLE);
        let what = if waits {
            "they wait for each other, as at a lock"
        } else {
            "memory, or one atomic number or lock"
        };
        write!(
            f,
            "The bodies slow each other down: {what}. An item takes {:.1} × as long on each of {} threads as alone.",
            trial.times_slower(),
            trial.runners
        )
    }

    fn explain_helpers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.threads.saturating_sub(1);
        match self.helpers().count() {
            0 => write!(
                f,
                "None of {others} other thread{} joined: they had other work, or were not woken in time.",
                plural(others as u64)
            ),
            joined => write!(
                f,
                "{joined} of {others} other thread{} joined, the first after {:.0} % of the time: they had other work, \
                 or were not woken in time.",
                plural(others as u64),
                self.alone_share() * 100.0
            ),
        }
    }
}

impl fmt::Display for LoopReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)?;
        f.write_str(" ")?;
        self.explain(f)
    }
}
