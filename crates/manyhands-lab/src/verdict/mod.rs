//! Which side is faster, judged from the ratios of paired blocks.
//!
//! A [`Judge`] looks at signs, which may be asked after every block, and at what the
//! sizes of the ratios say: the interval of the speed-up, and what two equal arms differed by in
//! the same blocks. Where there is no verdict, a [`Doubt`] says why.

mod doubt;

pub use doubt::Doubt;

use crate::{
    break_even,
    record::{CaseCard, Settings},
    stats::{Estimate, SignTest, blocks_to_decide, correlation_time},
};

/// What blocks say about an arm: their signs alone, or these with its interval and the noise floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is faster than the baseline.
    Faster,
    /// It is slower than the baseline.
    Slower,
    /// The two differ by less than the smallest effect worth deciding.
    NoDifference,
    /// The blocks so far show none of these.
    Undecided,
}

/// Judges one comparison by all there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judge {
    /// Probability of a wrong side.
    pub alpha: f64,
    /// Smallest difference worth deciding: 0.02 is 2 %.
    pub smallest_effect: f64,
}

impl Judge {
    /// The judge of all comparisons of a case, and of the answers that are drawn from them.
    ///
    /// An answer about a break-even takes several sizes together, so in a case that is searched
    /// alpha is divided by the number of sizes that the searches of all its arms can measure.
    #[must_use]
    pub fn of_case(settings: &Settings, card: &CaseCard) -> Self {
        let alpha = if card.finds_break_even {
            let searches = card.arms.len().saturating_sub(1);
            settings.alpha / break_even::sizes_max(&card.sizes, searches) as f64
        } else {
            settings.alpha
        };
        Self {
            alpha,
            smallest_effect: settings.smallest_effect,
        }
    }

    /// Blocks without which no verdict is possible.
    #[must_use]
    pub fn blocks_min(&self) -> u32 {
        blocks_to_decide(self.alpha)
    }

    /// What signs alone say: no verdict, but cheap, and never the other side of one. A search
    /// decides by it where to measure next.
    #[must_use]
    pub fn side(&self, ratios: &[f64]) -> Verdict {
        match self.signs_beyond(self.smallest_effect, ratios) {
            Verdict::NoDifference => Verdict::NoDifference,
            _ => self.signs(ratios),
        }
    }

    fn signs(&self, ratios: &[f64]) -> Verdict {
        self.signs_beyond(CLEARANCE, ratios)
    }

    fn signs_beyond(&self, margin: f64, ratios: &[f64]) -> Verdict {
        self.signs_if(correlation_time(ratios), margin, ratios)
    }

    /// Decides from ratios (baseline time over challenger time), in the order in which they were measured, if this
    /// many of them are worth one.
    ///
    /// Two sign e-processes judge all the ratios: one counts the blocks in which the challenger won by more than the
    /// margin, the other those in which it lost by more. At most one of them can be right; where neither is, each decides
    /// wrongly with probability at most `alpha` / 2, also if one looks after every block and stops at a decision. Their
    /// opposites decide in the same way that the challenger neither wins nor loses by as much. Blocks added after a
    /// decision may take it back: what was decided in a quiet minute does not outlive a noisy one.
    fn signs_if(&self, alike: f64, margin: f64, ratios: &[f64]) -> Verdict {
        let (high, low) = (1.0 + margin, (1.0 + margin).recip());
        let favours = |won: &dyn Fn(f64) -> bool| {
            SignTest::of(ratios.iter().map(|ratio| won(*ratio)), alike).favours_wins(self.alpha)
        };
        if favours(&|ratio| ratio > high) {
            Verdict::Faster
        } else if favours(&|ratio| ratio < low) {
            Verdict::Slower
        } else if favours(&|ratio| ratio < high) && favours(&|ratio| ratio > low) {
            Verdict::NoDifference
        } else {
            Verdict::Undecided
        }
    }

