//! What is counted of an async loop while it runs.
//!
//! Not here: what its report has, and what follows from it (`manyhands-analysis`).

use crate::recording::{BeginsNoMore, FoundConcurrency};
use manyhands_analysis::{CallLimit, CallsReport, level_trial};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is counted while the loop runs.
pub(crate) struct CallsAccount {
    begun: Instant,
    /// Until when time has been counted.
    counted: Instant,
    /// Why it begins no more since then.
    pub(super) because: BeginsNoMore,
    /// It was stopped.
    pub(super) is_stopped: bool,
    ended: u64,
    first: Vec<Duration>,
    last: VecDeque<Duration>,
    pub(super) report: CallsReport,
}

impl CallsAccount {
    /// Of a loop that is polled for the first time.
    pub(crate) fn begin(now: Instant) -> Self {
        Self {
            begun: now,
            counted: now,
            because: BeginsNoMore::SourcePending,
            is_stopped: false,
            ended: 0,
            first: Vec::new(),
            last: VecDeque::new(),
            report: CallsReport::default(),
        }
    }

    /// What passed until now was for the reason that is known.
    pub(crate) fn pass(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.counted);
        self.counted = now;
        let report = &mut self.report;
        *match self.because {
            BeginsNoMore::Full => &mut report.full_for,
            BeginsNoMore::SourcePending | BeginsNoMore::SourceBusy => &mut report.waited_for_source,
            BeginsNoMore::Consumer => &mut report.waited_for_consumer,
            BeginsNoMore::SourceEnded => &mut report.without_items_for,
        } += passed;
    }

    /// This number runs of those that may.
    pub(crate) fn runs(&mut self, running: usize, allowed: usize) {
        let report = &mut self.report;
        if report.allowed_most == 0 {
            report.allowed_first = allowed;
        }
        report.allowed_most = report.allowed_most.max(allowed);
        report.most_at_once = report.most_at_once.max(running);
    }

    /// One of `running` calls has ended, and has taken this time.
    pub(crate) fn end_call(&mut self, running: usize, taken: Duration) {
        let report = &mut self.report;
        if self.ended == 0 {
            report.first_at_once = running;
        }
        report.most_at_once = report.most_at_once.max(running);
        report.in_flight += taken;
        report.longest = report.longest.max(taken);
        self.ended += 1;
        if self.first.len() < CALLS_COMPARED {
            self.first.push(taken);
        }
        if self.last.len() == CALLS_COMPARED {
            self.last.pop_front();
        }
        self.last.push_back(taken);
    }

    /// The loop is over: with what it has found about the number of calls, or because it was stopped. Returns how many calls have
    /// ended, how long it took, and its report.
    pub(crate) fn end(mut self, found: Option<FoundConcurrency>) -> (u64, Duration, CallsReport) {
        let report = &mut self.report;
        if let Some(found) = found {
            report.limit = limit(&found);
            report.trial = found.not_worth.map(level_trial);
        }
        report.took_first = median(self.first);
        report.took_last = median(self.last.into());
        let elapsed = self.counted.saturating_duration_since(self.begun);
        (self.ended, elapsed, self.report)
    }
}

/// Where the number of calls at a time came from.
fn limit(found: &FoundConcurrency) -> CallLimit {
    let (fewest, most) = found.limits;
    let is_highest = found.level == most;
    match found.not_worth {
        _ if fewest == most => CallLimit::Set,
        Some(_) => CallLimit::Found,
        None if is_highest && most == found.tried_most => CallLimit::Highest,
        None if is_highest => CallLimit::Set,
        None => CallLimit::NotFound,
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Calls whose times are compared, at the beginning and at the end.
const CALLS_COMPARED: usize = 32;

#[cfg(test)]
mod tests {
    use super::{CALLS_COMPARED, CallsAccount};
    use crate::recording::{BeginsNoMore, FoundConcurrency};
    use crate::sync::clock;
    use manyhands_analysis::CallLimit;
    use std::time::Duration;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn time_is_counted_for_the_reason_for_which_no_more_began() {
        let start = clock::now();
        let mut account = CallsAccount::begin(start);
        for (until, because) in [
            (10, BeginsNoMore::Full),
            (30, BeginsNoMore::Consumer),
            (60, BeginsNoMore::SourceBusy),
            (100, BeginsNoMore::SourceEnded),
        ] {
            account.because = because;
            account.pass(start + ms(until));
        }
        account.pass(start + ms(150));
        let (_, elapsed, calls) = account.end(None);
        assert_eq!(
            (calls.full_for, calls.waited_for_consumer),
            (ms(10), ms(20))
        );
        assert_eq!(calls.waited_for_source, ms(30));
        assert_eq!((calls.without_items_for, elapsed), (ms(90), ms(150)));
    }

    #[test]
    fn calls_are_counted_with_their_first_and_their_last_times() {
        let start = clock::now();
        let mut account = CallsAccount::begin(start);
        account.runs(3, 4);
        account.runs(7, 8);
        for call in 0..100 {
            account.end_call(5, ms(call));
        }
        let found = FoundConcurrency {
            level: 8,
            limits: (4, 8),
            tried_most: 1_024,
            not_worth: None,
        };
        let (items, _, calls) = account.end(Some(found));
        assert_eq!((items, calls.in_flight), (100, ms(4_950)));
        assert_eq!((calls.first_at_once, calls.most_at_once), (5, 7));
        assert_eq!((calls.allowed_first, calls.allowed_most), (4, 8));
        let half = CALLS_COMPARED as u64 / 2;
        assert_eq!(
            (calls.took_first, calls.took_last),
            (ms(half), ms(100 - half))
        );
        assert_eq!((calls.longest, calls.limit), (ms(99), CallLimit::Set));
    }
}
