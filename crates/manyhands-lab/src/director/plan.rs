//! What fits into a budget, decided before anything is measured: breadth first over all cases.
//!
//! What a point costs is extrapolated from a [pilot](Pilot), a single block at a tiny size, or at a larger
//! one where that took no time and says little of the sizes that are to be measured. Each case gets its smallest size
//! before any gets its second; then come the untimed passes, the searches, and last the blocks beyond the fewest, which
//! `needed` does not count. What is left of the budget when a case begins is shared among the cases that are
//! still to come, by what was planned for them.

use super::{case::Case, estimate::BlockCost, quota::Quota};
use crate::record::{CaseCard, Key, Settings};
use std::{mem, time::Duration};

/// One block at a tiny size, in a process of its own.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pilot {
    pub(super) n: usize,
    /// Time of one call, by arm, with the baseline's twin; empty if the case failed.
    pub(super) nanos: Vec<f64>,
    /// Time of all of it.
    pub(super) spent: Duration,
    /// Time of the pilots of the same case before it.
    pub(super) before: Duration,
}

impl Pilot {
    /// The size at which a case is tried first: small, so that it takes no time.
    pub(super) fn first_size(card: &CaseCard) -> Option<usize> {
        card.sizes
            .first()
            .map(|smallest| (*smallest).min(PILOT_SIZE))
    }

    /// The size at which the case is tried again, if this pilot was so short that what it took was
    /// perhaps not its items: they may wait for a tick of a clock, or for threads to start.
    pub(super) fn next_size(&self, card: &CaseCard) -> Option<usize> {
        let next = self.n * PILOT_GROWTH;
        let is_far = card.sizes.first().is_some_and(|smallest| *smallest >= next);
        let is_short = !self.nanos.is_empty() && self.nanos.iter().sum::<f64>() < PILOT_NANOS_MIN;
        (is_far && is_short).then_some(next)
    }

    /// Time of one block at a size.
    pub(super) fn cost(&self, n: usize) -> Option<BlockCost> {
        BlockCost::scaled(&self.nanos, n as f64 / self.n.max(1) as f64)
    }

    /// Time to start a process of the case and open a size.
    pub(super) fn launch_cost(&self) -> Duration {
        let block = self.cost(self.n);
        self.spent
            .saturating_sub(block.map_or(Duration::ZERO, |block| block.whole()))
    }
}

/// What a run with a budget is going to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Time for what fits, by case, in the order of the head.
    pub(crate) costs: Vec<Duration>,
    /// Sizes there is no time for, by case, with the time that each would take; none for a case that was not even tried.
    pub left_out: Vec<(Key, Duration)>,
    /// Cases whose untimed passes there is no time for, with the time that they would take.
    pub passes_left_out: Vec<(Key, Duration)>,
    /// Time for everything that was asked.
    pub needed: Duration,
    /// Time there is.
    pub budget: Duration,
}

impl Plan {
    /// Whether all cases were tried, or as many as there is time for.
    pub(super) fn is_possible(cases: &[Case], budget: Duration) -> bool {
        let all = cases.iter().all(|case| case.pilot_size().is_none());
        all || spent(cases) > budget.mul_f64(PILOTS_SHARE)
    }

