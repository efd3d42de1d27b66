//! The two sentences about a loop: how it ran, and what kept it from being faster.
//!
//! Not here: how that is decided (`verdict.rs`), and async loops (`calls_verdict.rs`).

use crate::loops::numbers::{plural, ratio};
use crate::loops::report::{BlockReport, LoopReport};
use crate::loops::verdict::{NOTABLE, Verdict};
use std::fmt;

impl LoopReport {
    /// The first sentence: how it ran.
    pub(crate) fn ran(&self) -> String {
        if let Some(calls) = &self.calls {
            return calls.ran(self);
        }
        let elapsed = self.elapsed;
        if self.has_panicked {
            return format!("It ended after {elapsed:.1?}.");
        }
        let (items, blocks) = (self.items, self.blocks());
        // Not those that came when nothing was left.
        let helpers = self.helpers().filter(|helper| helper.items > 0).count();
        let with = match helpers {
            0 => String::from(" alone"),
            _ => format!(" and {helpers} helper{}", plural(helpers as u64)),
        };
        format!(
            "{}{items} item{} ran in {elapsed:.1?}, in {blocks} block{}, on the calling thread{with}.",
            self.at_most(),
            plural(items),
            plural(blocks)
        )
    }

    /// What stands before the number of items, if not all of them ran.
    fn at_most(&self) -> String {
        let run: u64 = self.runners.iter().map(|runner| runner.items).sum();
        match run {
            _ if !self.is_stopped => String::new(),
            0 => String::from("None of "),
            run if run >= self.items => String::from("At most "),
            run => format!("At most {run} of "),
        }
    }

    /// The second one: what kept it from being faster.
    pub(crate) fn why(&self) -> String {
        if let Some(calls) = &self.calls {
            return calls.why(self);
        }
        match self.verdict() {
            Verdict::Stopped if self.has_panicked => {
                String::from("It has panicked, so that it is not known how many of its items ran.")
            }
            Verdict::Stopped => String::from(
                "It was stopped: it was cancelled, a body failed, or no more items were wanted.",
            ),
            Verdict::TooShort => String::from(
                "It was too short: another thread would hardly have begun before the end.",
            ),
            Verdict::TooFewItems => self.explain_few(),
            Verdict::SharedLate => self.explain_late(),
            Verdict::LongItem => self.explain_long(),
            Verdict::BodiesSlowEachOther => self.explain_slow(),
            Verdict::HelpersElsewhere => self.explain_helpers(),
            Verdict::SourceSlow if self.alone_because.is_some() => String::from(
                "To take an item from the iterator, which one thread can do at a time, took longer than its body.",
            ),
            Verdict::SourceSlow => format!(
                "Its threads waited for the iterator for {:.0} % of their time: it gives items to one of them at a time.",
                ratio(self.took_items(), self.worked() + self.took_items()) * 100.0
            ),
            Verdict::OffProcessor => self.explain_off_processor(),
            Verdict::OneRunner => String::from("No more than one runner was allowed."),
            Verdict::NoPlace => {
                String::from("Too many loops, scopes and invokes of the calling thread were open.")
            }
            _ => format!(
                "{:.1} of {} threads were busy with it on average.",
                self.mean_runners(),
                self.threads_in_all()
            ),
        }
    }

    fn explain_few(&self) -> String {
        if self.items == 1 {
            return String::from("It had too few items: one item is never divided.");
        }
        let rounds = self.rounds();
        format!(
            "It had too few items: {} of the same length on {} threads take {rounds} round{}.",
            self.items,
            self.threads,
            plural(rounds)
        )
    }

    fn explain_late(&self) -> String {
        let Some(part) = &self.before_opening else {
            return String::from("Shared late.");
        };
        let block = part.longest_block;
        let heavier = block.times_heavier();
        if heavier < 2.0 {
            return format!(
                "Shared late: the calling thread was alone for the first {:.1?}.",
                self.opened_after.unwrap_or(part.worked)
            );
        }
        format!(
            "Shared late: the first {} items were {heavier:.0} × lighter than the next {}, which the calling thread had \
             taken as one block.",
            block.items_before, block.items
        )
    }

    fn explain_long(&self) -> String {
        let Some(block) = self.longest_block() else {
            return String::from("The runners waited for one of them.");
        };
        let BlockReport { took, items, .. } = block;
        let threads = self.threads_in_all();
        let others = threads - 1;
        match (others, items) {
            (0, 1) => format!("One item took {took:.1?}; one item is never divided."),
            (0, _) => format!("One block of {items} items took {took:.1?}."),
            (_, 1) => format!("{others} of {threads} threads waited for one item of {took:.1?}."),
            _ => format!(
                "{others} of {threads} threads waited for one block of {items} items that took {took:.1?}; the items \
                 before it were {:.0} × lighter.",
                block.times_heavier()
            ),
        }
    }

    fn explain_off_processor(&self) -> String {
        let off = format!(
            "Its threads were not on a processor for {:.0} % of their time: bodies blocked, or other threads ran there.",
            self.off_processor_share().unwrap_or(0.0) * 100.0
        );
        // On a busy machine that is so of every loop, and hides what its author can change.
        match self.has_waited_for_long_item() {
            true => format!("{off} {}", self.explain_long()),
            false => off,
        }
    }

    fn explain_slow(&self) -> String {
        let Some(trial) = self.trial else {
            return String::from(
                "The bodies slow each other down, at memory, a lock or an atomic number: earlier calls from this place \
                 became slower when they were shared.",
            );
        };
        let off = self.off_processor_share();
        let what = if off.is_some_and(|share| share > NOTABLE) {
            "they wait for each other, as at a lock"
        } else {
            "memory, or one atomic number or lock"
        };
        format!(
            "The bodies slow each other down: {what}. An item takes {:.1} × as long on each of {} threads as alone.",
            trial.times_slower(),
            trial.runners
        )
    }

    fn explain_helpers(&self) -> String {
        let others = self.threads_in_all() - 1;
        match self.helpers().count() {
            0 => format!(
                "None of {others} other thread{} joined: they had other work, or were not woken in time.",
                plural(others as u64)
            ),
            joined => format!(
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
        write!(f, "{} {}", self.ran(), self.why())
    }
}
