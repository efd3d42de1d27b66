//! Nothing but joins.

/// Counts `leaves` one by one, in halves.
pub(crate) fn count(leaves: u64) -> u64 {
    if leaves == 1 {
        return 1;
    }
    let half = leaves / 2;
    let (left, right) = rayon::join(|| count(half), || count(leaves - half));
    left + right
}

/// A Fibonacci number, with a join for each step.
pub(crate) fn fibonacci(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (left, right) = rayon::join(|| fibonacci(n - 1), || fibonacci(n - 2));
    left + right
}

#[cfg(test)]
mod tests {
    use super::{count, fibonacci};

    #[test]
    fn leaves_are_counted_and_the_numbers_are_fibonacci_s() {
        assert_eq!((count(1000), fibonacci(20)), (1000, 6765));
    }
}
