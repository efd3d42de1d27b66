//! The plain loop, on the calling thread.

use std::collections;

use hashbrown::HashMap;

use crate::shapes::Shapes;

#[derive(Debug)]
pub(crate) struct Plain;

impl Shapes for Plain {
    fn for_each(len: usize, body: impl Fn(usize) + Send + Sync) {
        (0..len).for_each(body);
    }

    fn map(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> Vec<u64> {
        (0..len).map(body).collect()
    }

    fn sum(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        (0..len).map(body).fold(0, u64::wrapping_add)
    }

    fn filter(
        len: usize,
        body: impl Fn(usize) -> u64 + Send + Sync,
        is_kept: impl Fn(u64) -> bool + Send + Sync,
    ) -> Vec<u64> {
        (0..len).map(body).filter(|&value| is_kept(value)).collect()
    }

    fn find(len: usize, is_wanted: impl Fn(usize) -> bool + Send + Sync) -> Option<usize> {
        (0..len).find(|&index| is_wanted(index))
    }

    fn sort(values: &mut [u64]) {
        values.sort_unstable();
    }

    fn group(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> Vec<(u64, usize)> {
        let mut counts = HashMap::new();
        for index in 0..len {
            *counts.entry(key(index)).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    fn table(
        len: usize,
        key: impl Fn(usize) -> u64 + Send + Sync,
    ) -> collections::HashMap<u64, usize> {
        (0..len).map(|index| (key(index), index)).collect()
    }
}
