//! ndarray: element by element, and row by row.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis, Zip};

/// Two thousand rows of a thousand numbers.
pub(crate) fn numbers() -> Array2<f64> {
    Array2::from_shape_fn((2000, 1000), |(row, column)| {
        ((row * 31 + column * 17) % 1009) as f64
    })
}

/// Each element with that of another array; returns the bits of the last one.
pub(crate) fn zipped(numbers: &Array2<f64>) -> u64 {
    let mut result = numbers.clone();
    Zip::from(&mut result)
        .and(numbers)
        .par_for_each(|result, &number| *result = (*result * number + 1.0).sqrt());
    result.last().map_or(0, |last| last.to_bits())
}

/// The length of each row, in bits.
pub(crate) fn rows(numbers: &Array2<f64>) -> Vec<u64> {
    let rows = numbers.axis_iter(Axis(0)).into_par_iter();
    rows.map(|row| row.dot(&row).sqrt().to_bits()).collect()
}
