//! The product of two square matrices, row by row.

use rayon::prelude::*;

/// Rows and columns.
const SIZE: usize = 320;

/// A matrix of small numbers.
pub(crate) fn filled(seed: usize) -> Vec<f64> {
    (0..SIZE * SIZE).map(|i| (i * seed % 7) as f64).collect()
}

/// The rows are computed in parallel.
pub(crate) fn product(left: &[f64], right: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; SIZE * SIZE];
    let rows = product.par_chunks_mut(SIZE).zip(left.par_chunks(SIZE));
    rows.for_each(|(row, left)| {
        for (factor, right) in left.iter().zip(right.chunks(SIZE)) {
            for (sum, other) in row.iter_mut().zip(right) {
                *sum += factor * other;
            }
        }
    });
    product
}

/// All bits of all elements, folded.
pub(crate) fn digest(matrix: &[f64]) -> u64 {
    let bits = matrix.iter().map(|element| element.to_bits());
    bits.fold(0, |sum, bits| sum.rotate_left(1) ^ bits)
}

#[cfg(test)]
mod tests {
    use super::{SIZE, filled, product};

    #[test]
    fn one_element_is_the_sum_of_products() {
        let (left, right) = (filled(1), filled(2));
        let element = |i| left[3 * SIZE + i] * right[i * SIZE + 5];
        let expected: f64 = (0..SIZE).map(element).sum();
        assert_eq!(product(&left, &right)[3 * SIZE + 5], expected);
    }
}
