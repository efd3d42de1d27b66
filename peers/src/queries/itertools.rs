//! itertools: sorted iterators, on one thread.

use itertools::Itertools as _;

use crate::queries::Queries;
use crate::queries::body::{LEAST, key};

#[derive(Debug)]
pub(crate) struct Itertools;

impl Queries for Itertools {
    fn sort(values: &[u64]) -> Vec<u64> {
        values.iter().copied().sorted_by_key(|&n| key(n)).collect()
    }

    fn least(values: &[u64]) -> Vec<u64> {
        let values = values.iter().copied();
        values.k_smallest_by_key(LEAST, |&n| key(n)).collect()
    }
}
