//! rayon tuned by hand: `with_min_len` of about 15 µs of work, chosen for each body.

use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelIterator,
};

use crate::loops::Loops;
use crate::loops::case::Body;

#[derive(Debug)]
pub(crate) struct RayonMinLen;

impl Loops for RayonMinLen {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Ok(Self)
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, len: usize, grain: usize, body: B) {
        (0..len).into_par_iter().with_min_len(grain).for_each(body);
    }

    fn saxpy(&mut self, scale: f32, x: &[f32], y: &mut [f32]) {
        let grain = Body::Saxpy.grain();
        y.par_iter_mut()
            .zip(x)
            .with_min_len(grain)
            .for_each(move |(y, x)| *y += scale * x);
    }

    fn sum(&mut self, values: &[u64]) -> u64 {
        values.par_iter().with_min_len(Body::Sum.grain()).sum()
    }
}
