//! Looking for starved runtimes again and again, with enough time between two looks that count.
//!
//! Not here: the decision (`starvation.rs`).

use crate::inspect::analysis::starvation::{STARVED_FOR, Starvation, starvations};
use crate::recording::{RuntimeSnapshot, runtimes};
use crate::sync::clock;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A look at all runtimes.
pub(in crate::inspect) struct Look {
    at: Instant,
    runtimes: Vec<RuntimeSnapshot>,
}

/// Who looks, and asks at any times.
#[derive(Default)]
pub(in crate::inspect) struct StarvationLooks {
    earlier: Option<Look>,
}

/// The runtimes that have been reported as starved, until they go on.
#[derive(Debug, Default)]
pub(in crate::inspect) struct ReportedStarvations(BTreeSet<u32>);

impl Look {
    /// At what they do now.
    pub(in crate::inspect) fn now() -> Self {
        Self {
            at: clock::now(),
            runtimes: runtimes::read(),
        }
    }
}

impl StarvationLooks {
    /// What was starved from an earlier look to `now`; `None` if there was none long enough ago.
    pub(in crate::inspect) fn compare(&mut self, now: Look) -> Option<Vec<Starvation>> {
        let Some(earlier) = &self.earlier else {
            self.earlier = Some(now);
            return None;
        };
        if now.at.saturating_duration_since(earlier.at) < STARVED_FOR {
            return None;
        }
        let found = starvations(&now.runtimes, &earlier.runtimes);
        self.earlier = Some(now);
        Some(found)
    }

    /// What is starved since `begun`, a look that was made a moment ago. As long as that is a runtime that was not starved since
    /// an earlier look, made long enough before, it calls `pause`, until it has been long enough.
    pub(in crate::inspect) fn search(
        &mut self,
        begun: &Look,
        pause: impl Fn(Duration),
    ) -> Vec<Starvation> {
        let is_old = |look: &Look| begun.at.saturating_duration_since(look.at) >= STARVED_FOR;
        let earlier = self.earlier.take().filter(is_old);
        loop {
            let now = Look::now();
            let since = |look: &Look| starvations(&now.runtimes, &look.runtimes);
            let found = since(begun);
            let known = earlier.as_ref().map(since).unwrap_or_default();
            let is_long_ago = now.at.saturating_duration_since(begun.at) >= STARVED_FOR;
            if is_long_ago || found.iter().all(|starved| known.contains(starved)) {
                self.earlier = Some(now);
                return found;
            }
            pause(PAUSE);
        }
    }
}

impl ReportedStarvations {
    /// Those of `found` that were not found the last time.
    pub(in crate::inspect) fn news(&mut self, found: Vec<Starvation>) -> Vec<Starvation> {
        let numbers = found.iter().map(|starved| starved.runtime.number).collect();
        let before = std::mem::replace(&mut self.0, numbers);
        let mut news = found;
        news.retain(|starved| !before.contains(&starved.runtime.number));
        news
    }
}

/// Between two looks at what may go on.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::{Look, ReportedStarvations, StarvationLooks};
    use crate::inspect::analysis::starvation::{STARVED_FOR, tests::starved};
    use crate::sync::clock;
    use std::time::Duration;

    #[test]
    fn only_looks_with_enough_time_between_them_count() {
        let begun = clock::now();
        let mut looks = StarvationLooks::default();
        let mut look_after = |passed: Duration| {
            let look = Look {
                at: begun + passed,
                runtimes: vec![starved()],
            };
            looks.compare(look).map(|found| found.len())
        };
        assert_eq!(look_after(Duration::ZERO), None);
        assert_eq!(look_after(STARVED_FOR / 2), None);
        assert_eq!(look_after(STARVED_FOR), Some(1));
        assert_eq!(look_after(STARVED_FOR * 3 / 2), None);
        assert_eq!(look_after(STARVED_FOR * 2), Some(1));
    }

    #[test]
    fn a_starved_runtime_is_news_once_until_it_goes_on() {
        let mut looks = StarvationLooks::default();
        let mut reported = ReportedStarvations::default();
        let begun = clock::now();
        let completed = [0, 0, 0, 1, 1];
        let news = (0..).zip(completed).map(|(place, completed)| {
            let mut runtime = starved();
            runtime.workers[0].completed += completed;
            let look = Look {
                at: begun + STARVED_FOR * place,
                runtimes: vec![runtime],
            };
            reported.news(looks.compare(look).unwrap_or_default()).len()
        });
        assert_eq!(news.collect::<Vec<_>>(), [0, 1, 0, 0, 1]);
    }
}
