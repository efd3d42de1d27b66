//! The standard library's iterators: what every contender must beat.

use std::collections::VecDeque;

use crate::loops::sha512;
use crate::mix::mix;
use crate::queries::Queries;
use crate::queries::body::{LEAST, consumed, is_kept, is_prime, key};

#[derive(Debug)]
pub(crate) struct Sequential;

impl Queries for Sequential {
    fn map(values: &[u64]) -> Vec<u64> {
        values.iter().map(|&n| mix(n)).collect()
    }

    fn range(len: usize) -> Vec<u64> {
        (0..len as u64).map(|n| n * 3).collect()
    }

    fn slices(first: &[u64], second: &[u64]) -> Vec<u64> {
        first.iter().chain(second).copied().collect()
    }

    fn ring(values: &VecDeque<u64>) -> u64 {
        values.iter().map(|&n| n >> 32).sum()
    }

    fn filter(values: &[u64]) -> Vec<u64> {
        values.iter().copied().filter(|&n| is_kept(n)).collect()
    }

    fn sum(values: &[u64]) -> u64 {
        let kept = values.iter().filter(|&&n| is_kept(n));
        kept.map(|&n| mix(n) >> 32).sum()
    }

    fn min(values: &[u64]) -> Option<u64> {
        values.iter().map(|&n| mix(n)).min()
    }

    fn any(values: &[u64], wanted: u64) -> bool {
        values.iter().any(|&n| mix(n) == wanted)
    }

    fn primes(len: usize) -> usize {
        (0..len).filter(|&n| is_prime(n)).count()
    }

    fn sort(values: &[u64]) -> Vec<u64> {
        let mut sorted = values.to_vec();
        sorted.sort_by_key(|&n| key(n));
        sorted
    }

    fn least(values: &[u64]) -> Vec<u64> {
        let mut sorted = Self::sort(values);
        sorted.truncate(LEAST);
        sorted
    }

    fn iterate(len: usize) -> u64 {
        let hashes = (0..len).map(|n| n as u64 ^ sha512());
        hashes.fold(0, consumed)
    }

    fn hashes(len: usize, hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
        (0..len).map(|n| n as u64 ^ hash()).collect()
    }
}
