//! From which size on is the challenger faster?
//!
//! The answer is a bracket between two measured sizes, never a fitted point: from its upper end
//! on the challenger was decided to be faster at every size measured, at its lower end it was
//! not. [`bisect`] narrows it on ln n.

use crate::verdict::Side;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakEven {
    /// Not decided faster at `lower`, decided faster at `upper` and at every larger size.
    Between {
        /// Largest size at which the challenger was not decided to be faster.
        lower: usize,
        /// Smallest size from which on it always was.
        upper: usize,
    },
    /// Decided faster at every size, so the crossing lies below all of them.
    FromSmallest {
        /// Smallest size measured.
        smallest: usize,
    },
    /// Decided faster at no size.
    NeverUpTo {
        /// Largest size measured.
        largest: usize,
    },
    /// Decided faster at some size but not at the largest.
    Unsettled {
        /// Smallest size at which it was decided faster.
        faster_at: usize,
        /// Largest size measured.
        largest: usize,
    },
    /// Decided slower at a size above one at which it was decided faster.
    Several {
        /// Neighbouring decided sizes with opposite sides.
        crossings: Vec<(usize, usize)>,
        /// Smallest size from which on it was decided faster at every size, if there is one.
        settled_from: Option<usize>,
    },
    /// No size has blocks enough to decide anything.
    TooFewBlocks,
}

/// Reads the answer off the sizes that have blocks enough, and their sides.
///
/// # Panics
/// If the sizes are not strictly ascending.
#[must_use]
pub fn locate(points: &[(usize, Side)]) -> BreakEven {
    assert!(
        points.is_sorted_by(|(one, _), (next, _)| one < next),
        "sizes must ascend"
    );
    let (Some((smallest, _)), Some((largest, _))) = (points.first(), points.last()) else {
        return BreakEven::TooFewBlocks;
    };
    let (smallest, largest) = (*smallest, *largest);
    let Some((faster_at, _)) = points.iter().find(|(_, side)| *side == Side::Faster) else {
        return BreakEven::NeverUpTo { largest };
    };
    let last_not_faster = points.iter().rposition(|(_, side)| *side != Side::Faster);
    let Some(index) = last_not_faster else {
        return BreakEven::FromSmallest { smallest };
    };
    let settled_from = points.get(index + 1).map(|(n, _)| *n);
    let falls_back = |(n, side): &(usize, Side)| *side == Side::Slower && n > faster_at;
    if points.iter().any(falls_back) {
        return BreakEven::Several {
            crossings: crossings(points),
            settled_from,
        };
    }
    settled_from.map_or(
        BreakEven::Unsettled {
            faster_at: *faster_at,
            largest,
        },
        |upper| BreakEven::Between {
            lower: points[index].0,
            upper,
        },
    )
}

/// Narrows a bracket by probing sizes between its ends until it is narrower than `BRACKET_RATIO`,
/// holds no further size, or `probe` answers `None` because time is up.
///
/// A size that stays undecided becomes the lower end like one that is slower: "measurably faster"
/// begins above it.
///
/// # Errors
/// Whatever `probe` fails with.
pub fn bisect<E>(
    lower: usize,
    upper: usize,
    mut probe: impl FnMut(usize) -> Result<Option<Side>, E>,
) -> Result<(usize, usize), E> {
    let (mut lower, mut upper) = (lower, upper);
    while let Some(middle) = middle(lower, upper) {
        match probe(middle)? {
            None => break,
            Some(Side::Faster) => upper = middle,
            Some(Side::Slower | Side::Undecided) => lower = middle,
        }
    }
    Ok((lower, upper))
}

/// The size halfway on the logarithmic axis, or `None` if the bracket is narrow enough.
fn middle(lower: usize, upper: usize) -> Option<usize> {
    let (numerator, denominator) = BRACKET_RATIO;
    if upper * denominator <= lower * numerator {
        return None;
    }
    let middle = lower.saturating_mul(upper).isqrt().max(lower + 1);
    (middle < upper).then_some(middle)
}

fn crossings(points: &[(usize, Side)]) -> Vec<(usize, usize)> {
    let decided: Vec<_> = points
        .iter()
        .filter(|(_, side)| *side != Side::Undecided)
        .collect();
    let opposite = |pair: &&[&(usize, Side)]| pair[0].1 != pair[1].1;
    let ends = |pair: &[&(usize, Side)]| (pair[0].0, pair[1].0);
    decided.windows(2).filter(opposite).map(ends).collect()
}

