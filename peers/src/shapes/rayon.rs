//! rayon, as its documentation does.

use std::collections;

use hashbrown::HashMap;
use rayon::prelude::{IntoParallelIterator, ParallelIterator, ParallelSliceMut};

use crate::keys::merged;
use crate::shapes::Shapes;

#[derive(Debug)]
pub(crate) struct Rayon;

impl Shapes for Rayon {
    fn for_each(len: usize, body: impl Fn(usize) + Send + Sync) {
        (0..len).into_par_iter().for_each(body);
    }

    fn map(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> Vec<u64> {
        (0..len).into_par_iter().map(body).collect()
    }

    fn sum(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        let values = (0..len).into_par_iter().map(body);
        values.reduce(|| 0, u64::wrapping_add)
    }

    fn filter(
        len: usize,
        body: impl Fn(usize) -> u64 + Send + Sync,
        is_kept: impl Fn(u64) -> bool + Send + Sync,
    ) -> Vec<u64> {
        let values = (0..len).into_par_iter().map(body);
        values.filter(|&value| is_kept(value)).collect()
    }

    fn find(len: usize, is_wanted: impl Fn(usize) -> bool + Send + Sync) -> Option<usize> {
        let indices = (0..len).into_par_iter();
        indices.find_first(|&index| is_wanted(index))
    }

    fn sort(values: &mut [u64]) {
        values.par_sort_unstable();
    }

    fn group(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> Vec<(u64, usize)> {
        let counts = (0..len)
            .into_par_iter()
            .fold(HashMap::new, |mut counts, index| {
                *counts.entry(key(index)).or_insert(0) += 1;
                counts
            });
        counts.reduce(HashMap::new, merged).into_iter().collect()
    }

    fn table(
        len: usize,
        key: impl Fn(usize) -> u64 + Send + Sync,
    ) -> collections::HashMap<u64, usize> {
        let indices = (0..len).into_par_iter();
        indices.map(|index| (key(index), index)).collect()
    }

    fn in_task(call: impl FnOnce() -> f64 + Send + 'static) -> f64 {
        rayon::scope(|_| call())
    }
}
