//! What kept an async loop from being faster, and the sentences about it.
//!
//! All the time of a loop belongs to one of four states: as many calls as may were in flight; the source had no item ready;
//! results waited for their consumer; or there were no more items, and the last calls ran. That which lasted longest is
//! the cause. If it is the first one, the limit on the number of calls is, and where that came from says what to do.
//!
//! Not here: loops of threads (`verdict.rs`, `sentences.rs`).

use crate::loops::calls::{CallLimit, CallsReport};
use crate::loops::numbers::{plural, ratio};
use crate::loops::report::LoopReport;
use crate::loops::verdict::{Verdict, WORTH_SHARING, greatest};
use std::time::Duration;

impl CallsReport {
    /// What kept the loop of this report, which was not stopped, from being faster.
    pub(crate) fn verdict(&self, report: &LoopReport) -> Verdict {
        if report.items <= 1 {
            return Verdict::TooFewItems;
        }
        if report.elapsed < WORTH_SHARING {
            return Verdict::TooShort;
        }
        let causes = [
            (self.waited_for_source, Verdict::SourceSlow),
            (self.waited_for_consumer, Verdict::ConsumerSlow),
            (self.without_items_for, self.why_the_last_ran(report)),
        ];
        let no_more = match self.limit {
            CallLimit::Set => Verdict::ConcurrencySet,
            CallLimit::Found => Verdict::BodiesSlowEachOther,
            CallLimit::Highest => Verdict::Scaled,
            CallLimit::NotFound => Verdict::TooFewItems,
        };
        greatest((self.full_for, no_more), &causes)
    }

    /// Its list ended, and for most of the time the last calls ran.
    fn why_the_last_ran(&self, report: &LoopReport) -> Verdict {
        let others = self.in_flight.saturating_sub(self.longest);
        let mean = others.as_secs_f64() / report.items.saturating_sub(1).max(1) as f64;
        let is_long = ratio(self.longest, report.elapsed) > 0.5;
        if is_long && self.longest.as_secs_f64() > mean * LONG {
            Verdict::LongItem
        } else {
            Verdict::TooFewItems
        }
    }

    /// How the loop ran.
    pub(crate) fn ran(&self, report: &LoopReport) -> String {
        let (items, elapsed) = (report.items, report.elapsed);
        format!(
            "{items} call{} ended in {elapsed:.1?}, {:.1} at a time on average and {} at most; one took {:.1?} at first \
             and {:.1?} at the end.",
            plural(items),
            report.mean_runners(),
            self.most_at_once,
            self.took_first,
            self.took_last
        )
    }

    /// What kept it from being faster.
    pub(crate) fn why(&self, report: &LoopReport) -> String {
        match report.verdict() {
            Verdict::Stopped => {
                String::from("It was stopped: a call failed, or the loop was cancelled or dropped.")
            }
            Verdict::TooShort => {
                String::from("It was too short: beginning a call takes about as long.")
            }
            Verdict::SourceSlow => format!(
                "The source gave items slower than they were handled: {:.1} of {} calls in flight on average.",
                report.mean_runners(),
                self.allowed_most
            ),
            Verdict::ConsumerSlow => format!(
                "Results were taken slower than they came: for {:.0} % of the time the loop waited for that.",
                ratio(self.waited_for_consumer, report.elapsed) * 100.0
            ),
            Verdict::LongItem => format!(
                "The others had ended when one call still ran, which took {:.1?}.",
                self.longest
            ),
            Verdict::ConcurrencySet => format!(
                "Calls take {:.1?} each; with the setting of {} at a time this list cannot take less than {:.1?}.",
                mean(self.in_flight, report.items),
                self.allowed_most,
                mean(self.in_flight, self.allowed_most as u64)
            ),
            Verdict::BodiesSlowEachOther => self.explain_found(),
            Verdict::TooFewItems => self.explain_few(report),
            _ => format!(
                "{} calls at a time are the most that a loop tries by itself; a higher degree of parallelism can be set.",
                report.threads
            ),
        }
    }

    fn explain_found(&self) -> String {
        let Some(trial) = self.trial else {
            return String::from("The calls slow each other down.");
        };
        let times = trial.times_faster();
        let faster = match times < FASTER {
            true => String::from("no faster than"),
            false => format!("only {times:.1} × as fast as"),
        };
        format!(
            "{} calls at a time were {faster} {}: the calls slow each other down, at a server, a lock or the processors.",
            trial.more, trial.fewer
        )
    }

    fn explain_few(&self, report: &LoopReport) -> String {
        let items = report.items;
        if items <= self.first_at_once as u64 {
            return format!(
                "It had too few items: all {items} call{} ran at once.",
                plural(items)
            );
        }
        match self.limit {
            CallLimit::NotFound if self.allowed_most > self.allowed_first => format!(
                "It had too few items: the list ended while the number of calls still rose, from {} to {}.",
                self.allowed_first, self.allowed_most
            ),
            CallLimit::NotFound => format!(
                "It had too few items: the list ended before the loop had found how many calls at a time are fastest; it \
                 ran {}.",
                self.most_at_once
            ),
            CallLimit::Set | CallLimit::Found | CallLimit::Highest => format!(
                "It had too few items: for {:.0} % of the time the list had ended and the last calls ran.",
                ratio(self.without_items_for, report.elapsed) * 100.0
            ),
        }
    }
}

/// The mean of that many.
fn mean(all: Duration, count: u64) -> Duration {
    all / u32::try_from(count.max(1)).unwrap_or(u32::MAX)
}

/// A call that takes this many times as long as the others is long.
const LONG: f64 = 3.0;
/// Less than this is no faster.
const FASTER: f64 = 1.1;
