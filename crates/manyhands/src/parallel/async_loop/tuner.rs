//! How many items of an async loop run at once: chosen while it runs, from the time that items take.
//!
//! A pure state machine: the driver reports when items begin and end, and asks how many may run. It does not wait and
//! reads no clock.
//!
//! # Method
//! Items that begin at a level of `n` while more than half of `n` run are its *cohort*. When most of them have ended,
//! Little's law (J. D. C. Little, "A proof for the queuing formula L = λW", 1961) gives the rate of that level: how
//! many ran, divided by the mean time that the items took. A loop that runs short of items learns nothing. To decide
//! whether a level pays, the tuner compares its rate with the rate that it would have if items did not disturb each
//! other, as TCP Vegas does (L. Brakmo, S. O'Malley and L. Peterson, 1994). Levels grow by doubling, as in slow start
//! (V. Jacobson, "Congestion avoidance and control", 1988). Where the rate stops growing, the tuner searches for the
//! lowest level that has it.
//!
//! One rule is our own. The first level is low, because the other side may be small; but where items take very
//! different times, waiting for most of them would take too long. A saturated server delays all items alike, or the
//! later ones more. So if the earliest ends are far apart, and are not those of the items that began first, four times
//! as many items may run at once.

use crate::parallel::Concurrency;
use crate::recording::FoundConcurrency;
use std::time::{Duration, Instant};

/// The state machine.
pub(super) struct Tuner {
    limits: Concurrency,
    phase: Phase,
    /// The last comparison in which the higher level was not worth it, if no higher one has been since then.
    not_worth: Option<(Measured, Measured)>,
    cohort: Cohort,
}

/// What the present cohort is for.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Nothing is known yet.
    First(WarmUp),
    /// Only that items take very different times is known.
    Leapt,
    /// Another level than the best so far is tried.
    Tries { best: Measured, step: Step },
    /// The best level is used for this number of further cohorts, before the next step is tried.
    Holds {
        best: Measured,
        cohorts: u32,
        next: Step,
    },
}

/// From the best level to one that is tried.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Does a lower level do as well? Higher ones have not been tried.
    FirstHalf,
    /// Does a lower level do as well? Higher ones need not be tried.
    Half,
    /// Does a higher level do better?
    Double,
    /// Does a slightly lower level do as well?
    Less,
    /// Does a slightly higher level do better?
    More,
}

/// The rate of a level.
#[derive(Debug, Clone, Copy)]
struct Measured {
    level: usize,
    /// How many ran when the items began, on average.
    running: f64,
    /// Items per second.
    rate: f64,
}

/// The very first items.
#[derive(Debug, Clone, Copy, Default)]
struct WarmUp {
    ended: usize,
    first_taken: Option<Duration>,
    /// The sum of the poll positions of those that ended.
    places: usize,
}

/// The items from whose times the tuner learns the rate of a level.
#[derive(Debug, Default)]
struct Cohort {
    /// Distinguishes its items from those of earlier ones.
    number: u64,
    level: usize,
    /// This number of items begin all at once before the cohort: what those take says little about items that begin
    /// one by one.
    to_skip: usize,
    size: usize,
    begun: usize,
    /// How many were running when they began, in sum.
    running: usize,
    /// When they began, counted from `origin`, in sum.
    begins: Duration,
    ended: usize,
    /// When those that have ended did, counted from `origin`, in sum.
    ends: Duration,
    /// When the first one began.
    origin: Option<Instant>,
}

/// The driver gets it when an item begins, and gives it back when the item ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemStart {
    began: Instant,
    /// The cohort that the item belongs to, if any.
    cohort: Option<u64>,
}

impl Tuner {
    pub(super) fn new(limits: Concurrency) -> Self {
        let mut tuner = Self {
            limits,
            phase: Phase::First(WarmUp::default()),
            not_worth: None,
            cohort: Cohort::default(),
        };
        tuner.go_to(FIRST_LEVEL, tuner.phase);
        tuner
    }

    /// How many items may run now.
    pub(super) fn level(&self) -> usize {
        self.cohort.level
    }

