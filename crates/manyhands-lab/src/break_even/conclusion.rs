//! What the measured points say in the end.

use super::{
    Answer, Finder, Fit, Judged, Kind, Points, Practical, Source, Verdicts, bracket, crossings,
    falls_back, fit, settled_from,
};
use crate::{stats::Estimate, verdict::Verdict};
use std::collections::BTreeMap;

impl Finder {
    /// What the verdicts say, about any arm: those the search was not driven by have their answer
    /// in the same points. The points serve the cost model alone.
    ///
    /// The same points, verdicts and seed give the same answer.
    ///
    /// # Cost
    /// One bootstrap, as long as all blocks near the crossing together.
    pub(crate) fn answer(&self, points: &Points, verdicts: &Verdicts, seed: u64) -> Answer {
        let sides = verdicts.iter().map(|(n, judged)| (*n, judged.verdict));
        let sides: BTreeMap<usize, Verdict> = sides.collect();
        if !sides.values().any(|side| *side == Verdict::Faster) {
            return Answer {
                kind: self.not_faster(verdicts),
                fit: None,
                practical: Practical::Nowhere,
            };
        }
        let fit = bracket(&sides).and_then(|ends| fit::fit(points, ends, seed));
        Answer {
            kind: where_faster(&sides, fit.as_ref()),
            fit,
            practical: practical(verdicts),
        }
    }

    /// The answer about an arm that was decided faster at no size.
    fn not_faster(&self, verdicts: &Verdicts) -> Kind {
        let found = |(n, judged): (&usize, &Judged)| Some((*n, judged.speed_up?));
        let mut enough = verdicts.iter().filter(|(_, judged)| judged.is_enough);
        let Some((largest, speed_up)) = enough.next_back().and_then(found) else {
            return Kind::TooFewBlocks;
        };
        let effect = self.judge.smallest_effect;
        if verdicts.values().all(is_equal) {
            return Kind::NoDifference { effect };
        }
        let up_to_largest = verdicts.range(..=largest).rev().filter_map(found);
        let mut open = up_to_largest.filter(|(_, found)| found.high > 1.0 + effect);
        match open.next() {
            Some((largest, speed_up)) => Kind::NotDecided { largest, speed_up },
            None => Kind::NeverUpTo {
                largest,
                speed_up_at_most: speed_up.high,
            },
        }
    }
}

fn is_equal(judged: &Judged) -> bool {
    judged.verdict == Verdict::NoDifference
}

/// The answer about an arm that was decided faster at some size.
fn where_faster(sides: &BTreeMap<usize, Verdict>, fit: Option<&Fit>) -> Kind {
    if falls_back(sides) {
        return Kind::Several {
            crossings: crossings(sides),
            settled_from: settled_from(sides),
        };
    }
    let Some((lower, upper)) = bracket(sides) else {
        let smallest = sides.keys().next().copied().unwrap_or(0);
        return Kind::AlwaysFrom { smallest };
    };
    let below = sides.get(&lower).copied();
    let (lower, upper) = (lower as f64, upper as f64);
    // Without a size that was decided slower, a model's lower end would stand on nothing.
    let model = fit.filter(|_| below == Some(Verdict::Slower));
    let (lower, upper, source) = match model.and_then(|fit| trusted(fit, lower, upper)) {
        Some(break_even) => (break_even.low, break_even.high, Source::Fit),
        None => (lower, upper, Source::Bracket),
    };
    Kind::Between {
        lower,
        upper,
        source,
    }
}

/// The model's break-even, if the model fits and does not contradict the decided sides.
fn trusted(fit: &Fit, lower: f64, upper: f64) -> Option<Estimate> {
    fit.break_even.filter(|found| {
        let has_ends = found.low > 0.0 && found.high.is_finite();
        let lies_in_bracket = (lower..=upper).contains(&found.median);
        has_ends && lies_in_bracket && !fit.has_steps
    })
}

/// From where on each size was decided faster by [`PRACTICAL`] or more, or was not decided and has an interval above that.
fn practical(verdicts: &Verdicts) -> Practical {
    let pays = |judged: &Judged| {
        let by_enough = |found: Estimate| found.median >= PRACTICAL;
        judged.verdict == Verdict::Faster && judged.speed_up.is_some_and(by_enough)
    };
    let is_open = |judged: &Judged| {
        let excludes_less = |found: Estimate| found.low >= PRACTICAL;
        judged.verdict == Verdict::Undecided && judged.speed_up.is_some_and(excludes_less)
    };
    let mut sizes = verdicts.iter().rev();
    let mut from = None;
    let below = sizes.find(|(n, judged)| {
        let pays = pays(judged);
        if pays {
            from = Some(**n);
        }
        !pays && !is_open(judged)
    });
    match (below, from) {
        (_, None) => Practical::Nowhere,
        (None, Some(from)) => Practical::From(from),
        (Some((below, _)), Some(from)) => Practical::Between(*below, from),
    }
}