    /// Plans for what is left of the budget after the pilots of these cases.
    pub(super) fn of(cases: &[Case], budget: Duration, quota: Quota, settings: &Settings) -> Self {
        let spent = spent(cases);
        let mut planner = Planner {
            left: budget.saturating_sub(spent),
            plan: Self {
                costs: vec![Duration::ZERO; cases.len()],
                left_out: Vec::new(),
                passes_left_out: Vec::new(),
                needed: spent,
                budget,
            },
        };
        let wanted: Vec<Wanted> = cases
            .iter()
            .map(|case| Wanted::of(case, quota, settings))
            .collect();
        let lens = wanted.iter().map(|case| case.sizes.len());
        let levels = lens.max().unwrap_or(0);
        // Of each case, how many sizes are planned.
        let mut planned = vec![0; cases.len()];
        for level in 0..levels {
            let at_level = wanted.iter().enumerate();
            let mut points: Vec<(usize, usize, Duration)> = at_level
                .filter_map(|(case, wanted)| {
                    let (n, cost) = wanted.sizes.get(level)?;
                    Some((case, *n, *cost))
                })
                .collect();
            // The cheapest first: so most cases have something.
            points.sort_by_key(|(_, _, cost)| *cost);
            for (case, n, cost) in points {
                // Larger sizes cost more.
                let was_tried = cases[case].pilot.is_some();
                planner.plan.needed += cost;
                if planned[case] == level && was_tried && planner.take(case, cost) {
                    planned[case] += 1;
                } else {
                    let left_out = (cases[case].subject.key(n), cost);
                    planner.plan.left_out.push(left_out);
                }
            }
        }
        let place = |key: &Key| {
            cases
                .iter()
                .position(|case| case.subject.key(key.n) == *key)
        };
        planner.plan.left_out.sort_by_key(|(key, _)| place(key));
        for (index, case) in wanted.iter().enumerate() {
            planner.plan.needed += case.passes;
            if case.passes > Duration::ZERO && !planner.take(index, case.passes) {
                let n = cases[index].card.sizes.last().copied().unwrap_or(0);
                let left_out = (cases[index].subject.key(n), case.passes);
                planner.plan.passes_left_out.push(left_out);
            }
        }
        for (index, case) in wanted.iter().enumerate() {
            planner.plan.needed += case.search;
            planner.take(index, case.search);
        }
        // What is left goes to the blocks that are wanted beyond the fewest, the cheapest first: where a block
        // takes no time, many of them may decide what few do not.
        let more = u32::try_from(quota.rule.at_least - quota.min).unwrap_or(u32::MAX);
        let mut points: Vec<(usize, Duration)> = Vec::new();
        for (index, case) in cases.iter().enumerate() {
            let sizes = case.card.sizes[..planned[index]].iter();
            let blocks = sizes.map(|n| case.block_cost(*n).unwrap_or_default() * more);
            points.extend(blocks.map(|cost| (index, cost)));
        }
        points.sort_by_key(|(_, cost)| *cost);
        for (case, cost) in points {
            planner.take(case, cost);
        }
        planner.plan
    }

    /// The part of what is left of the budget that belongs to a case, the one that begins now.
    pub(super) fn share(&self, case: usize, left: Duration) -> Duration {
        let costs = &self.costs[case..];
        let all: Duration = costs.iter().sum();
        if all.is_zero() {
            return left / u32::try_from(costs.len()).unwrap_or(u32::MAX).max(1);
        }
        left.mul_f64(costs[0].as_secs_f64() / all.as_secs_f64())
    }
}

/// A plan in the making.
struct Planner {
    left: Duration,
    plan: Plan,
}

impl Planner {
    /// Plans something for a case, if there is time for it.
    fn take(&mut self, case: usize, cost: Duration) -> bool {
        let fits = cost <= self.left;
        if fits {
            self.left -= cost;
            self.plan.costs[case] += cost;
        }
        fits
    }
}

/// What one case would take.
struct Wanted {
    /// Its sizes, ascending, with the time of each; the processes are started with the first.
    sizes: Vec<(usize, Duration)>,
    passes: Duration,
    search: Duration,
}

impl Wanted {
    fn of(case: &Case, quota: Quota, settings: &Settings) -> Self {
        let launches = settings.launches.max(1);
        if case.pilot.is_none() {
            let sizes = case.card.sizes.iter();
            return Self {
                sizes: sizes.map(|n| (*n, Duration::ZERO)).collect(),
                passes: Duration::ZERO,
                search: Duration::ZERO,
            };
        }
        let mut starts = case.launch_cost() * launches;
        let mut cost = |n| mem::take(&mut starts) + case.point_cost(n, quota, launches);
        let sizes = case.card.sizes.iter().map(|n| (*n, cost(*n))).collect();
        let middle = case.card.sizes.get(case.card.sizes.len() / 2);
        let probe = middle.map(|n| case.point_cost(*n, quota, launches));
        let points = u32::try_from(case.search_points_left()).unwrap_or(u32::MAX);
        let largest = case.card.sizes.last().copied().unwrap_or(0);
        Self {
            sizes,
            passes: case.passes_cost(largest, settings),
            search: probe.unwrap_or_default() * points,
        }
    }
}

/// Time of all pilots so far.
fn spent(cases: &[Case]) -> Duration {
    let pilots = cases.iter().filter_map(|case| case.pilot.as_ref());
    pilots.map(|pilot| pilot.before + pilot.spent).sum()
}

