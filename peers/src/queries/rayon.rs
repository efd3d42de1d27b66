//! rayon's parallel iterators on the global pool, as a first user writes them.

use rayon::prelude::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::loops::sha512;
use crate::queries::Queries;
use crate::queries::body::{is_kept, is_prime};
use crate::shuffle::mix;

#[derive(Debug)]
pub(crate) struct Rayon;

impl Queries for Rayon {
    fn map(values: &[u64]) -> Vec<u64> {
        values.par_iter().map(|&n| mix(n)).collect()
    }

    fn filter(values: &[u64]) -> Vec<u64> {
        values.par_iter().copied().filter(|&n| is_kept(n)).collect()
    }

    fn sum(values: &[u64]) -> u64 {
        let kept = values.par_iter().filter(|&&n| is_kept(n));
        kept.map(|&n| mix(n) >> 32).sum()
    }

    fn min(values: &[u64]) -> Option<u64> {
        values.par_iter().map(|&n| mix(n)).min()
    }

    fn any(values: &[u64], wanted: u64) -> bool {
        values.par_iter().any(|&n| mix(n) == wanted)
    }

    fn primes(len: usize) -> usize {
        (0..len).into_par_iter().filter(|&n| is_prime(n)).count()
    }

    fn hashes(len: usize) -> Vec<u64> {
        (0..len)
            .into_par_iter()
            .map(|n| n as u64 ^ sha512())
            .collect()
    }
}
