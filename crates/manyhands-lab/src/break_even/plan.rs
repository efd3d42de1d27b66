//! What to measure next: the search is played again from the measured points until it asks for something that is not there.

use super::{Finder, Points, Probe, bracket, values};
use crate::verdict::Verdict;
use std::collections::BTreeMap;

impl Finder {
    /// What to measure next; `None` when the answer cannot be improved at this price.
    ///
    /// Each probe asks for more blocks than there are, up to a limit; so a search ends, whatever is measured. Points should
    /// hold what the answer will be computed from: the clean blocks. On a machine that is never quiet blocks do not become
    /// clean by asking, so the caller bounds the tries and then calls [`exhaust`](Self::exhaust).
    pub(crate) fn next(&self, points: &Points) -> Option<Probe> {
        self.search(points).err()
    }

    /// The whole search; fails with the first probe that is missing.
    fn search(&self, points: &Points) -> Result<(), Probe> {
        let mut sides = BTreeMap::new();
        for n in &self.sizes {
            sides.insert(*n, self.settle(points, *n, SCAN_BLOCKS)?);
        }
        if let Some(wide) = bracket(&sides) {
            for n in between(wide) {
                sides.insert(n, self.settle(points, n, SCAN_BLOCKS)?);
            }
        }
        let Some(center) = self.narrow(points, sides)? else {
            return Ok(());
        };
        for n in self.window(center) {
            self.fill(points, n, WINDOW_BLOCKS)?;
        }
        Ok(())
    }

    /// Halves the bracket; the size around which the crossing lies, or `None` if there is none.
    fn narrow(
        &self,
        points: &Points,
        mut sides: BTreeMap<usize, Verdict>,
    ) -> Result<Option<usize>, Probe> {
        while let Some((lower, upper)) = bracket(&sides) {
            // A size known to lie near the crossing is worth more than a new one.
            let open = sides.range(lower + 1..upper).map(|(n, _)| *n).next();
            let Some(n) = open.or_else(|| middle(lower, upper)) else {
                return Ok(Some(center(lower, upper)));
            };
            let side = self.settle(points, n, NARROW_BLOCKS)?;
            sides.insert(n, side);
            if matches!(side, Verdict::Undecided | Verdict::NoDifference) {
                return Ok(Some(n));
            }
        }
        Ok(None)
    }

    /// The side at this size, once it is decided or may cost no more.
    fn settle(&self, points: &Points, n: usize, most: usize) -> Result<Verdict, Probe> {
        let ratios = points.get(&n).map_or(&[][..], Vec::as_slice);
        let side = self.judge.side(&values(ratios));
        if side == Verdict::Undecided {
            let first = self.judge.blocks_min() as usize;
            let blocks = (ratios.len() * 3 / 2).max(first).min(most);
            self.fill(points, n, blocks)?;
        }
        Ok(side)
    }

    /// Asks for blocks that are missing.
    fn fill(&self, points: &Points, n: usize, blocks: usize) -> Result<(), Probe> {
        let there = points.get(&n).map_or(0, Vec::len);
        if there >= blocks || self.exhausted.contains(&n) {
            return Ok(());
        }
        Err(Probe { n, blocks })
    }

    /// Five sizes from a third of the center to three times it, within the sizes of the case.
    fn window(&self, center: usize) -> Vec<usize> {
        let smallest = self.sizes.first().copied().unwrap_or(center) as f64;
        let largest = self.sizes.last().copied().unwrap_or(center) as f64;
        let low = (center as f64 / WINDOW_REACH).max(smallest).ln();
        let high = (center as f64 * WINDOW_REACH).min(largest).ln();
        let step = (high - low) / f64::from(WINDOW_SIZES - 1);
        let mut sizes: Vec<usize> = (0..WINDOW_SIZES)
            .map(|index| whole((low + step * f64::from(index)).exp()))
            .collect();
        sizes.dedup();
        sizes
    }
}

/// As many sizes as this many searches can measure together, over these sizes of a case; at least one.
pub(crate) fn sizes_max(sizes: &[usize], searches: usize) -> usize {
    let positive = || sizes.iter().copied().filter(|n| *n > 0);
    let ends = positive().min().zip(positive().max());
    let of_scan = ends.map_or(0, |ends| between(ends).count());
    let of_search = of_scan + HALVINGS_MAX + WINDOW_SIZES as usize;
    (sizes.len() + searches * of_search).max(1)
}

/// Sizes within a bracket, each four times the one before; none if it is not wide.
fn between((lower, upper): (usize, usize)) -> impl Iterator<Item = usize> {
    let is_wide = upper / lower > SCAN_GAP;
    let end = if is_wide { upper / 2 } else { lower };
    let next = |n: &usize| n.checked_mul(SCAN_STEP);
    std::iter::successors(next(&lower), next).take_while(move |n| *n < end)
}

/// The size halfway on the logarithmic axis, or `None` if the bracket is narrow enough.
fn middle(lower: usize, upper: usize) -> Option<usize> {
    if upper as f64 <= lower as f64 * BRACKET_RATIO {
        return None;
    }
    let middle = center(lower, upper).max(lower + 1);
    (middle < upper).then_some(middle)
}

fn center(lower: usize, upper: usize) -> usize {
    whole((lower as f64 * upper as f64).sqrt())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are positive, and were sizes before"
)]
fn whole(size: f64) -> usize {
    size.round() as usize
}

