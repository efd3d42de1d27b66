//! Sign e-process: evidence against "a win is a coin toss" that may be read at any time.
//!
//! With k wins in n trials the evidence is E = 2ⁿ·B(k+½, n−k+½)/π, the Beta(½,½) mixture of all coins against the fair one.
//! It is a product of predictions: before each trial bet (k+½)/(n+1) on a win. Under the fair coin E is a martingale with
//! mean 1, so by Ville's inequality it ever reaches 1/α with probability at most α, however often one looks. It uses signs
//! only: neither the variance nor the tails of the noise matter.
//!
//! That is exact for independent trials. Trials of which τ tell as much as one
//! ([`correlation_time`](super::correlation_time)) count as one τ-th each.

use statrs::function::beta::ln_beta;
use std::f64::consts::LN_2;

/// Trials that are over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SignTest {
    wins: f64,
    losses: f64,
}

impl SignTest {
    /// Judges trials by whether each was won, where this many tell as much as one; 1 if they are independent.
    pub(crate) fn of(trials: impl IntoIterator<Item = bool>, correlation_time: f64) -> Self {
        let (wins, losses): (Vec<bool>, Vec<bool>) = trials.into_iter().partition(|won| *won);
        Self {
            wins: wins.len() as f64 / correlation_time,
            losses: losses.len() as f64 / correlation_time,
        }
    }

    /// Whether wins prevail with error probability at most `alpha`.
    ///
    /// By symmetry the fair coin makes this true with probability at most `alpha` / 2, and a coin
    /// that wins less often makes it true less often still.
    pub(crate) fn favours_wins(&self, alpha: f64) -> bool {
        self.wins > self.losses && self.evidence() >= alpha.recip()
    }

    /// Evidence against the fair coin, for either side; 1 without trials.
    pub(crate) fn evidence(&self) -> f64 {
        let mixture = ln_beta(self.wins + 0.5, self.losses + 0.5) - ln_beta(0.5, 0.5);
        ((self.wins + self.losses) * LN_2 + mixture).exp()
    }
}

/// How many unanimous trials decide at this `alpha`: fewer cannot.
pub(crate) fn blocks_to_decide(alpha: f64) -> u32 {
    let decides = |wins: u32| {
        let (wins, losses) = (f64::from(wins), 0.0);
        SignTest { wins, losses }.favours_wins(alpha)
    };
    let mut wins = 1;
    while !decides(wins) {
        wins += 1;
    }
    wins
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    #[test]
    fn seven_unanimous_trials_decide_at_five_percent() {
        assert_eq!(blocks_to_decide(0.05), 7);
        assert_eq!(blocks_to_decide(0.005), 11);
    }

    #[test]
    fn evidence_is_the_product_of_the_predictions() {
        assert!((SignTest::of([], 1.0).evidence() - 1.0).abs() < 1e-12);
        let (mut product, mut wins) = (1.0, 0.0);
        let trials = [true, true, false, true, false, false, false, true, true];
        for (before, won) in trials.into_iter().enumerate() {
            let bet = (wins + 0.5) / (before as f64 + 1.0);
            product *= 2.0 * if won { bet } else { 1.0 - bet };
            wins += f64::from(u8::from(won));
        }
        let evidence = SignTest::of(trials, 1.0).evidence();
        assert!((evidence - product).abs() < 1e-9, "{evidence} {product}");
    }

    #[test]
    fn trials_that_tell_as_much_as_a_third_count_as_a_third() {
        let alone = SignTest::of([true; 8], 1.0);
        let alike = SignTest::of([true; 24], 3.0);
        assert_eq!(alone, alike);
    }

    #[test]
    fn a_fair_coin_is_rarely_called_although_every_trial_is_looked_at() {
        let mut rng = StdRng::seed_from_u64(3);
        let runs = 1_000;
        let called = (0..runs).filter(|_| {
            let (mut heads, mut tails) = (0.0, 0.0);
            (0..400).any(|_| {
                match rng.random_bool(0.5) {
                    true => heads += 1.0,
                    false => tails += 1.0,
                }
                let favours = |wins, losses| SignTest { wins, losses }.favours_wins(0.05);
                favours(heads, tails) || favours(tails, heads)
            })
        });
        let called = called.count();
        assert!(called <= 50, "{called} of {runs}");
    }

    #[test]
    fn a_coin_that_wins_nine_times_in_ten_is_called() {
        let mut rng = StdRng::seed_from_u64(4);
        let trials: Vec<bool> = (0..60).map(|_| rng.random_bool(0.9)).collect();
        assert!(SignTest::of(trials, 1.0).favours_wins(0.005));
    }
}
