//! Primes by trial division, filtered into a list: many light items of very uneven cost.

use manyhands::query::prelude::*;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::ops::Range;

/// LINQ: an iterator with a filter.
pub(crate) fn iter(n: usize, found: &mut Vec<u64>) {
    *found = numbers(n).filter(|number| is_prime(*number)).collect();
}

/// PLINQ, ordered: a parallel query.
pub(crate) fn query_ordered(n: usize, found: &mut Vec<u64>) {
    let numbers = numbers(n).into_par_query();
    *found = numbers.filter(|number| is_prime(*number)).to_vec();
}

/// PLINQ: a parallel query that gives up the order.
pub(crate) fn query_unordered(n: usize, found: &mut Vec<u64>) {
    let numbers = numbers(n).into_par_query().unordered();
    *found = numbers.filter(|number| is_prime(*number)).to_vec();
}

/// Rayon's filter, in order.
pub(crate) fn rayon(n: usize, found: &mut Vec<u64>) {
    let numbers = numbers(n).into_par_iter();
    *found = numbers.filter(|number| is_prime(*number)).collect();
}

fn numbers(n: usize) -> Range<u64> {
    0..n as u64 + 1
}

fn is_prime(number: u64) -> bool {
    if number < 4 {
        return number > 1;
    }
    if number.is_multiple_of(2) {
        return false;
    }
    let mut divisor = 3;
    while divisor * divisor <= number {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 2;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_primes_is_known() {
        fn check(n: usize, expected: usize) {
            let mut found = Vec::new();
            iter(n, &mut found);
            assert_eq!(found.len(), expected, "up to {n}");
        }
        check(1, 0);
        check(2, 1);
        check(10, 4);
        check(100, 25);
        check(10_000, 1_229);
    }
}