/// Most blocks at a size of the scan.
const SCAN_BLOCKS: usize = 40;
/// Neighbours farther apart than this have further sizes between them.
const SCAN_GAP: usize = 16;
/// Their distance.
const SCAN_STEP: usize = 4;
/// Most blocks at a size that halves the bracket.
const NARROW_BLOCKS: usize = 60;
/// A bracket whose ends differ by less than this factor is not narrowed further.
const BRACKET_RATIO: f64 = 1.1;
/// A bracket of the scan is as narrow as that after this number of halvings.
const HALVINGS_MAX: usize = 6;
/// Sizes for the cost model.
const WINDOW_SIZES: u32 = 5;
/// Factor from the center to the outermost of them.
const WINDOW_REACH: f64 = 3.0;
/// Blocks at each of them.
pub(super) const WINDOW_BLOCKS: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::break_even::{Ratio, simulation::JUDGE};
    use std::collections::BTreeSet;

    fn blocks(value: f64, count: usize) -> Vec<Ratio> {
        let ratio = Ratio {
            launch: 0,
            value,
            baseline_nanos: 1.0,
        };
        vec![ratio; count]
    }

    /// Measures without noise until nothing is asked for; the probes in order.
    fn drive(finder: &Finder, speed_up: impl Fn(usize) -> f64) -> Vec<Probe> {
        let mut points = Points::new();
        let mut probes = Vec::new();
        while let Some(probe) = finder.next(&points) {
            points.insert(probe.n, blocks(speed_up(probe.n), probe.blocks));
            probes.push(probe);
            assert!(probes.len() < 200, "the search does not end");
        }
        probes
    }

    #[test]
    fn the_sizes_of_the_case_come_first_and_cost_as_little_as_they_can() {
        let finder = Finder::new([10, 1, 100], JUDGE);
        let probes = drive(&finder, |_| 0.5);
        let expected = [1, 10, 100].map(|n| Probe { n, blocks: 11 });
        assert_eq!(probes, expected);
    }

    #[test]
    fn an_undecided_size_costs_no_more_than_its_limit() {
        let finder = Finder::new([10], JUDGE);
        let mut points = Points::new();
        let mut asked = Vec::new();
        while let Some(probe) = finder.next(&points) {
            let mixed = (0..probe.blocks).flat_map(|block| blocks([0.9, 1.1][block % 2], 1));
            points.insert(10, mixed.collect());
            asked.push(probe.blocks);
        }
        assert_eq!(asked, [11, 16, 24, 36, 40]);
    }

    #[test]
    fn a_sharp_crossing_is_bracketed_narrowly() {
        for truth in [2, 7, 31, 50, 99] {
            let finder = Finder::new([1, 100], JUDGE);
            let faster = |n| if n >= truth { 1.5 } else { 0.5 };
            let probes = drive(&finder, faster);
            let mut sizes: Vec<usize> = probes.iter().map(|probe| probe.n).collect();
            sizes.sort_unstable();
            let above = sizes.partition_point(|n| *n < truth);
            let (lower, upper) = (sizes[above - 1], sizes[above]);
            let is_narrow = upper - lower == 1 || upper * 10 <= lower * 11;
            assert!(is_narrow, "{lower} {truth} {upper}");
        }
    }

    #[test]
    fn wide_gaps_are_scanned_before_they_are_halved() {
        assert_eq!(between((10, 160)).collect::<Vec<_>>(), [0; 0]);
        assert_eq!(between((10, 1_000)).collect::<Vec<_>>(), [40, 160]);
        assert_eq!(between((10, 100_000)).last(), Some(40_960));
    }

    #[test]
    fn no_bracket_of_the_scan_is_halved_more_often_than_alpha_is_shared_for() {
        let halvings = |lower: usize, upper: usize, up: bool| {
            let mut ends = (lower, upper);
            let mut count = 0;
            while let Some(n) = middle(ends.0, ends.1) {
                ends = if up { (n, ends.1) } else { (ends.0, n) };
                count += 1;
            }
            count
        };
        for lower in (1..200).chain([1_000, 4_097]) {
            for upper in lower + 1..(lower + 1) * SCAN_GAP {
                for up in [false, true] {
                    let found = halvings(lower, upper, up);
                    assert!(found <= HALVINGS_MAX, "{lower} … {upper}: {found}");
                }
            }
        }
    }

    #[test]
    fn a_search_measures_no_more_sizes_than_alpha_is_shared_among() {
        let sizes = [5, 10, 100, 1_000, 10_000, 100_000];
        let most = sizes_max(&sizes, 1);
        assert!(most > 14, "the tenth of alpha was for ten sizes: {most}");
        for truth in (1..17).map(|power| 2_usize.pow(power) + 1) {
            let faster = |n| if n >= truth { 1.5 } else { 0.5 };
            let probes = drive(&Finder::new(sizes, JUDGE), faster);
            let measured: BTreeSet<usize> = probes.iter().map(|probe| probe.n).collect();
            assert!(measured.len() <= most, "{} of {most}", measured.len());
        }
        assert_eq!(sizes_max(&sizes, 2) - most, most - sizes.len());
        assert_eq!(sizes_max(&[], 0), 1);
    }

    #[test]
    fn an_exhausted_size_is_not_asked_for_again() {
        let mut finder = Finder::new([1, 10, 100], JUDGE);
        finder.exhaust(10);
        let probes = drive(&finder, |n| if n < 10 { 0.5 } else { 1.5 });
        assert!(probes.iter().all(|probe| probe.n != 10), "{probes:?}");
        assert!(probes.iter().any(|probe| probe.n == 100));
    }

    #[test]
    fn the_window_stays_within_the_sizes_of_the_case() {
        let finder = Finder::new([10, 100_000], JUDGE);
        assert_eq!(finder.window(900), [300, 520, 900, 1_559, 2_700]);
        assert_eq!(finder.window(12).first(), Some(&10));
        assert_eq!(finder.window(90_000).last(), Some(&100_000));
    }
}
