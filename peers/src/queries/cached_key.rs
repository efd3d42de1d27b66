//! The standard library's sort that computes each key once, as a query promises to: what the promise alone costs.

use crate::queries::Queries;
use crate::queries::body::{LEAST, key};

#[derive(Debug)]
pub(crate) struct CachedKey;

impl Queries for CachedKey {
    fn sort(values: &[u64]) -> Vec<u64> {
        let mut sorted = values.to_vec();
        sorted.sort_by_cached_key(|&n| key(n));
        sorted
    }

    fn least(values: &[u64]) -> Vec<u64> {
        let mut sorted = Self::sort(values);
        sorted.truncate(LEAST);
        sorted
    }
}