/// A bracket whose ends differ by less than this factor, 1.1, is not narrowed further.
const BRACKET_RATIO: (usize, usize) = (11, 10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Rule;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use std::convert::Infallible;

    const F: Side = Side::Faster;
    const S: Side = Side::Slower;
    const U: Side = Side::Undecided;

    #[test]
    fn every_kind_of_answer() {
        fn check(sides: &[Side], expected: &BreakEven) {
            let sizes = [1, 10, 100, 1_000];
            let points: Vec<_> = sizes.into_iter().zip(sides.iter().copied()).collect();
            assert_eq!(locate(&points), *expected, "{sides:?}");
        }
        let between = |lower, upper| BreakEven::Between { lower, upper };
        check(&[], &BreakEven::TooFewBlocks);
        check(&[S, U, F, F], &between(10, 100));
        check(&[U, S, U, F], &between(100, 1_000));
        // A gap in the decisions moves the answer up: below 1,000 it was not always faster.
        check(&[U, F, U, F], &between(100, 1_000));
        check(&[F, F, F, F], &BreakEven::FromSmallest { smallest: 1 });
        check(&[S, U, U, S], &BreakEven::NeverUpTo { largest: 1_000 });
        let unsettled = BreakEven::Unsettled {
            faster_at: 10,
            largest: 1_000,
        };
        check(&[S, F, F, U], &unsettled);
        let several = BreakEven::Several {
            crossings: vec![(1, 10), (10, 1_000)],
            settled_from: None,
        };
        check(&[S, F, U, S], &several);
        let settled_in_the_end = BreakEven::Several {
            crossings: vec![(1, 10), (10, 100), (100, 1_000)],
            settled_from: Some(1_000),
        };
        check(&[S, F, S, F], &settled_in_the_end);
    }

    #[test]
    #[should_panic(expected = "sizes must ascend")]
    fn sizes_out_of_order_are_refused() {
        let _ = locate(&[(2, F), (1, F)]);
    }

    #[test]
    fn bisection_ends_around_a_sharp_crossing() {
        for truth in [2_usize, 7, 31, 50, 99] {
            let probe = |n| Ok::<_, Infallible>(Some(if n >= truth { F } else { U }));
            let Ok((lower, upper)) = bisect(1, 100, probe);
            assert!(lower < truth && truth <= upper, "{lower} {truth} {upper}");
            assert!(upper - lower == 1 || upper * 10 <= lower * 11);
        }
    }

    #[test]
    fn bisection_keeps_the_bracket_when_time_is_up_and_passes_failures_on() {
        assert_eq!(bisect(10, 100, |_| Ok::<_, ()>(None)), Ok((10, 100)));
        assert_eq!(bisect(10, 100, |_| Err("failed")), Err("failed"));
    }

    #[test]
    fn simulated_arms_have_their_true_break_even_in_the_bracket() {
        // Sequential a·n against o + a·n/s with 3 % noise; faster by 2 % from n = o/(a(1/1.02 − 1/s)).
        let (overhead, item, speed_up) = (5_000.0, 230.0, 1.9);
        let truth = overhead / (item * (1.0 / 1.02 - 1.0 / speed_up));
        let mut inside = 0;
        let runs: u32 = 100;
        for run in 0..runs {
            let mut rng = StdRng::seed_from_u64(u64::from(run));
            let mut side_of = |n: usize| {
                let work = item * n as f64;
                let ratios: Vec<f64> = (0..40)
                    .map(|_| {
                        let noise = 1.0 + rng.random_range(-0.03..0.03);
                        noise * work / (overhead + work / speed_up)
                    })
                    .collect();
                Rule::AMONG_SIZES.side(&ratios)
            };
            let grid = [1, 10, 100, 1_000, 10_000];
            let points: Vec<_> = grid.into_iter().map(|n| (n, side_of(n))).collect();
            let BreakEven::Between { lower, upper } = locate(&points) else {
                panic!("no bracket in run {run}");
            };
            let Ok((lower, upper)) =
                bisect(lower, upper, |n| Ok::<_, Infallible>(Some(side_of(n))));
            // An undecided size near the crossing may lie a little above it: allow 10 %.
            let low_enough = lower as f64 <= truth * 1.1;
            inside += u32::from(low_enough && truth <= upper as f64 * 1.02);
        }
        assert!(inside >= 90, "{inside} of {runs}");
    }
}