    /// Changes the limits; the tuner searches again if the best level may now be different.
    pub(super) fn set_limits(&mut self, limits: Concurrency) {
        self.limits = limits;
        self.not_worth = None;
        self.go_to(self.cohort.level, Phase::Leapt);
    }

    /// What is known of the level at the end.
    pub(super) fn concurrency(&self) -> FoundConcurrency {
        FoundConcurrency {
            level: self.level(),
            limits: (self.limits.min(), self.limits.max()),
            tried_most: Concurrency::ADAPTIVE.max(),
            not_worth: self
                .not_worth
                .map(|(low, high)| [low, high].map(|level| (level.level, level.every()))),
        }
    }

    /// An item begins while `running` others run.
    pub(super) fn begin(&mut self, now: Instant, running: usize) -> ItemStart {
        let is_full = (running + 1) * 2 > self.cohort.level;
        let is_skipped = self.cohort.to_skip > 0;
        self.cohort.to_skip = self.cohort.to_skip.saturating_sub(1);
        let is_counted = is_full && !is_skipped && self.cohort.begun < self.cohort.size;
        if is_counted {
            self.cohort.begin(now, running + 1);
        }
        ItemStart {
            began: now,
            cohort: is_counted.then_some(self.cohort.number),
        }
    }

    /// An item has ended. `place` items were polled before it.
    pub(super) fn end(&mut self, item_start: ItemStart, place: usize, now: Instant) {
        if self.limits.min() == self.limits.max() {
            return;
        }
        let taken = item_start.taken_until(now);
        if let Phase::First(warm_up) = &mut self.phase
            && place < self.cohort.level
        {
            warm_up.end(place, taken);
            if warm_up.ends_are_far_apart(taken, self.cohort.level) {
                return self.go_to(self.cohort.level.saturating_mul(LEAP), Phase::Leapt);
            }
        }
        if item_start.cohort == Some(self.cohort.number) {
            self.cohort.end(now);
            if self.cohort.is_complete() {
                let measured = self.cohort.measure(now);
                self.decide(measured);
            }
        }
    }

    fn decide(&mut self, new: Measured) {
        match self.phase {
            Phase::First(_) | Phase::Leapt => self.advance(new, Step::FirstHalf),
            Phase::Tries { best, step } => self.compare(best, new, step),
            // The other side has changed.
            Phase::Holds { best, .. } if new.rate < best.rate * FALLEN => {
                self.try_step(new, Step::Half);
            }
            Phase::Holds { cohorts, next, .. } if cohorts > 1 => {
                self.hold(new, cohorts - 1, next);
            }
            Phase::Holds { next, .. } => self.try_step(new, next),
        }
    }

    fn compare(&mut self, best: Measured, new: Measured, step: Step) {
        // What fraction of the higher level's advantage over the lower one shows in the rates.
        let (low, high) = if new.level < best.level {
            (new, best)
        } else {
            (best, new)
        };
        let rises = high.rate / low.rate;
        let is_worth_it = rises > 1.0 + (high.running / low.running - 1.0) * WORTH;
        if !is_worth_it && low.level < high.level {
            self.not_worth = Some((low, high));
        } else if new.level > best.level {
            self.not_worth = None;
        }
        match step {
            Step::FirstHalf | Step::Half if rises < SAME => self.advance(new, Step::Half),
            Step::Less if rises < SAME => self.advance(new, step),
            Step::Double | Step::More if is_worth_it => self.advance(new, step),
            Step::FirstHalf if is_worth_it => self.try_step(best, Step::Double),
            Step::Less => self.hold(best, HOLD_COHORTS, Step::More),
            _ => self.hold(best, HOLD_COHORTS, Step::Less),
        }
    }

    /// Makes `best` the best level so far, and tries the next step from there; holds it if that is the same level.
    fn advance(&mut self, best: Measured, step: Step) {
        if self.limits.clamp(step.from(best.level)) == best.level {
            self.hold(best, HOLD_COHORTS, Step::More);
        } else {
            self.try_step(best, step);
        }
    }

