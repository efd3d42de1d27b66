//! What the sides of several sizes say about crossings. Undecided sizes say nothing.

use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// The two sizes between which the arm becomes faster: the largest decided slower and the smallest decided faster. If none
/// was decided slower, the lower one is the largest at which no difference was found, or without such the largest that was
/// not decided faster. `None` without a crossing, or with several.
pub(super) fn bracket(sides: &BTreeMap<usize, Verdict>) -> Option<(usize, usize)> {
    if falls_back(sides) {
        return None;
    }
    let upper = first_faster(sides)?;
    let below = || sides.range(..upper).rev();
    let last = |wanted: Verdict| below().find(|(_, side)| **side == wanted);
    let lower = last(Verdict::Slower)
        .or_else(|| last(Verdict::NoDifference))
        .or_else(|| below().next())?;
    Some((*lower.0, upper))
}

/// Whether the arm was decided not to be faster at a size above one at which it was.
pub(super) fn falls_back(sides: &BTreeMap<usize, Verdict>) -> bool {
    first_faster(sides).is_some_and(|faster| {
        let mut above = sides.range(faster..);
        above.any(|(_, side)| matches!(side, Verdict::Slower | Verdict::NoDifference))
    })
}

/// Neighbouring decided sizes, faster at one and not at the other.
pub(super) fn crossings(sides: &BTreeMap<usize, Verdict>) -> Vec<(usize, usize)> {
    let decided: Vec<(usize, bool)> = sides
        .iter()
        .filter(|(_, side)| **side != Verdict::Undecided)
        .map(|(n, side)| (*n, *side == Verdict::Faster))
        .collect();
    let crossing =
        |pair: &[(usize, bool)]| (pair[0].1 != pair[1].1).then_some((pair[0].0, pair[1].0));
    decided.windows(2).filter_map(crossing).collect()
}

/// The smallest size from which on it was decided faster at every size.
pub(super) fn settled_from(sides: &BTreeMap<usize, Verdict>) -> Option<usize> {
    let faster = |entry: &(&usize, &Verdict)| *entry.1 == Verdict::Faster;
    sides
        .iter()
        .rev()
        .take_while(faster)
        .last()
        .map(|(n, _)| *n)
}

fn first_faster(sides: &BTreeMap<usize, Verdict>) -> Option<usize> {
    let mut faster = sides.iter().filter(|(_, side)| **side == Verdict::Faster);
    faster.next().map(|(n, _)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: Verdict = Verdict::Faster;
    const S: Verdict = Verdict::Slower;
    const E: Verdict = Verdict::NoDifference;
    const U: Verdict = Verdict::Undecided;

    fn sides(sides: &[Verdict]) -> BTreeMap<usize, Verdict> {
        let sizes = (0..).map(|index| 10_usize.pow(index));
        sizes.zip(sides.iter().copied()).collect()
    }

    #[test]
    fn brackets_have_decided_ends_where_they_can() {
        fn check(given: &[Verdict], expected: Option<(usize, usize)>) {
            assert_eq!(bracket(&sides(given)), expected, "{given:?}");
        }
        check(&[], None);
        check(&[S, S], None);
        check(&[F, F], None);
        check(&[U, F], Some((1, 10)));
        check(&[S, U, F, F], Some((1, 100)));
        check(&[S, E, F, F], Some((1, 100)));
        check(&[E, U, F, U], Some((1, 100)));
        check(&[U, U, F, U], Some((10, 100)));
        check(&[S, F, U, U], Some((1, 10)));
        check(&[S, F, U, S], None);
        check(&[S, F, E], None);
    }

    #[test]
    fn crossings_lie_between_decided_neighbours() {
        let given = sides(&[S, U, F, F, E, S, F]);
        let expected = [(1, 100), (1_000, 10_000), (100_000, 1_000_000)];
        assert_eq!(crossings(&given), expected);
        assert_eq!(settled_from(&given), Some(1_000_000));
        assert_eq!(settled_from(&sides(&[F, F, U])), None);
    }
}
