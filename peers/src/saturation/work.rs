//! The heavy request: a sum of hashes, in order and in parallel.

use std::hint::black_box;

use manyhands::query::prelude::IntoParQuery;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::mix::mix;

/// One number's part, about 100 ns.
fn hash(number: u64) -> u64 {
    (0..ROUNDS).fold(number, |value, round| mix(value.wrapping_add(round)))
}

pub(crate) fn in_order() -> u64 {
    numbers().map(hash).fold(0, u64::wrapping_add)
}

pub(crate) fn by_loop() -> u64 {
    manyhands::parallel::map_reduce(numbers(), hash, u64::wrapping_add).unwrap_or_default()
}

pub(crate) fn by_query() -> u64 {
    let hashes = numbers().into_par_query().map(hash);
    hashes.reduce(u64::wrapping_add).unwrap_or_default()
}

pub(crate) fn by_rayon() -> u64 {
    let hashes = numbers().into_par_iter().map(hash);
    hashes.reduce(|| 0, u64::wrapping_add)
}

/// What nobody can work out before it runs.
fn numbers() -> std::ops::Range<u64> {
    0..black_box(NUMBERS)
}

const NUMBERS: u64 = 40_000;
const ROUNDS: u64 = 39;

#[cfg(test)]
mod tests {
    use super::{by_loop, by_query, by_rayon, in_order};

    #[test]
    fn all_ways_find_the_same_sum() {
        let expected = in_order();
        assert_ne!(expected, 0);
        assert_eq!(by_loop(), expected);
        assert_eq!(by_query(), expected);
        assert_eq!(by_rayon(), expected);
    }
}
