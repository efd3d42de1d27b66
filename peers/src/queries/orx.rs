//! orx-parallel's iterators with its default pool and adaptive runner.

use orx_parallel::{IntoParIter, Par};

use crate::mix::mix;
use crate::queries::Queries;
use crate::queries::body::{is_kept, is_prime};

#[derive(Debug)]
pub(crate) struct Orx;

impl Queries for Orx {
    fn map(values: &[u64]) -> Vec<u64> {
        values.into_par().map(|&n| mix(n)).collect()
    }

    fn filter(values: &[u64]) -> Vec<u64> {
        values
            .into_par()
            .map(|&n| n)
            .filter(|&n| is_kept(n))
            .collect()
    }

    fn sum(values: &[u64]) -> u64 {
        let kept = values.into_par().filter(|&&n| is_kept(n));
        kept.map(|&n| mix(n) >> 32).sum()
    }

    fn min(values: &[u64]) -> Option<u64> {
        values.into_par().map(|&n| mix(n)).min()
    }

    fn any(values: &[u64], wanted: u64) -> bool {
        values.into_par().any(move |&&n| mix(n) == wanted)
    }

    fn primes(len: usize) -> usize {
        (0..len).into_par().filter(|&n| is_prime(n)).count()
    }

    fn hashes(len: usize, hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
        let numbers = (0..len).into_par();
        numbers.map(|n| n as u64 ^ hash()).collect()
    }
}
