//! The base of the ratios: plain loops on the calling thread.
//!
//! Busy has no meaning of its own for it, so its other loop is run by rayon: the question is what
//! the caller pays while some pool uses all CPUs.

use crate::loops::Loops;
use crate::loops::rayon::Rayon;

#[derive(Debug)]
pub(crate) struct Sequential;

impl Loops for Sequential {
    type Background = Rayon;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        for index in 0..len {
            body(index);
        }
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        for (y, x) in y.iter_mut().zip(x) {
            *y += scale * x;
        }
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.iter().sum()
    }
}
