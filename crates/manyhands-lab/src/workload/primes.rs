//! Primes by trial division, filtered into a list: many light items of very uneven cost.

use manyhands::parallel;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::ops::Range;

/// LINQ: an iterator with a filter.
pub(crate) fn iter(n: usize, found: &mut Vec<u64>) {
    *found = numbers(n).filter(|number| is_prime(*number)).collect();
}

/// PLINQ, until there are queries here: marks in parallel, then gathers the marked numbers on the calling
/// thread, about 1 ns an item.
pub(crate) fn map(n: usize, found: &mut Vec<u64>) {
    let marks = parallel::map(numbers(n), is_prime);
    let marked = numbers(n).zip(marks).filter(|(_, mark)| *mark);
    *found = marked.map(|(number, _)| number).collect();
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
