//! rayon's parallel iterators on the global pool, as a first user writes them.

use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelIterator,
};

use crate::loops::Loops;

#[derive(Debug)]
pub(crate) struct Rayon;

impl Loops for Rayon {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, _grain: usize, body: B) {
        (0..len).into_par_iter().for_each(body);
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        y.par_iter_mut()
            .zip(x)
            .for_each(move |(y, x)| *y += scale * x);
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.par_iter().sum()
    }
}
