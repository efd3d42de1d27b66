//! rayon's parallel iterators on the global pool, as a first user writes them.

use std::collections::VecDeque;

use rayon::prelude::{
    IntoParallelIterator, IntoParallelRefIterator, ParallelIterator, ParallelSliceMut,
};

use crate::mix::mix;
use crate::queries::Queries;
use crate::queries::body::{LEAST, is_kept, is_prime, key};

#[derive(Debug)]
pub(crate) struct Rayon;

impl Queries for Rayon {
    fn map(values: &[u64]) -> Vec<u64> {
        values.par_iter().map(|&n| mix(n)).collect()
    }

    fn range(len: usize) -> Vec<u64> {
        (0..len as u64).into_par_iter().map(|n| n * 3).collect()
    }

    fn slices(first: &[u64], second: &[u64]) -> Vec<u64> {
        first.par_iter().chain(second).copied().collect()
    }

    fn ring(values: &VecDeque<u64>) -> u64 {
        values.par_iter().map(|&n| n >> 32).sum()
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

    fn sort(values: &[u64]) -> Vec<u64> {
        let mut sorted = values.to_vec();
        sorted.par_sort_by_key(|&n| key(n));
        sorted
    }

    fn least(values: &[u64]) -> Vec<u64> {
        let mut sorted = Self::sort(values);
        sorted.truncate(LEAST);
        sorted
    }

    fn hashes(len: usize, hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
        let numbers = (0..len).into_par_iter();
        numbers.map(|n| n as u64 ^ hash()).collect()
    }
}
