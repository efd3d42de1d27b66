//! Seeded noise as shared machines make it, for the tests of everything that judges it.

use super::rng_for;
use rand::{RngExt, rngs::StdRng};
use std::f64::consts::{SQRT_2, TAU};

/// A source of noise.
pub(crate) struct Noise {
    rng: StdRng,
    /// What the current burst multiplies a ratio by, if bursts are wanted.
    burst: Option<f64>,
}

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        let (rng, burst) = (rng_for(seed), None);
        Self { rng, burst }
    }

    /// The same with a neighbour that comes for eight ratios on average and takes a tenth from one arm or
    /// the other, so that its ratios are alike; it is there for a third of the time.
    pub(crate) fn in_bursts(mut self) -> Self {
        self.burst = Some(1.0);
        self
    }

    /// A standard normal value, by Box and Muller's transformation.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.rng.random::<f64>()).ln()).sqrt();
        radius * (TAU * self.rng.random::<f64>()).cos()
    }

    /// What a time is multiplied by: normal noise, and in one sample of ten a delay of up to a half.
    pub(crate) fn time(&mut self, sigma: f64) -> f64 {
        let spike = match self.rng.random_bool(0.1) {
            true => self.rng.random_range(0.0..0.5),
            false => 0.0,
        };
        (sigma * self.normal()).exp() * (1.0 + spike)
    }

    /// What a ratio of two times is multiplied by; `sigma` is that of the pair.
    pub(crate) fn ratio(&mut self, sigma: f64) -> f64 {
        let each = sigma / SQRT_2;
        self.step() * self.time(each) / self.time(each)
    }

    /// What the burst multiplies this ratio by; then it may end, or another begin.
    fn step(&mut self) -> f64 {
        let Some(factor) = self.burst else {
            return 1.0;
        };
        let changes = if factor == 1.0 { 1.0 / 16.0 } else { 1.0 / 8.0 };
        if self.rng.random_bool(changes) {
            let next = match (factor == 1.0, self.rng.random_bool(0.5)) {
                (false, _) => 1.0,
                (true, true) => 1.1,
                (true, false) => 1.0 / 1.1,
            };
            self.burst = Some(next);
        }
        factor
    }
}
