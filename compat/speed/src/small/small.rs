//! Calls that are over soon, from a thread outside of the pool, one after the other.

use rayon::prelude::*;

use crate::bodies::{self, Body};

/// Two closures with nothing to do, `times` times.
pub(crate) fn joins(times: u64) -> u64 {
    let one = |time| {
        let (left, right) = rayon::join(|| time, || 1);
        left + right
    };
    (0..times).map(one).sum()
}

/// The sum of the numbers, `times` times.
pub(crate) fn sums(numbers: &[u64], times: u64) -> u64 {
    (0..times).map(|_| numbers.par_iter().sum::<u64>()).sum()
}

/// The forces between a few bodies, `times` times.
pub(crate) fn forces(bodies: &[Body], times: u64) -> Vec<u64> {
    (0..times)
        .map(|_| bodies::digest(&bodies::forces(bodies)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{joins, sums};

    #[test]
    fn each_call_counts() {
        assert_eq!(joins(3), 1 + 2 + 3);
        assert_eq!(sums(&[1, 2], 5), 15);
    }
}
