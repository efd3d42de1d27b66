//! Tests of whole searches: the finder drives a simulated sampler with known truth.

use super::{Answer, Finder, Judged, Kind, Points, Practical, Ratio, Source, Verdicts, values};
use crate::{
    stats::{estimate_median, noise::Noise},
    verdict::{Judge, Verdict},
};

/// The judge of simulated searches.
pub(crate) const JUDGE: Judge = Judge {
    alpha: 0.005,
    smallest_effect: 0.02,
};

impl Finder {
    /// The verdicts about an arm whose baseline was not timed against itself.
    pub(super) fn verdicts(&self, points: &Points, seed: u64) -> Verdicts {
        let judged = |(n, ratios): (&usize, &Vec<Ratio>)| {
            let values_of = ratios.iter().map(|ratio| (ratio.launch, ratio.value));
            let speed_up = estimate_median(&values_of.collect::<Vec<_>>(), seed);
            let verdict = |found| self.judge.verdict(&values(ratios), found, None);
            let judged = Judged {
                verdict: speed_up.map_or(Verdict::Undecided, verdict),
                speed_up,
                is_enough: ratios.len() >= self.judge.blocks_min() as usize,
            };
            (*n, judged)
        };
        points.iter().map(judged).collect()
    }
}

/// The answer of a whole search. `cost` is the arm's time over the baseline's; an item costs the baseline 100 ns.
fn search(cost: impl Fn(f64) -> f64, seed: u64) -> Answer {
    search_in(Noise::new(seed), cost, seed)
}

fn search_in(noise: Noise, cost: impl Fn(f64) -> f64, seed: u64) -> Answer {
    let finder = Finder::new(SIZES, JUDGE);
    let points = measured(&finder, cost, noise);
    finder.answer(&points, &finder.verdicts(&points, seed), seed)
}

/// The ends of the place where a search finds the break-even, and how it found them.
fn place(cost: impl Fn(f64) -> f64, seed: u64) -> (f64, f64, Source) {
    match search(cost, seed).kind {
        Kind::Between {
            lower,
            upper,
            source,
        } => (lower, upper, source),
        other => panic!("{other:?}"),
    }
}

/// Everything the finder asks for, in three launches that differ a little.
fn measured(finder: &Finder, cost: impl Fn(f64) -> f64, mut noise: Noise) -> Points {
    let launches = [0; 3].map(|_| (0.003 * noise.normal()).exp());
    let mut points = Points::new();
    while let Some(probe) = finder.next(&points) {
        let ratios = points.entry(probe.n).or_default();
        assert!(ratios.len() < probe.blocks, "nothing new is asked for");
        for block in ratios.len()..probe.blocks {
            let launch = block % launches.len();
            ratios.push(Ratio {
                launch: u32::try_from(launch).unwrap(),
                value: launches[launch] * noise.ratio(0.05) / cost(probe.n as f64),
                baseline_nanos: 100.0 * probe.n as f64,
            });
        }
    }
    points
}

const SIZES: [usize; 6] = [5, 10, 100, 1_000, 10_000, 100_000];

/// An overhead of 5 µs, then 1.9 times as fast.
fn two_workers(n: f64) -> f64 {
    50.0 / n + 1.9_f64.recip()
}

#[test]
fn the_true_break_even_lies_in_the_printed_interval() {
    let truth = 50.0 / (1.0 - 1.9_f64.recip());
    let (mut inside, mut fitted) = (0, 0);
    for seed in 0..40 {
        let (lower, upper, source) = place(two_workers, seed);
        inside += u32::from(lower <= truth && truth <= upper);
        fitted += u32::from(source == Source::Fit && upper < lower * 1.3);
    }
    assert!(inside >= 36, "{inside} of 40");
    assert!(fitted >= 36, "{fitted} of 40");
}

