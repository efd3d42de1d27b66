//! Squares, by chains that switch between parallel and sequential and by chains that do not.
//!
//! The post squares with `Math.Pow`; integers say the same, exactly, and can be hashed.

use manyhands::parallel;
use manyhands::query::prelude::*;
use std::ops::Range;

/// LINQ: maps on the calling thread.
pub(crate) fn without(n: usize, squares: &mut Vec<u64>) {
    *squares = numbers(n).map(square).collect();
}

/// `AsParallel().AsSequential()`: goes to the workers and back, then maps on the calling thread.
pub(crate) fn with(n: usize, squares: &mut Vec<u64>) {
    let numbers = numbers(n).into_par_query().sequential();
    *squares = numbers.map(square).collect();
}

/// The post's example of a chain, filter, map and filter, as one parallel query.
pub(crate) fn chain_without(n: usize, squares: &mut Vec<u64>) {
    let large = numbers(n).into_par_query().filter(is_large);
    *squares = large.map(square).filter(is_even).to_vec();
}

/// The same chain, whose map in the middle is sequential: it runs on one thread at a time.
pub(crate) fn chain_ordered(n: usize, squares: &mut Vec<u64>) {
    let large = numbers(n).into_par_query().filter(is_large);
    let middle = large.sequential().map(square);
    *squares = parallel::from_iter(middle)
        .into_par_query()
        .filter(is_even)
        .to_vec();
}

/// The same with the order given up, before the switches and after them.
pub(crate) fn chain_unordered(n: usize, squares: &mut Vec<u64>) {
    let large = numbers(n).into_par_query().unordered().filter(is_large);
    let middle = large.sequential().map(square);
    *squares = parallel::from_iter(middle)
        .into_par_query()
        .unordered()
        .filter(is_even)
        .to_vec();
}

fn numbers(n: usize) -> Range<u64> {
    0..n as u64
}

fn is_large(number: &u64) -> bool {
    *number > 10
}

fn square(number: u64) -> u64 {
    number * number
}

fn is_even(square: &u64) -> bool {
    square.is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_the_even_squares_of_large_numbers() {
        for chain in [chain_without, chain_ordered] {
            let mut squares = Vec::new();
            chain(17, &mut squares);
            assert_eq!(squares, [144, 196, 256]);
        }
    }
}
