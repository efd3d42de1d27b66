//! manyhands' parallel loop that collects: what a query should not take longer than.

use manyhands::parallel;

use crate::mix::mix;
use crate::queries::Queries;

#[derive(Debug)]
pub(crate) struct Loop;

impl Queries for Loop {
    fn map(values: &[u64]) -> Vec<u64> {
        parallel::map(values, |&n| mix(n))
    }

    fn hashes(len: usize, hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
        parallel::map(0..len, |n| n as u64 ^ hash())
    }
}
