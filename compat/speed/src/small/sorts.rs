//! Sorting by rayon's own function, and by one that joins.

use rayon::prelude::*;

/// A million numbers in no order, the same each time.
pub(crate) fn numbers() -> Vec<u64> {
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        number
    };
    std::iter::repeat_with(next).take(1 << 20).collect()
}

/// rayon's stable sort; returns the digest.
pub(crate) fn stable(numbers: &mut [u64]) -> u64 {
    numbers.par_sort();
    digest(numbers)
}

/// A few of the numbers, folded; it takes no time beside a sort.
pub(crate) fn digest(numbers: &[u64]) -> u64 {
    let few = numbers.iter().step_by(1000);
    few.fold(0, |sum, number| sum.rotate_left(1) ^ number)
}

/// Divides at a pivot, and sorts both parts, perhaps at the same time.
pub(crate) fn quick(numbers: &mut [u64]) {
    if numbers.len() <= SMALL {
        numbers.sort_unstable();
        return;
    }
    let end = numbers.len() - 1;
    let mut candidates = [numbers[0], numbers[end / 2], numbers[end]];
    candidates.sort_unstable();
    let pivot = candidates[1];
    let less = partition(numbers, |number| number < pivot);
    let equal = less + partition(&mut numbers[less..], |number| number == pivot);
    let (left, right) = numbers.split_at_mut(equal);
    rayon::join(|| quick(&mut left[..less]), || quick(right));
}

/// Puts those that pass before the others, and returns how many they are.
fn partition(numbers: &mut [u64], passes: impl Fn(u64) -> bool) -> usize {
    let mut passed = 0;
    for place in 0..numbers.len() {
        if passes(numbers[place]) {
            numbers.swap(place, passed);
            passed += 1;
        }
    }
    passed
}

/// Parts that are sorted without a join.
const SMALL: usize = 256;

#[cfg(test)]
mod tests {
    use super::{numbers, quick, stable};

    #[test]
    fn both_sorts_sort() {
        let mut expected = numbers();
        expected.sort_unstable();
        let mut sorted = numbers();
        quick(&mut sorted);
        assert_eq!(sorted, expected);
        let mut sorted = numbers();
        stable(&mut sorted);
        assert_eq!(sorted, expected);
        let mut same = vec![7; 1000];
        quick(&mut same);
        assert_eq!(same, vec![7; 1000]);
    }
}
