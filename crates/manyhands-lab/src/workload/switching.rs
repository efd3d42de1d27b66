//! Squares on the calling thread, with and without a way through the pool before.
//!
//! The post's `AsParallel().AsSequential()` has no operator here before there are queries. Its place is
//! taken by a parallel map that changes nothing: the cost of going parallel and back, the vector in
//! between included.

use manyhands::parallel;
use std::ops::Range;

/// Maps on the calling thread.
pub(crate) fn without(n: usize, squares: &mut Vec<u64>) {
    *squares = numbers(n).map(square).collect();
}

/// Goes through the pool, then maps on the calling thread.
pub(crate) fn with(n: usize, squares: &mut Vec<u64>) {
    let unchanged = parallel::map(numbers(n), |number| number);
    *squares = unchanged.into_iter().map(square).collect();
}

fn numbers(n: usize) -> Range<u32> {
    0..u32::try_from(n).expect("the sizes of this experiment fit 32 bits")
}

/// `Math.Pow(number, 2)`, as bits, which hash.
fn square(number: u32) -> u64 {
    f64::from(number).powi(2).to_bits()
}
