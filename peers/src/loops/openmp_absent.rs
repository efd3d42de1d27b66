//! OpenMP where gcc or libgomp is missing: named in the tables, with the reason.

use crate::loops::Loops;

/// Cannot be made.
#[derive(Debug)]
pub(crate) enum OpenMp {}

impl Loops for OpenMp {
    type Background = Self;

    fn new() -> Result<Self, String> {
        Err(env!("PEERS_OPENMP_ABSENT").to_owned())
    }

    fn for_range<B: Fn(usize) + Send + Sync>(&mut self, _len: usize, _grain: usize, _body: B) {
        match *self {}
    }

    fn saxpy(&mut self, _scale: f32, _x: &[f32], _y: &mut [f32]) {
        match *self {}
    }

    fn sum(&mut self, _values: &[u64]) -> u64 {
        match *self {}
    }
}
