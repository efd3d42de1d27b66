//! Small rayon programs, and programs on small data.

#![forbid(unsafe_code)]

mod bodies;
mod forks;
mod matrix;
mod sieve;
mod small;
mod sorts;

use std::process::ExitCode;

fn main() -> ExitCode {
    speed::main(|all| {
        all.measure("join, 65,536 leaves", || forks::count(1 << 16));
        all.measure("fibonacci(27)", || forks::fibonacci(27));
        all.measure_with("sort of 1,048,576", sorts::numbers, |numbers| {
            sorts::stable(numbers)
        });
        all.measure_with("quicksort of 1,048,576", sorts::numbers, |numbers| {
            sorts::quick(numbers);
            sorts::digest(numbers)
        });
        all.measure_with(
            "matrix product, 320 × 320",
            || [1, 2].map(matrix::filled),
            |[left, right]| matrix::digest(&matrix::product(left, right)),
        );
        all.measure("sieve of 10,000,000", || sieve::count_primes(10_000_000));
        all.measure_with(
            "n-body, 1,500",
            || bodies::cloud(1500),
            |bodies| bodies::digest(&bodies::forces(bodies)),
        );
        all.measure("1,000 × join of two", || small::joins(1000));
        all.measure_with(
            "1,000 × sum of 1,000",
            || (0..1000).collect::<Vec<u64>>(),
            |numbers| small::sums(numbers, 1000),
        );
        all.measure_with(
            "200 × n-body, 50",
            || bodies::cloud(50),
            |bodies| small::forces(bodies, 200),
        );
    })
}
