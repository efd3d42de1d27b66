//! Seeded noise as shared machines make it, for the tests of everything that judges it.

use super::rng_for;
use rand::{RngExt, rngs::StdRng};
use std::f64::consts::{SQRT_2, TAU};

/// A source of noise.
pub(crate) struct Noise(StdRng);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(rng_for(seed))
    }

    /// A standard normal value, by Box and Muller's transformation.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        radius * (TAU * self.0.random::<f64>()).cos()
    }

    /// What a time is multiplied by: normal noise, and in one sample of ten a delay of up to a
    /// half.
    pub(crate) fn time(&mut self, sigma: f64) -> f64 {
        let spike = match self.0.random_bool(0.1) {
            true => self.0.random_range(0.0..0.5),
            false => 0.0,
        };
        (sigma * self.normal()).exp() * (1.0 + spike)
    }

    /// What a ratio of two times is multiplied by; `sigma` is that of the pair.
    pub(crate) fn ratio(&mut self, sigma: f64) -> f64 {
        let each = sigma / SQRT_2;
        self.time(each) / self.time(each)
    }
}
