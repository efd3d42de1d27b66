//! The bodies, the same functions in every contender, and their checked twins.

use std::hint::black_box;

use sha2::{Digest, Sha512};

/// SHA-512 of the 11 bytes; returns the digest's first eight so that a check can use them.
#[inline]
pub(crate) fn sha512() -> u64 {
    let digest = Sha512::digest(black_box(b"Hello World"));
    let digest = black_box(&digest);
    digest
        .iter()
        .take(8)
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The skewed body: the middle item is a thousand others.
#[inline]
pub(crate) fn skewed(index: usize, len: usize) -> u64 {
    let weight = if index == len / 2 { SKEW } else { 1 };
    let mut state = black_box(index as u64 + 1);
    for _ in 0..weight * UNIT_STEPS {
        // Each step waits for the last one's product, and the shift keeps a compiler from folding
        // several steps into one multiplication.
        state = (state ^ (state >> 32)).wrapping_mul(0x5851_f42d_4c95_7f2d);
    }
    black_box(state)
}

/// How many times an ordinary item the middle one is.
const SKEW: u32 = 1_000;
/// Multiply-and-add steps in an ordinary item: about 200 ns.
const UNIT_STEPS: u32 = 150;
