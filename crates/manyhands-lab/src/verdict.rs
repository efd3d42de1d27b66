//! Which side is faster, decided from the ratios of paired blocks.

use crate::stats::{SignTest, blocks_to_decide};

/// What the blocks say about the challenger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It is faster than the baseline by more than the margin.
    Faster,
    /// It is slower than the baseline by more than the margin.
    Slower,
    /// The blocks so far show neither.
    Undecided,
}

/// When a difference counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Smallest difference worth deciding: 0.02 is 2 %.
    pub margin: f64,
    /// Probability of a wrong decision, over all looks at one measurement.
    pub alpha: f64,
}

impl Rule {
    /// For a single comparison.
    pub const SINGLE: Self = Self {
        margin: 0.02,
        alpha: 0.05,
    };

    /// For each of the sizes a break-even is searched among: there are some ten of them.
    pub const AMONG_SIZES: Self = Self {
        margin: 0.02,
        alpha: 0.005,
    };

    /// Decides from ratios (baseline time over challenger time) in the order they were measured.
    ///
    /// Two sign e-processes judge all the ratios: one counts the blocks in which the challenger
    /// won by more than the margin, the other those in which it lost by more. At most one of them
    /// can be right; where neither is, each decides wrongly with probability at most `alpha` / 2,
    /// also if one looks after every block and stops at a decision. Blocks added after a decision
    /// may take it back: what was decided in a quiet minute does not outlive a noisy one.
    #[must_use]
    pub fn side(&self, ratios: &[f64]) -> Side {
        let mut faster = SignTest::new();
        let mut slower = SignTest::new();
        for ratio in ratios {
            count(&mut faster, *ratio > 1.0 + self.margin);
            count(&mut slower, *ratio < (1.0 + self.margin).recip());
        }
        if faster.favours_wins(self.alpha) {
            Side::Faster
        } else if slower.favours_wins(self.alpha) {
            Side::Slower
        } else {
            Side::Undecided
        }
    }

    /// Blocks without which no decision is possible.
    #[must_use]
    pub fn blocks_min(&self) -> u32 {
        blocks_to_decide(self.alpha)
    }
}

fn count(test: &mut SignTest, won: bool) {
    if won {
        test.win();
    } else {
        test.lose();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    #[test]
    fn unanimous_blocks_decide_and_mixed_ones_do_not() {
        fn check(ratios: &[f64], expected: Side) {
            assert_eq!(Rule::SINGLE.side(ratios), expected, "{ratios:?}");
        }
        check(&[], Side::Undecided);
        check(&[1.5; 6], Side::Undecided);
        check(&[1.5; 7], Side::Faster);
        check(&[0.5; 7], Side::Slower);
        // Less than the margin is no difference, however often it is seen.
        check(&[1.01; 100], Side::Undecided);
        check(&[0.99; 100], Side::Undecided);
        check(&[1.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5], Side::Undecided);
    }

    #[test]
    fn later_blocks_may_take_a_decision_back() {
        let mut ratios = vec![1.5; 7];
        assert_eq!(Rule::SINGLE.side(&ratios), Side::Faster);
        ratios.extend([1.0; 7]);
        assert_eq!(Rule::SINGLE.side(&ratios), Side::Undecided);
    }

    #[test]
    fn simulated_noise_is_decided_as_rarely_as_promised() {
        // Both arms equal, 15 % noise with one-sided spikes, decided at any of 200 looks.
        let mut rng = StdRng::seed_from_u64(21);
        let mut arm = || {
            let spike = if rng.random_bool(0.1) { 1.5 } else { 1.0 };
            (1.0 + rng.random_range(0.0..0.15)) * spike
        };
        let wrong = (0..400)
            .filter(|_| {
                let ratios: Vec<f64> = (0..200).map(|_| arm() / arm()).collect();
                let decided = |looked| Rule::SINGLE.side(&ratios[..looked]) != Side::Undecided;
                (1..=ratios.len()).any(decided)
            })
            .count();
        assert!(wrong <= 20, "{wrong} of 400");
    }

    #[test]
    fn a_tenth_is_found_in_noise_of_five_percent() {
        let mut rng = StdRng::seed_from_u64(22);
        let found = (0..100)
            .filter(|_| {
                let ratios: Vec<f64> = (0..40)
                    .map(|_| 1.1 * (1.0 + rng.random_range(-0.05..0.05)))
                    .collect();
                Rule::AMONG_SIZES.side(&ratios) == Side::Faster
            })
            .count();
        assert!(found >= 95, "{found} of 100");
    }
}