/// Of the budget, pilots take no more than this.
const PILOTS_SHARE: f64 = 0.25;
/// The first pilot takes place at this size, or at the smallest of the case if that is smaller.
const PILOT_SIZE: usize = 8;
/// The next one is so much larger, if that is no larger than the smallest size of the case.
const PILOT_GROWTH: usize = 8;
/// A shorter pilot is followed by another one.
const PILOT_NANOS_MIN: f64 = 20e6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Scale;

    fn settings() -> Settings {
        Settings::new(Scale::Standard, 1)
    }

    /// Cases whose arms take this many microseconds for an item.
    fn cases(sizes: &[(&[usize], f64)]) -> Vec<Case> {
        let case = |(index, (sizes, micros)): (usize, &(&[usize], f64))| {
            let card = CaseCard {
                name: index.to_string(),
                arms: vec!["a".to_owned(), "b".to_owned()],
                sizes: sizes.to_vec(),
                ..CaseCard::default()
            };
            let mut case = Case::new("X", &card);
            case.pilot = Some(Pilot {
                n: 1,
                nanos: vec![micros * 1e3; 3],
                spent: Duration::from_millis(10),
                before: Duration::ZERO,
            });
            case
        };
        sizes.iter().enumerate().map(case).collect()
    }

    fn plan(cases: &[Case], seconds: u64) -> Plan {
        let quota = Quota::of(Scale::Standard, 6);
        Plan::of(cases, Duration::from_secs(seconds), quota, &settings())
    }

    #[test]
    fn every_case_has_its_smallest_size_before_any_has_its_second() {
        // A point at 1,000 takes 12 blocks of 3 s, 36 s; one at 10 less than two.
        let cases = cases(&[(&[10, 1_000], 1e3), (&[10, 1_000], 1e3), (&[10], 1e3)]);
        let left_out = |seconds| -> Vec<(String, usize)> {
            let plan = plan(&cases, seconds);
            assert!(plan.costs.iter().all(|cost| !cost.is_zero()), "{plan:?}");
            assert!(plan.costs.iter().sum::<Duration>() <= plan.budget);
            let keys = plan.left_out.into_iter().map(|(key, _)| (key.case, key.n));
            keys.collect()
        };
        let both = [("0".to_owned(), 1_000), ("1".to_owned(), 1_000)];
        assert_eq!(left_out(35), both);
        assert_eq!(left_out(70), both[1..]);
        assert_eq!(left_out(1_000), []);
    }

    #[test]
    fn a_pilot_that_took_no_time_is_followed_by_a_larger_one_up_to_the_smallest_size() {
        let cases = cases(&[(&[1_000], 1.0)]);
        let next = |n: usize, nanos: &[f64]| {
            let pilot = Pilot {
                n,
                nanos: nanos.to_vec(),
                spent: Duration::ZERO,
                before: Duration::ZERO,
            };
            pilot.next_size(&cases[0].card)
        };
        assert_eq!(next(8, &[1e6, 1e6, 1e6]), Some(64));
        assert_eq!(next(64, &[1e6, 1e6, 1e6]), Some(512));
        assert_eq!(next(512, &[1e6, 1e6, 1e6]), None);
        assert_eq!(next(8, &[7e6, 7e6, 7e6]), None);
        // It failed.
        assert_eq!(next(8, &[]), None);
    }

    #[test]
    fn what_is_left_out_is_named_with_its_time() {
        let cases = cases(&[(&[10, 1_000], 1e3)]);
        let plan = plan(&cases, 20);
        let [(key, cost)] = plan.left_out.as_slice() else {
            panic!("{plan:?}");
        };
        assert_eq!(key.n, 1_000);
        assert!((35.0..40.0).contains(&cost.as_secs_f64()), "{cost:?}");
        assert!(plan.needed > *cost && plan.needed < *cost + Duration::from_secs(5));
    }

    #[test]
    fn what_is_left_goes_to_cheap_blocks_first() {
        // A block takes 3 s of one case and 0.6 s of the other. The fewest, 12, take 36 s, and 10.8 s with six
        // openings; 24 more are wanted, for which 72 s are not there beside 14.4 s.
        let cases = cases(&[(&[10], 1e5), (&[10], 2e4)]);
        let plan = plan(&cases, 120);
        assert!(plan.costs[0] < Duration::from_secs(37), "{plan:?}");
        assert!(plan.costs[1] > Duration::from_secs(24), "{plan:?}");
    }

    #[test]
    fn passes_are_counted() {
        let cases = cases(&[(&[10], 1.0)]);
        let settings = Settings {
            cores: true,
            ..settings()
        };
        let quota = Quota::of(Scale::Standard, 6);
        let plan = |seconds| Plan::of(&cases, Duration::from_secs(seconds), quota, &settings);
        assert_eq!(plan(1).passes_left_out.len(), 1);
        assert_eq!(plan(9).passes_left_out, []);
        assert!(plan(9).costs[0] > Duration::from_secs(2));
    }

    #[test]
    fn what_is_left_is_shared_by_what_is_planned() {
        let cases = cases(&[(&[10], 1.0), (&[10], 1.0), (&[10], 1.0)]);
        let plan = plan(&cases, 60);
        let second = Duration::from_secs(1);
        assert_eq!(plan.share(0, 3 * second), second);
        assert_eq!(plan.share(1, 4 * second), 2 * second);
        assert_eq!(plan.share(2, second), second);
    }
}
