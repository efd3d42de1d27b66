//! manyhands on its default runtime, without options.

use std::collections::HashMap;

use manyhands::query::prelude::*;
use manyhands::{parallel, task};

use crate::shapes::Shapes;

#[derive(Debug)]
pub(crate) struct Manyhands;

impl Shapes for Manyhands {
    fn for_each(len: usize, body: impl Fn(usize) + Send + Sync) {
        parallel::for_each(0..len, body);
    }

    fn map(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> Vec<u64> {
        parallel::map(0..len, body)
    }

    fn sum(len: usize, body: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        parallel::map_reduce(0..len, body, u64::wrapping_add).unwrap_or_default()
    }

    fn filter(
        len: usize,
        body: impl Fn(usize) -> u64 + Send + Sync,
        is_kept: impl Fn(u64) -> bool + Send + Sync,
    ) -> Vec<u64> {
        let values = (0..len).into_par_query().map(body);
        values.filter(|&value| is_kept(value)).collect()
    }

    fn find(len: usize, is_wanted: impl Fn(usize) -> bool + Send + Sync) -> Option<usize> {
        let indices = (0..len).into_par_query();
        indices.find(|&index| is_wanted(index))
    }

    fn sort(values: &mut [u64]) {
        values.par_sort_unstable();
    }

    fn group(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> Vec<(u64, usize)> {
        let indices = (0..len).into_par_query();
        indices.count_by(|&index| key(index)).to_vec()
    }

    fn table(len: usize, key: impl Fn(usize) -> u64 + Send + Sync) -> HashMap<u64, usize> {
        let indices = (0..len).into_par_query();
        indices.map(|index| (key(index), index)).collect()
    }

    fn in_task(call: impl FnOnce() -> f64 + Send + 'static) -> f64 {
        let called = task::run(call).join();
        called.expect("no body panics and nobody cancels")
    }
}