    /// Judges an arm from its ratios, their interval, and the interval of the baseline against
    /// its twin in the same blocks, if there was one.
    ///
    /// "No difference" needs an interval within the smallest effect on both sides. A side needs three things: signs that
    /// decide it, an interval clear of 1 % to either side of one, and clear of the interval of the two equal arms. Both
    /// need the blocks without which signs could not decide anything.
    ///
    /// # Examples
    /// ```
    /// use manyhands_lab::{stats::Estimate, verdict::{Doubt, Judge, Verdict}};
    /// let judge = Judge { alpha: 0.05, smallest_effect: 0.02 };
    /// let interval = Estimate { median: 1.5, low: 1.4, high: 1.6 };
    /// assert_eq!(judge.verdict(&[1.5; 12], interval, None), Verdict::Faster);
    /// assert_eq!(judge.verdict(&[1.5; 3], interval, None), Verdict::Undecided);
    /// let few = Doubt::FewBlocks { blocks: 3, needed: 7 };
    /// assert_eq!(judge.doubt(&[1.5; 3], Some(interval), None), Some(few));
    /// ```
    #[must_use]
    pub fn verdict(&self, ratios: &[f64], speed_up: Estimate, floor: Option<Estimate>) -> Verdict {
        if ratios.len() < self.blocks_min() as usize {
            return Verdict::Undecided;
        }
        let widest = 1.0 + self.smallest_effect;
        if speed_up.low >= widest.recip() && speed_up.high <= widest {
            return Verdict::NoDifference;
        }
        let (clear_low, clear_high) = floor.map_or((1.0, 1.0), |floor| (floor.low, floor.high));
        match self.signs(ratios) {
            Verdict::Faster if speed_up.low > clear_high.max(1.0 + CLEARANCE) => Verdict::Faster,
            Verdict::Slower if speed_up.high < clear_low.min((1.0 + CLEARANCE).recip()) => {
                Verdict::Slower
            }
            _ => Verdict::Undecided,
        }
    }
}

/// Evidence, as a p-value, that two arms differ at all: the inverse of the sign test's e-value.
/// Valid whenever one looks, and for q-values under any dependence of the comparisons.
#[must_use]
pub fn p_value(ratios: &[f64]) -> f64 {
    // A block in which both arms take equally long says nothing.
    let unequal = ratios.iter().filter(|ratio| **ratio != 1.0);
    SignTest::of(unequal.map(|ratio| *ratio > 1.0), correlation_time(ratios))
        .evidence()
        .recip()
        .min(1.0)
}

/// When to look at a comparison, and when to stop measuring it.
///
/// It is looked at first with [`at_least`](Self::at_least) clean blocks, and then whenever they have
/// doubled, until it is decided or has [`at_most`](Self::at_most). A side stays as certain however often one
/// looks, because signs must show it; few looks keep the interval from being caught in a lucky moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StopRule {
    /// Clean blocks, over all launches, at the first look.
    pub(crate) at_least: usize,
    /// Clean blocks with which an undecided comparison stays undecided.
    pub(crate) at_most: usize,
}

impl StopRule {
    /// A first look with this many blocks, and three more if need be.
    ///
    /// Enough to find a difference of 5 % in at least 95 of 100 cases, where pairs scatter by up to 5 %
    /// and one sample of ten is delayed by up to a half. Simulated with a first look at 36 blocks: six
    /// launches that differ by up to 1 % find it in all of 100 cases, after 111 blocks on average; three
    /// that differ by 0.3 % in 96, and if they differ by 1 %, in 79.
    pub(crate) const fn doubling(at_least: usize) -> Self {
        Self {
            at_least,
            at_most: at_least * 8,
        }
    }

    /// With how many blocks to look again, after a look with `blocks`; `None` if these are enough.
    pub(crate) fn next_look(self, blocks: usize, is_decided: bool) -> Option<usize> {
        let is_enough = is_decided || blocks >= self.at_most;
        (!is_enough).then(|| (blocks * 2).min(self.at_most))
    }
}

