//! The heavy request: how many primes there are below a bound, in order and in parallel.

use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// One number's part.
fn one_if_prime(n: u64) -> u64 {
    let is_prime = (2..)
        .take_while(|d| d * d <= n)
        .all(|d| !n.is_multiple_of(d));
    u64::from(is_prime)
}

pub(crate) fn in_order() -> u64 {
    (2..BELOW).map(one_if_prime).sum()
}

pub(crate) fn by_manyhands() -> u64 {
    let count = manyhands::parallel::map_reduce(2..BELOW, one_if_prime, |a, b| a + b);
    count.unwrap_or_default()
}

pub(crate) fn by_rayon() -> u64 {
    (2..BELOW).into_par_iter().map(one_if_prime).sum()
}

const BELOW: u64 = 200_000;

/// What all three must find.
pub(crate) const EXPECTED: u64 = 17_984;
