//! Small rayon programs, and programs on small data.

#![forbid(unsafe_code)]

mod bodies;
mod forks;
mod matrix;
mod sieve;
mod small;
mod sorts;

use speed::{measure, measure_with};

fn main() {
    measure("join, 65,536 leaves", || forks::count(1 << 16));
    measure("fibonacci(27)", || forks::fibonacci(27));
    measure_with("sort of 1,048,576", sorts::numbers, |numbers| {
        sorts::stable(numbers)
    });
    measure_with("quicksort of 1,048,576", sorts::numbers, |numbers| {
        sorts::quick(numbers);
        sorts::digest(numbers)
    });
    let (left, right) = (matrix::filled(1), matrix::filled(2));
    measure("matrix product, 320 × 320", || {
        matrix::digest(&matrix::product(&left, &right))
    });
    measure("sieve of 10,000,000", || sieve::count_primes(10_000_000));
    let bodies = bodies::cloud(1500);
    measure("n-body, 1,500", || bodies::digest(&bodies::forces(&bodies)));
    measure("1,000 × join of two", || small::joins(1000));
    let numbers: Vec<u64> = (0..1000).collect();
    measure("1,000 × sum of 1,000", || small::sums(&numbers, 1000));
    let bodies = bodies::cloud(50);
    measure("200 × n-body, 50", || small::forces(&bodies, 200));
}