/// What an interval must be clear of to either side of one, and what signs must exceed: two
/// builds of the same loop may differ by as much.
const CLEARANCE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{estimate_median, noise::Noise};
    use proptest::prelude::*;

    pub(super) const JUDGE: Judge = Judge {
        alpha: 0.05,
        smallest_effect: 0.02,
    };

    /// What signs say beyond 2 %.
    fn signs(ratios: &[f64]) -> Verdict {
        JUDGE.signs_beyond(0.02, ratios)
    }

    #[test]
    fn unanimous_blocks_decide_and_mixed_ones_do_not() {
        fn check(ratios: &[f64], expected: Verdict) {
            assert_eq!(signs(ratios), expected, "{ratios:?}");
        }
        check(&[], Verdict::Undecided);
        check(&[1.5; 6], Verdict::Undecided);
        check(&[1.5; 7], Verdict::Faster);
        check(&[0.5; 7], Verdict::Slower);
        // Less than the margin is no difference, however often it is seen.
        check(&[1.01; 100], Verdict::NoDifference);
        check(&[0.99; 7], Verdict::NoDifference);
        check(&[1.5, 0.5].repeat(4), Verdict::Undecided);
        // Later blocks may take a decision back.
        check(&[[1.5; 7], [1.0; 7]].concat(), Verdict::Undecided);
    }

    proptest! {
        #[test]
        fn sides_mirror_in_both_directions_of_time(
            ratios in prop::collection::vec(0.8..1.3_f64, 0..60),
        ) {
            let mut mirrored: Vec<f64> = ratios.iter().map(|ratio| ratio.recip()).collect();
            mirrored.reverse();
            let expected = match signs(&ratios) {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                same => same,
            };
            prop_assert_eq!(signs(&mirrored), expected);
            prop_assert!((p_value(&ratios) / p_value(&mirrored) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn signs_alone_speak_for_no_other_side_than_the_verdict() {
        let around = |center: f64| {
            let ratio = |block| center * (1.0 + f64::from(block % 5) * 1e-4);
            let ratios: Vec<f64> = (0..40).map(ratio).collect();
            let values: Vec<(u32, f64)> = ratios.iter().map(|ratio| (0, *ratio)).collect();
            let estimate = estimate_median(&values, 1).unwrap();
            (JUDGE.side(&ratios), JUDGE.verdict(&ratios, estimate, None))
        };
        for center in [0.5, 0.97, 0.99, 1.0, 1.015, 1.03, 2.0] {
            let (signs, verdict) = around(center);
            assert_eq!(signs, verdict, "{center}");
        }
    }

    #[test]
    fn simulated_noise_is_decided_as_rarely_as_promised() {
        // Both arms equal, looked at after each of 120 blocks.
        let mut noise = Noise::new(21);
        let is_sided = |_: &u32| {
            let ratios: Vec<f64> = (0..120).map(|_| noise.ratio(0.15)).collect();
            let side = |looked: usize| signs(&ratios[..looked]);
            let mut sides = (1..=120).step_by(3).map(side);
            sides.any(|side| matches!(side, Verdict::Faster | Verdict::Slower))
        };
        let wrong = (0..200).filter(is_sided).count();
        assert!(wrong <= 10, "{wrong} of 200");
    }

    #[test]
    fn a_side_needs_signs_an_interval_and_a_floor_that_agree() {
        fn check(ratio: f64, ends: (f64, f64), floor: Option<(f64, f64)>, expected: Verdict) {
            let estimate = |(low, high)| Estimate::new(f64::midpoint(low, high), low, high);
            let verdict = JUDGE.verdict(&[ratio; 20], estimate(ends), floor.map(estimate));
            assert_eq!(verdict, expected, "{ratio} in {ends:?}, floor {floor:?}");
        }
        check(1.1, (1.05, 1.15), None, Verdict::Faster);
        check(1.1, (1.05, 1.15), Some((0.97, 1.03)), Verdict::Faster);
        check(1.1, (1.05, 1.15), Some((0.90, 1.06)), Verdict::Undecided);
        check(1.1, (1.009, 1.15), None, Verdict::Undecided);
        check(1.0, (1.05, 1.15), None, Verdict::Undecided);
        check(0.9, (0.85, 0.95), None, Verdict::Slower);
        check(0.9, (0.85, 0.95), Some((0.94, 1.0)), Verdict::Undecided);
        check(0.9, (0.85, 0.995), None, Verdict::Undecided);
        check(1.0, (0.985, 1.015), None, Verdict::NoDifference);
        check(1.015, (1.012, 1.018), None, Verdict::NoDifference);
        check(1.0, (0.97, 1.03), None, Verdict::Undecided);
    }

    /// The looks of a standard run, of a quick one, and what is looked at.
    const STANDARD: StopRule = StopRule::doubling(36);
    const QUICK: StopRule = StopRule {
        at_least: 12,
        at_most: 24,
    };
    const NOISES: [fn(u64) -> Noise; 2] = [Noise::new, |seed| Noise::new(seed).in_bursts()];

    /// One comparison with a floor, judged whenever the rule says so, until that says that it is enough.
    fn compare(
        stop: StopRule,
        launches: u32,
        speed_up: f64,
        between: f64,
        mut noise: Noise,
    ) -> Verdict {
        let mut shifts = |truth: f64| -> Vec<f64> {
            let shift = |_| truth * (between * noise.normal()).exp();
            (0..launches).map(shift).collect()
        };
        let arms = [shifts(speed_up), shifts(1.0)];
        let mut found: [Vec<(u32, f64)>; 2] = Default::default();
        let mut blocks = stop.at_least;
        loop {
            for (truths, ratios) in arms.iter().zip(&mut found) {
                for block in ratios.len()..blocks {
                    let turn = block / 2 % truths.len();
                    let (launch, truth) = (0..).zip(truths).nth(turn).unwrap();
                    ratios.push((launch, truth * noise.ratio(0.05)));
                }
            }
            let [arm, twin] = &found;
            let values: Vec<f64> = arm.iter().map(|(_, ratio)| *ratio).collect();
            let estimate = |ratios: &[(u32, f64)]| estimate_median(ratios, 1).unwrap();
            let judge = |floor| JUDGE.verdict(&values, estimate(arm), floor);
            // A floor only ever takes a side away, and is dear to compute.
            let verdict = match judge(None) {
                Verdict::Faster | Verdict::Slower => judge(Some(estimate(twin))),
                other => other,
            };
            match stop.next_look(blocks, verdict != Verdict::Undecided) {
                Some(look) => blocks = look,
                None => return verdict,
            }
        }
    }

    #[test]
    fn equal_arms_are_rarely_called_different() {
        for (stop, noise) in [
            (STANDARD, NOISES[0]),
            (QUICK, NOISES[0]),
            (QUICK, NOISES[1]),
        ] {
            let is_sided = |seed: &u64| {
                let verdict = compare(stop, 3, 1.0, 0.005, noise(*seed));
                matches!(verdict, Verdict::Faster | Verdict::Slower)
            };
            let called = (0..100).filter(is_sided).count();
            assert!(called <= 5, "{stop:?}: {called} of 100");
        }
    }

    #[test]
    fn a_quick_run_finds_an_arm_slowed_by_a_quarter() {
        let run = |seed| compare(QUICK, 3, 0.8, 0.005, Noise::new(seed));
        let found = (0..40).filter(|seed| run(*seed) == Verdict::Slower);
        let found = found.count();
        assert!(found >= 36, "{found} of 40");
    }

    #[test]
    fn arms_that_differ_by_more_than_the_margin_are_rarely_called_equal() {
        for noise in NOISES {
            let is_called = |seed: &u64| {
                let verdict = compare(STANDARD, 3, 1.0201, 0.0, noise(*seed));
                verdict == Verdict::NoDifference
            };
            let called = (0..100).filter(is_called).count();
            assert!(called <= 5, "{called} of 100");
        }
    }

    #[test]
    fn a_neighbour_that_comes_and_goes_is_rarely_taken_for_a_side() {
        let is_sided = |seed: &u64| {
            let mut noise = Noise::new(*seed).in_bursts();
            let ratios: Vec<f64> = (0..288).map(|_| noise.ratio(0.05)).collect();
            let side = |looked: usize| JUDGE.signs(&ratios[..looked]);
            let mut sides = [36, 72, 144, 288].map(side).into_iter();
            sides.any(|side| matches!(side, Verdict::Faster | Verdict::Slower))
        };
        let called = (0..300).filter(is_sided).count();
        assert!(called <= 15, "{called} of 300");
    }

    #[test]
    fn an_arm_slowed_by_a_twentieth_is_found() {
        let slowed = 1.05_f64.recip();
        for (launches, between) in [(3, 0.003), (6, 0.01)] {
            let is_found = |seed: &u64| {
                compare(STANDARD, launches, slowed, between, Noise::new(*seed)) == Verdict::Slower
            };
            let found = (0..40).filter(is_found).count();
            assert!(found >= 38, "{launches} launches: {found} of 40");
        }
    }

    #[test]
    fn p_values_are_small_where_signs_agree() {
        assert_eq!(p_value(&[]), 1.0);
        assert_eq!(p_value(&[1.0; 50]), 1.0);
        assert_eq!(p_value(&[1.1, 0.9]), 1.0);
        assert!(p_value(&[1.1; 20]) < 1e-3);
        assert!((p_value(&[1.1; 20]) - p_value(&[0.9; 20])).abs() < 1e-12);
    }
}
