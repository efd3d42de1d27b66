//! The closures of the chains, the same functions in every contender.

/// Whether a filter keeps the value: half of them, in no pattern that a processor could learn.
#[inline]
pub(crate) fn is_kept(value: u64) -> bool {
    value.count_ones().is_multiple_of(2)
}

/// Whether the number is prime, by trial division.
#[inline]
pub(crate) fn is_prime(number: usize) -> bool {
    number >= 2
        && (2..)
            .take_while(|d| d * d <= number)
            .all(|d| !number.is_multiple_of(d))
}
