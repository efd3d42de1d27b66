//! E4's shape: primes by trial division, filtered into a list. Items of very uneven cost.
//!
//! The parallel arm marks in parallel and gathers the marked numbers afterwards on the calling
//! thread, about 1 ns an item; a parallel filter belongs to queries.

use super::SEQUENTIAL;
use crate::{Case, Experiment};
use manyhands::parallel;

/// The experiment with many light, uneven items.
pub(crate) fn primes() -> Experiment {
    let case = Case::collected("primes")
        .full_sizes([1_000_000])
        .quick_sizes([20_000])
        .arm(SEQUENTIAL, |n, found| {
            *found = numbers(n).filter(|number| is_prime(*number)).collect();
        })
        .arm("map", |n, found| {
            let marks = parallel::map(numbers(n), is_prime);
            let marked = numbers(n).zip(marks).filter(|(_, mark)| *mark);
            *found = marked.map(|(number, _)| number).collect();
        });
    Experiment::new(
        "E4",
        "Primes up to n by trial division, filtered into a list",
    )
    .case(case)
}

fn numbers(n: usize) -> std::ops::Range<u64> {
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
            let found = numbers(n).filter(|number| is_prime(*number)).count();
            assert_eq!(found, expected, "up to {n}");
        }
        check(1, 0);
        check(2, 1);
        check(10, 4);
        check(100, 25);
        check(10_000, 1_229);
    }
}
