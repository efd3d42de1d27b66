//! The closures of the chains, the same functions in every contender.

use crate::loops::sha512;
use crate::mix::mix;

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

/// What numbers are ordered by: cheap, and random where they are.
#[inline]
pub(crate) fn key(value: u64) -> u64 {
    value >> 20
}

/// What the caller that iterates does with an item, given what it has so far.
#[inline]
pub(crate) fn consumed(sum: u64, item: u64) -> u64 {
    mix(sum ^ item ^ sha512())
}

/// How many of the ordered numbers are taken.
pub(crate) const LEAST: usize = 100;
