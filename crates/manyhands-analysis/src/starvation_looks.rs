//! Looking for starved runtimes again and again, with enough time between two looks that count.
//!
//! Not here: the decision (`starvation.rs`), and the clock.

use crate::starvation::{STARVED_FOR, starvations};
use manyhands_wire::{Runtime, Starvation};
use std::collections::BTreeSet;
use std::mem;
use std::time::{Duration, Instant};

/// A look at all runtimes.
#[derive(Debug)]
pub struct Look {
    /// When it was made.
    pub at: Instant,
    /// What they did then.
    pub runtimes: Vec<Runtime>,
}

/// Who looks, and asks at any times.
#[derive(Debug, Default)]
pub struct StarvationLooks {
    earlier: Option<Look>,
    /// The runtimes that are known to be starved, until they go on.
    starved: BTreeSet<u32>,
}

impl StarvationLooks {
    /// What was starved from an earlier look to `now`, and was not the last time. Nothing if there was no look long enough ago.
    pub fn news(&mut self, now: Look) -> Vec<Starvation> {
        let is_old = |look: &mut Look| now.at.saturating_duration_since(look.at) >= STARVED_FOR;
        let Some(earlier) = self.earlier.take_if(is_old) else {
            self.earlier.get_or_insert(now);
            return Vec::new();
        };
        let mut found = starvations(&now.runtimes, &earlier.runtimes);
        self.earlier = Some(now);
        let starved = found.iter().map(|starved| starved.runtime);
        let before = mem::replace(&mut self.starved, starved.collect());
        found.retain(|starved| !before.contains(&starved.runtime));
        found
    }

    /// What is starved since `begun`, a look that was made a moment ago, to one by `look`. As long as that is a runtime that was
    /// not starved since an earlier look, made long enough before, it calls `pause` and looks again, until it has been long
    /// enough.
    pub fn search(
        &mut self,
        begun: &Look,
        look: impl Fn() -> Look,
        pause: impl Fn(Duration),
    ) -> Vec<Starvation> {
        let is_old = |look: &Look| begun.at.saturating_duration_since(look.at) >= STARVED_FOR;
        let earlier = self.earlier.take().filter(is_old);
        loop {
            let now = look();
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

/// Between two looks at what may go on.
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::{Look, StarvationLooks};
    use crate::starvation::{STARVED_FOR, tests::starved};
    use std::time::{Duration, Instant};

    /// How many starved runtimes are news at looks so far apart, each with what its worker has completed by then.
    fn news(apart: Duration, completed: &[u64]) -> Vec<usize> {
        let mut looks = StarvationLooks::default();
        #[expect(clippy::disallowed_methods, reason = "any moment will do")]
        let begun = Instant::now();
        let news = (0..).zip(completed).map(|(place, completed)| {
            let mut runtime = starved();
            runtime.workers[0].completed += completed;
            let look = Look {
                at: begun + apart * place,
                runtimes: vec![runtime],
            };
            looks.news(look).len()
        });
        news.collect()
    }

    #[test]
    fn only_looks_with_enough_time_between_them_count() {
        let completed = [0, 0, 0, 1, 1, 1, 1];
        let found = [0, 0, 1, 0, 0, 0, 1];
        assert_eq!(news(STARVED_FOR / 2, &completed), found);
    }

    #[test]
    fn a_starved_runtime_is_news_once_until_it_goes_on() {
        assert_eq!(news(STARVED_FOR, &[0, 0, 0, 1, 1]), [0, 1, 0, 0, 1]);
    }
}