/// From this speed-up on an arm pays in practice.
const PRACTICAL: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::break_even::{Ratio, simulation::JUDGE};

    /// An answer from points without noise.
    fn answer(speed_ups: &[(usize, f64)]) -> Answer {
        let blocks = |(n, value): &(usize, f64)| {
            let ratio = |block: u32| Ratio {
                launch: block % 3,
                value: *value,
                baseline_nanos: *n as f64,
            };
            (*n, (0..24).map(ratio).collect::<Vec<_>>())
        };
        answer_to(&speed_ups.iter().map(blocks).collect())
    }

    fn answer_to(points: &Points) -> Answer {
        let finder = Finder::new([], JUDGE);
        finder.answer(points, &finder.verdicts(points, 1), 1)
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
    fn few_blocks_decide_nothing() {
        assert_eq!(answer_to(&Points::new()).kind, Kind::TooFewBlocks);
        let ratio = Ratio {
            launch: 0,
            value: 3.0,
            baseline_nanos: 1.0,
        };
        let points = Points::from([(10, vec![ratio; 10])]);
        assert_eq!(answer_to(&points).kind, Kind::TooFewBlocks);
    }

    /// An answer from verdicts, with the ends of their intervals.
    fn answer_from(verdicts: &[(Verdict, f64, f64)]) -> Answer {
        let sizes = (0..).map(|index| 10_usize.pow(index));
        let judged = |(verdict, low, high): &(Verdict, f64, f64)| Judged {
            verdict: *verdict,
            speed_up: Some(Estimate::new((low * high).sqrt(), *low, *high)),
            is_enough: true,
        };
        let verdicts = sizes.zip(verdicts.iter().map(judged)).collect();
        Finder::new([], JUDGE).answer(&Points::new(), &verdicts, 1)
    }

    #[test]
    fn never_is_said_only_where_the_intervals_exclude_it() {
        let slower = (Verdict::Slower, 0.2, 0.3);
        let check = |largest: (f64, f64), expected: &Kind| {
            let (low, high) = largest;
            let found = answer_from(&[slower, (Verdict::Undecided, low, high)]).kind;
            assert_eq!(found, *expected);
        };
        let never = Kind::NeverUpTo {
            largest: 10,
            speed_up_at_most: 1.01,
        };
        check((0.9, 1.01), &never);
        let not_decided = |low: f64, high: f64| Kind::NotDecided {
            largest: 10,
            speed_up: Estimate::new((low * high).sqrt(), low, high),
        };
        check((0.9, 1.62), &not_decided(0.9, 1.62));
        check((1.42, 1.69), &not_decided(1.42, 1.69));
        // A smaller size at which the arm may be faster stands against "at no size".
        // Few blocks have no interval, so they exclude nothing.
        for (low, high) in [(1.3, 1.6), (0.9, 2.4), (0.0, f64::INFINITY)] {
            let between = (Verdict::Undecided, low, high);
            let found = answer_from(&[slower, between, (Verdict::Slower, 0.7, 0.8)]).kind;
            let is_open = matches!(found, Kind::NotDecided { largest: 10, .. });
            assert!(is_open, "{found:?}");
        }
    }

    #[test]
    fn it_pays_in_practice_from_a_tenth_on_for_good_and_what_is_undecided_may_not_refute_it() {
        let check = |verdicts: &[(Verdict, f64, f64)], expected: Practical| {
            assert_eq!(answer_from(verdicts).practical, expected, "{verdicts:?}");
        };
        let (slower, faster) = ((Verdict::Slower, 0.8, 0.9), (Verdict::Faster, 1.4, 1.5));
        let above = (Verdict::Undecided, 1.2, 1.8);
        let across = (Verdict::Undecided, 1.05, 1.8);
        let few = (Verdict::Undecided, 0.0, f64::INFINITY);
        let hardly = (Verdict::Faster, 1.04, 1.06);
        check(&[faster, faster], Practical::From(1));
        check(&[slower, hardly, faster], Practical::Between(10, 100));
        check(&[slower, faster, hardly], Practical::Nowhere);
        check(&[slower, faster, above, faster], Practical::Between(1, 10));
        check(&[slower, faster, above], Practical::Between(1, 10));
        // It is said of no size that was not decided.
        check(&[slower, above, faster], Practical::Between(1, 100));
        check(&[above, faster], Practical::From(10));
        for against in [across, few] {
            check(&[faster, against, faster], Practical::Between(10, 100));
            check(&[faster, against], Practical::Nowhere);
        }
    }
}