#[test]
fn a_neighbour_that_comes_and_goes_moves_no_break_even() {
    let truth = 50.0 / (1.0 - 1.9_f64.recip());
    let (mut inside, mut outside) = (0, 0);
    for seed in 0..40 {
        match search_in(Noise::new(seed).in_bursts(), two_workers, seed).kind {
            Kind::Between { lower, upper, .. } if lower <= truth && truth <= upper => inside += 1,
            // Without a verdict at some size there is no break-even to be wrong about.
            Kind::NotDecided { .. } | Kind::TooFewBlocks => {}
            _ => outside += 1,
        }
    }
    assert!(inside >= 30 && outside <= 4, "{inside}, {outside} of 40");
}

#[test]
fn a_search_that_is_over_asks_for_nothing_and_forgets_the_order_of_its_blocks() {
    let finder = Finder::new(SIZES, JUDGE);
    let mut points = measured(&finder, two_workers, Noise::new(1));
    let answer = finder.answer(&points, &finder.verdicts(&points, 1), 1);
    for ratios in points.values_mut() {
        ratios.reverse();
    }
    assert_eq!(finder.next(&points), None);
    let again = finder.answer(&points, &finder.verdicts(&points, 1), 1);
    assert_eq!(again, answer);
}

#[test]
fn an_arm_that_stays_slower_never_pays() {
    let mut never = 0;
    for seed in 0..20 {
        match search(|n| 1.1 + 50.0 / n, seed).kind {
            Kind::NeverUpTo {
                largest: 100_000,
                speed_up_at_most: most,
            } if most <= 1.02 => never += 1,
            Kind::NotDecided { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    // In the others some size has neighbours that are alike by chance, and so an interval that is wide.
    assert!(never >= 16, "{never} of 20");
}

#[test]
fn one_core_is_not_found_to_be_enough() {
    for seed in 0..20 {
        let kind = search(|n| 1.0 + 50.0 / n, seed).kind;
        let open = matches!(kind, Kind::NeverUpTo { .. } | Kind::NotDecided { .. });
        assert!(open, "{kind:?}");
    }
}

#[test]
fn a_curve_with_steps_gets_a_bracket() {
    // From 100 items on there is a second chunk, which costs another 3 µs.
    let cost = |n: f64| 0.5 + if n < 100.0 { 40.0 } else { 90.0 } / n;
    let truth = 180.0;
    let mut inside = 0;
    for seed in 0..20 {
        let (lower, upper, source) = place(cost, seed);
        inside += u32::from(source == Source::Bracket && lower <= truth && truth <= upper);
    }
    assert!(inside >= 18, "{inside} of 20");
}

#[test]
fn an_arm_that_always_pays_is_reported_from_the_smallest_size_on() {
    for seed in 0..10 {
        let answer = search(|_| 0.55, seed);
        assert_eq!(answer.kind, Kind::AlwaysFrom { smallest: 5 });
        assert_eq!(answer.practical, Practical::From(5));
    }
}

#[test]
fn equal_arms_have_no_break_even() {
    let mut wrong = 0;
    for seed in 0..60 {
        let answer = search(|_| 1.0, seed);
        let right = matches!(
            answer.kind,
            Kind::NoDifference { .. } | Kind::NeverUpTo { .. } | Kind::NotDecided { .. }
        );
        wrong += u32::from(!right);
    }
    assert!(wrong <= 3, "{wrong} of 60");
}

#[test]
fn two_crossings_are_both_reported() {
    // Beyond 10,000 items it is limited by memory, and slower.
    let cost = |n: f64| if n > 5_000.0 { 1.3 } else { two_workers(n) };
    for seed in 0..10 {
        match search(cost, seed).kind {
            Kind::Several {
                crossings,
                settled_from: None,
            } => assert!(crossings.len() == 2 && crossings[1] == (1_000, 10_000)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn an_arm_that_stays_alone_at_first_pays_from_where_it_does_not() {
    let cost = |n: f64| if n < 300.0 { 1.0 } else { 0.55 };
    for seed in 0..10 {
        let (lower, upper, source) = place(cost, seed);
        assert!(lower < 300.0 && 299.0 <= upper, "{lower} {upper}");
        assert_eq!(source, Source::Bracket);
    }
}