    fn try_step(&mut self, best: Measured, step: Step) {
        self.go_to(step.from(best.level), Phase::Tries { best, step });
    }

    fn hold(&mut self, best: Measured, cohorts: u32, next: Step) {
        let phase = Phase::Holds {
            best,
            cohorts,
            next,
        };
        self.go_to(best.level, phase);
    }

    fn go_to(&mut self, level: usize, phase: Phase) {
        let level = self.limits.clamp(level);
        self.phase = phase;
        let bursts = matches!(phase, Phase::First(_) | Phase::Leapt);
        self.cohort = Cohort {
            number: self.cohort.number + 1,
            level,
            to_skip: if bursts { level } else { 0 },
            size: (level / 2).max(level.clamp(COHORT_MIN, COHORT_ENOUGH)),
            ..Cohort::default()
        };
    }
}

impl Step {
    fn from(self, level: usize) -> usize {
        let quarter = level.div_ceil(4);
        match self {
            Self::FirstHalf | Self::Half => level / 2,
            Self::Double => level.saturating_mul(2),
            Self::Less => level - quarter,
            Self::More => level.saturating_add(quarter),
        }
    }
}

impl ItemStart {
    /// What the item has taken if it ended then.
    pub(super) fn taken_until(self, end: Instant) -> Duration {
        end.saturating_duration_since(self.began)
    }
}

impl Measured {
    /// The time from one end to the next.
    fn every(self) -> Duration {
        Duration::try_from_secs_f64(1.0 / self.rate).unwrap_or(Duration::MAX)
    }
}

impl Cohort {
    /// The time since its first item began.
    fn age(&mut self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.origin.get_or_insert(now))
    }

    fn begin(&mut self, now: Instant, running: usize) {
        let age = self.age(now);
        self.begun += 1;
        self.running += running;
        self.begins += age;
    }

    fn end(&mut self, now: Instant) {
        let age = self.age(now);
        self.ended += 1;
        self.ends += age;
    }

    /// Waiting for the last ones could take too long.
    fn is_complete(&self) -> bool {
        self.ended >= self.size - self.size / 8
    }

    /// The running items count with the time that they have taken so far.
    fn measure(&mut self, now: Instant) -> Measured {
        let running = (self.begun - self.ended) as f64;
        let so_far = running * self.age(now).as_secs_f64();
        let taken = so_far + self.ends.as_secs_f64() - self.begins.as_secs_f64();
        let taken = taken.max(SHORTEST_SECS);
        Measured {
            level: self.level,
            running: self.running as f64 / self.begun as f64,
            rate: self.running as f64 / taken,
        }
    }
}

impl WarmUp {
    fn end(&mut self, place: usize, taken: Duration) {
        self.ended += 1;
        self.places += place;
        self.first_taken.get_or_insert(taken);
    }

    /// Whether the first ends are so far apart that the times of all must be very different: at this pace the last one
    /// would take more than two and a half times as long as the first. A queue lets items out like that too, but in
    /// the order in which they arrived.
    fn ends_are_far_apart(&self, taken: Duration, level: usize) -> bool {
        let Some(first) = self.first_taken else {
            return false;
        };
        let is_in_order = self.places * 4 < level.saturating_mul(self.ended);
        if self.ended < 2 || self.ended > level / 2 || is_in_order {
            return false;
        }
        let later = taken.saturating_sub(first).as_secs_f64();
        let pace = later * level as f64 / (self.ended - 1) as f64;
        pace > first.as_secs_f64() * FAR_APART
    }
}

