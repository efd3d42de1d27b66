//! orx-parallel's iterators with its default pool and adaptive runner.
//!
//! It has no zip of mutable slices; `enumerate` is its natural form.

use orx_parallel::{EnumeratePar, IntoParIter, Par};

use crate::loops::Loops;

#[derive(Debug)]
pub(crate) struct Orx;

impl Loops for Orx {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        // Its closures must be `Copy`, which a reference is.
        (0..len).into_par().for_each(&body);
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        y.into_par()
            .enumerate()
            .for_each(move |(index, y)| *y += scale * x[index]);
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.into_par().sum()
    }
}
