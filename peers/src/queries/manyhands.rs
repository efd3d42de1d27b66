//! manyhands' queries on the default runtime, with and without order.

use std::collections::VecDeque;

use manyhands::query::prelude::{IntoParQuery, ParQuery};

use crate::loops::sha512;
use crate::mix::mix;
use crate::queries::Queries;
use crate::queries::body::{LEAST, consumed, is_kept, is_prime, key};

/// As they are.
#[derive(Debug)]
pub(crate) struct Ordered;

/// With the order given up at once.
#[derive(Debug)]
pub(crate) struct Unordered;

macro_rules! queries {
    ($contender:ident, $order:ident) => {
        impl Queries for $contender {
            fn map(values: &[u64]) -> Vec<u64> {
                values.par_query().$order().map(|&n| mix(n)).collect()
            }

            fn range(len: usize) -> Vec<u64> {
                let numbers = (0..len as u64).into_par_query().$order();
                numbers.map(|n| n * 3).collect()
            }

            fn slices(first: &[u64], second: &[u64]) -> Vec<u64> {
                let first = first.par_query().$order();
                first.chain(second).copied().collect()
            }

            fn ring(values: &VecDeque<u64>) -> u64 {
                values.par_query().$order().map(|&n| n >> 32).sum()
            }

            fn filter(values: &[u64]) -> Vec<u64> {
                let values = values.par_query().$order().copied();
                values.filter(|&n| is_kept(n)).collect()
            }

            fn sum(values: &[u64]) -> u64 {
                let kept = values.par_query().$order().filter(|&&n| is_kept(n));
                kept.map(|&n| mix(n) >> 32).sum()
            }

            fn min(values: &[u64]) -> Option<u64> {
                values.par_query().$order().map(|&n| mix(n)).min()
            }

            fn any(values: &[u64], wanted: u64) -> bool {
                values.par_query().$order().any(|&n| mix(n) == wanted)
            }

            fn primes(len: usize) -> usize {
                let numbers = (0..len).into_par_query().$order();
                numbers.filter(|&n| is_prime(n)).count()
            }

            fn sort(values: &[u64]) -> Vec<u64> {
                let values = values.par_query().$order().copied();
                values.order_by(|&n| key(n)).collect()
            }

            fn least(values: &[u64]) -> Vec<u64> {
                let values = values.par_query().$order().copied();
                values.order_by(|&n| key(n)).take(LEAST).collect()
            }

            fn iterate(len: usize) -> u64 {
                let numbers = (0..len).into_par_query().$order();
                let hashes = numbers.map(|n| n as u64 ^ sha512());
                hashes.with_iter(|hashes| hashes.fold(0, consumed))
            }

            fn hashes(len: usize, hash: impl Fn() -> u64 + Send + Sync) -> Vec<u64> {
                let numbers = (0..len).into_par_query().$order();
                numbers.map(|n| n as u64 ^ hash()).collect()
            }
        }
    };
}

queries!(Ordered, ordered);
queries!(Unordered, unordered);
