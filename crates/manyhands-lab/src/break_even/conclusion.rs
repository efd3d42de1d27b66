//! What the measured points say in the end.

use super::{
    Answer, Finder, Fit, Kind, Points, Ratio, Source, bracket, crossings, falls_back, fit,
    settled_from, values,
};
use crate::{
    stats::{Estimate, by_launch, estimate_median, median},
    verdict::Side,
};
use std::collections::BTreeMap;

impl Finder {
    /// What the measured points say, about any arm: those the search was not driven by have their
    /// answer in the same points.
    ///
    /// The same points and seed give the same answer.
    ///
    /// # Cost
    /// One bootstrap, as long as all blocks near the crossing together.
    #[must_use]
    pub fn answer(&self, points: &Points, seed: u64) -> Answer {
        let judged = self.judged(points);
        if !judged.values().any(|side| *side == Side::Faster) {
            return Answer {
                kind: self.never_faster(points, &judged, seed),
                fit: None,
                practical: None,
            };
        }
        let fit = bracket(&judged).and_then(|ends| fit::fit(points, ends, seed));
        Answer {
            kind: where_faster(&judged, fit.as_ref()),
            fit,
            practical: practical(points, &judged),
        }
    }

    /// The sizes with blocks enough to decide anything.
    fn judged(&self, points: &Points) -> BTreeMap<usize, Side> {
        points
            .iter()
            .filter(|(_, ratios)| ratios.len() >= self.rule.blocks_min() as usize)
            .map(|(n, ratios)| (*n, self.side(ratios)))
            .collect()
    }

    fn never_faster(&self, points: &Points, judged: &BTreeMap<usize, Side>, seed: u64) -> Kind {
        let interval = |n: &usize| interval(&points[n], seed);
        let Some((largest, speed_up)) = judged
            .last_key_value()
            .and_then(|(largest, _)| Some((*largest, interval(largest)?)))
        else {
            return Kind::TooFewBlocks;
        };
        let widest = 1.0 + self.rule.margin;
        let within = |found: Estimate| found.low >= widest.recip() && found.high <= widest;
        let equal = |(n, side): (&usize, &Side)| match side {
            Side::Equal => true,
            Side::Undecided => interval(n).is_some_and(within),
            Side::Faster | Side::Slower => false,
        };
        if judged.iter().all(equal) {
            return Kind::NoDifference {
                effect: self.rule.margin,
            };
        }
        Kind::NeverUpTo {
            largest,
            speed_up_at_most: speed_up.high,
        }
    }
}

/// The answer about an arm that was decided faster at some size.
fn where_faster(judged: &BTreeMap<usize, Side>, fit: Option<&Fit>) -> Kind {
    if falls_back(judged) {
        return Kind::Several {
            crossings: crossings(judged),
            settled_from: settled_from(judged),
        };
    }
    let Some((lower, upper)) = bracket(judged) else {
        let smallest = judged.keys().next().copied().unwrap_or(0);
        return Kind::AlwaysFrom { smallest };
    };
    let (lower, upper) = (lower as f64, upper as f64);
    match fit.and_then(|fit| trusted(fit, lower, upper)) {
        Some(break_even) => Kind::Between {
            lower: break_even.low,
            upper: break_even.high,
            source: Source::Fit,
        },
        None => Kind::Between {
            lower,
            upper,
            source: Source::Bracket,
        },
    }
}

/// The model's break-even, if the model fits and does not contradict the decided sides.
fn trusted(fit: &Fit, lower: f64, upper: f64) -> Option<Estimate> {
    fit.break_even.filter(|found| {
        let has_ends = found.low > 0.0 && found.high.is_finite();
        let meets_bracket = found.low <= upper && found.high >= lower;
        has_ends && meets_bracket && !fit.has_steps
    })
}

/// The neighbours between which the median speed-up passes [`PRACTICAL`] for good.
fn practical(points: &Points, judged: &BTreeMap<usize, Side>) -> Option<(usize, usize)> {
    let sizes: Vec<usize> = judged.keys().copied().collect();
    let pays =
        |n: &usize| median(&values(&points[n])).is_some_and(|speed_up| speed_up >= PRACTICAL);
    let last_below = sizes.iter().rposition(|n| !pays(n))?;
    Some((sizes[last_below], *sizes.get(last_below + 1)?))
}

fn interval(ratios: &[Ratio], seed: u64) -> Option<Estimate> {
    let values = ratios.iter().map(|ratio| (ratio.launch, ratio.value));
    estimate_median(&by_launch(values), seed)
}

/// From this speed-up on an arm pays in practice.
const PRACTICAL: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer from points without noise.
    fn answer(speed_ups: &[(usize, f64)]) -> Answer {
        let points = speed_ups
            .iter()
            .map(|(n, value)| {
                let ratio = |block: u32| Ratio {
                    launch: block % 3,
                    value: *value,
                    baseline_nanos: *n as f64,
                };
                (*n, (0..24).map(ratio).collect())
            })
            .collect();
        Finder::new([], 0.05, 0.02).answer(&points, 1)
    }

    #[test]
    fn every_kind_of_answer() {
        fn check(speed_ups: [f64; 4], expected: &Kind) {
            let sizes = [1, 10, 100, 1_000];
            let points: Vec<_> = sizes.into_iter().zip(speed_ups).collect();
            assert_eq!(answer(&points).kind, *expected, "{speed_ups:?}");
        }
        let between = |lower, upper| Kind::Between {
            lower,
            upper,
            source: Source::Bracket,
        };
        check([0.5, 1.5, 1.6, 1.7], &between(1.0, 10.0));
        check([0.5, 1.0, 1.5, 1.7], &between(1.0, 100.0));
        check([1.0, 1.0, 1.5, 1.7], &between(10.0, 100.0));
        check([1.5; 4], &Kind::AlwaysFrom { smallest: 1 });
        check([1.0; 4], &Kind::NoDifference { effect: 0.02 });
        let never = Kind::NeverUpTo {
            largest: 1_000,
            speed_up_at_most: 1.0,
        };
        check([0.1, 0.5, 0.9, 1.0], &never);
        let several = Kind::Several {
            crossings: vec![(1, 10), (100, 1_000)],
            settled_from: None,
        };
        check([0.5, 1.5, 1.6, 0.9], &several);
        let settled_in_the_end = Kind::Several {
            crossings: vec![(1, 10), (10, 100), (100, 1_000)],
            settled_from: Some(1_000),
        };
        check([0.5, 1.5, 0.5, 1.5], &settled_in_the_end);
    }

    #[test]
    fn sizes_with_few_blocks_do_not_count() {
        let finder = Finder::new([10], 0.05, 0.02);
        assert_eq!(finder.answer(&Points::new(), 1).kind, Kind::TooFewBlocks);
        let ratio = Ratio {
            launch: 0,
            value: 3.0,
            baseline_nanos: 1.0,
        };
        let points = Points::from([(10, vec![ratio; 10])]);
        assert_eq!(finder.answer(&points, 1).kind, Kind::TooFewBlocks);
    }

    #[test]
    fn it_pays_in_practice_from_a_tenth_on_for_good() {
        let practical = |speed_ups: &[(usize, f64)]| answer(speed_ups).practical;
        assert_eq!(practical(&[(1, 0.5), (2, 1.05), (4, 1.2)]), Some((2, 4)));
        assert_eq!(practical(&[(1, 0.5), (2, 1.2), (4, 1.05)]), None);
        assert_eq!(practical(&[(1, 1.5), (2, 1.6)]), None);
    }
}