/// Few enough for a server that handles 16 at once, many enough to learn from.
const FIRST_LEVEL: usize = 32;
/// After the first items have taken very different times, this many times as many.
const LEAP: usize = 4;
/// See `WarmUp::ends_are_far_apart`.
const FAR_APART: f64 = 1.5;
/// A rate is learnt from at least this many items.
const COHORT_MIN: usize = 8;
/// Half the level is enough where that is more than this.
const COHORT_ENOUGH: usize = 32;
/// More items at once pay if they bring at least this part of the possible gain.
const WORTH: f64 = 0.6;
/// Rates this near to each other are the same.
const SAME: f64 = 1.15;
/// A rate that has fallen to this part of its former value: the other side has changed.
const FALLEN: f64 = 0.7;
/// Cohorts at the settled level between two trials of another level.
const HOLD_COHORTS: u32 = 8;
/// Keeps rates finite.
const SHORTEST_SECS: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::{Concurrency, Tuner};
    use std::collections::BTreeMap;
    use std::time::{Duration, Instant};

    /// Runs this number of items against a simulated server, which takes an item's number and how many run and returns
    /// how many microseconds the item takes; returns the levels, as they change.
    fn levels(limits: Concurrency, items: u64, server: impl Fn(u64, usize) -> u64) -> Vec<usize> {
        let origin = origin();
        let at = |micros| origin + Duration::from_micros(micros);
        let mut tuner = Tuner::new(limits);
        let mut levels = vec![tuner.level()];
        let mut running = BTreeMap::new();
        let (mut now, mut begun) = (0, 0);
        loop {
            while begun < items && running.len() < tuner.level() {
                let item_start = tuner.begin(at(now), running.len());
                let end = now + server(begun, running.len() + 1);
                running.insert((end, begun), item_start);
                begun += 1;
            }
            let Some(((end, place), item_start)) = running.pop_first() else {
                return levels;
            };
            now = end;
            tuner.end(item_start, usize::try_from(place).unwrap(), at(now));
            if levels.last() != Some(&tuner.level()) {
                levels.push(tuner.level());
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "somewhere time must begin")]
    fn origin() -> Instant {
        Instant::now()
    }

    #[test]
    fn what_does_not_interfere_doubles_up_to_the_limit() {
        let found = levels(Concurrency::ADAPTIVE, 20_000, |_, _| 1_000);
        assert_eq!(found[..7], [32, 16, 64, 128, 256, 512, 1_024]);
    }

    #[test]
    fn a_saturated_server_is_brought_down_to_what_it_takes() {
        let found = levels(Concurrency::ADAPTIVE, 2_000, |_, running| {
            running.max(16) as u64 * 100
        });
        assert_eq!(found[..4], [32, 16, 8, 16]);
        assert!(
            found[3..].iter().all(|level| (12..=20).contains(level)),
            "{found:?}"
        );
    }

    #[test]
    fn very_different_times_skip_levels() {
        let found = levels(Concurrency::ADAPTIVE, 100, |item, _| {
            10_000 + item * 7_919 % 41 * 1_000
        });
        assert_eq!(found, [32, 128]);
    }

    #[test]
    fn a_queue_does_not_skip_levels() {
        let found = levels(Concurrency::ADAPTIVE, 60, |_, running| {
            running as u64 * 1_000
        });
        assert!(found.iter().all(|level| *level <= 32), "{found:?}");
    }

    #[test]
    fn a_server_that_takes_fewer_than_before_is_spared_soon() {
        let found = levels(Concurrency::ADAPTIVE, 3_300, |item, running| {
            let takes = if item < 3_000 { 64 } else { 8 };
            (running as u64).max(takes).pow(2) * 1_000 / takes.pow(2)
        });
        let at_last = found.iter().rev().take(5).copied();
        assert_eq!(at_last.collect::<Vec<_>>(), [8, 4, 8, 16, 32], "{found:?}");
    }

    #[test]
    fn a_loop_that_runs_short_learns_nothing() {
        let mut tuner = Tuner::new(Concurrency::ADAPTIVE);
        let start = origin();
        for place in 0..1_000 {
            let item_start = tuner.begin(start, 3);
            tuner.end(item_start, place, start + Duration::from_millis(1));
        }
        assert_eq!(tuner.level(), 32);
    }

    #[test]
    fn limits_hold_at_every_level() {
        let found = levels(Concurrency::try_from(5..=40).unwrap(), 5_000, |_, _| 1_000);
        assert!(
            found.iter().all(|level| (5..=40).contains(level)),
            "{found:?}"
        );
        assert_eq!(
            levels(Concurrency::try_from(7).unwrap(), 5_000, |_, _| 1_000),
            [7]
        );
    }
}
