//! Sign e-process: evidence against "a win is a coin toss" that may be read at any time.
//!
//! With k wins in n trials the evidence is E = 2ⁿ·B(k+½, n−k+½)/π, the Beta(½,½) mixture of all
//! coins against the fair one. It is a product of predictions: before each trial bet (k+½)/(n+1)
//! on a win, which is how it is computed here. Under the fair coin E is a martingale with mean
//! 1, so by Ville's inequality it ever reaches 1/α with probability at most α, however often one
//! looks. It uses signs only: neither the variance nor the tails of the noise matter.

/// The running test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignTest {
    wins: u32,
    losses: u32,
    evidence: f64,
}

impl SignTest {
    /// Before any trial the evidence is 1.
    #[must_use]
    pub fn new() -> Self {
        Self {
            wins: 0,
            losses: 0,
            evidence: 1.0,
        }
    }

    /// Judges trials that are over, by whether each was won.
    pub fn of(trials: impl IntoIterator<Item = bool>) -> Self {
        let mut test = Self::new();
        for won in trials {
            if won {
                test.win();
            } else {
                test.lose();
            }
        }
        test
    }

    /// Adds a trial that was won.
    pub fn win(&mut self) {
        self.evidence *= 2.0 * Self::bet(self.wins, self.trials());
        self.wins += 1;
    }

    /// Adds a trial that was lost.
    pub fn lose(&mut self) {
        self.evidence *= 2.0 * Self::bet(self.losses, self.trials());
        self.losses += 1;
    }

    /// Whether wins prevail with error probability at most `alpha`.
    ///
    /// By symmetry the fair coin makes this true with probability at most `alpha` / 2, and a coin
    /// that wins less often makes it true less often still.
    #[must_use]
    pub fn favours_wins(&self, alpha: f64) -> bool {
        self.wins > self.losses && self.evidence >= alpha.recip()
    }

    /// Evidence against the fair coin, for either side.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.evidence
    }

    fn trials(&self) -> u32 {
        self.wins + self.losses
    }

    fn bet(seen: u32, trials: u32) -> f64 {
        (f64::from(seen) + 0.5) / (f64::from(trials) + 1.0)
    }
}

impl Default for SignTest {
    fn default() -> Self {
        Self::new()
    }
}

/// How many unanimous trials decide at this `alpha`: fewer cannot.
#[must_use]
pub fn blocks_to_decide(alpha: f64) -> u32 {
    let mut test = SignTest::new();
    while !test.favours_wins(alpha) {
        test.win();
    }
    test.wins
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
    fn evidence_is_the_closed_form_and_does_not_depend_on_the_order() {
        // 2^4 · B(2.5, 2.5)/π = 16 · 3/128.
        let expected = 0.375;
        for order in [[true, true, false, false], [false, true, false, true]] {
            let test = SignTest::of(order);
            assert!((test.evidence - expected).abs() < 1e-12, "{test:?}");
        }
    }

    #[test]
    fn a_fair_coin_is_rarely_called_although_every_trial_is_looked_at() {
        let mut rng = StdRng::seed_from_u64(3);
        let runs = 1_000;
        let mut called = 0;
        for _ in 0..runs {
            let mut wins = SignTest::new();
            let mut losses = SignTest::new();
            let looked = (0..400).any(|_| {
                if rng.random_bool(0.5) {
                    wins.win();
                    losses.lose();
                } else {
                    wins.lose();
                    losses.win();
                }
                wins.favours_wins(0.05) || losses.favours_wins(0.05)
            });
            called += u32::from(looked);
        }
        assert!(called <= 50, "{called} of {runs}");
    }

    #[test]
    fn a_coin_that_wins_nine_times_in_ten_is_called() {
        let mut rng = StdRng::seed_from_u64(4);
        let mut test = SignTest::new();
        let called = (0..60).any(|_| {
            if rng.random_bool(0.9) {
                test.win();
            } else {
                test.lose();
            }
            test.favours_wins(0.005)
        });
        assert!(called);
    }
}
