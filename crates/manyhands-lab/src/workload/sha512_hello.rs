//! E3: SHA-512 of "Hello World", results stored, over a grid of sizes.

use super::SEQUENTIAL;
use crate::{Case, Experiment};
use manyhands::parallel;
use sha2::{Digest, Sha512};
use std::hint::black_box;

/// The experiment that looks for the break-even.
pub(crate) fn sha512_hello() -> Experiment {
    let case = Case::slots("SHA-512", [0_u8; 64])
        .full_sizes(GRID)
        .quick_sizes(GRID.into_iter().filter(|n| *n <= 3_000))
        .arm(SEQUENTIAL, |_, slots| {
            for slot in slots.iter_mut() {
                *slot = hash();
            }
        })
        .arm("for_each", |_, slots| {
            parallel::for_each(slots, |slot: &mut [u8; 64]| *slot = hash());
        });
    Experiment::new("E3", "SHA-512 of \"Hello World\" n times, results stored").case(case)
}

/// A fresh hasher per item; the text is opaque, or the hash would be worked out once.
fn hash() -> [u8; 64] {
    Sha512::digest(black_box(TEXT)).into()
}

const TEXT: &[u8] = b"Hello World";

/// Half a decade a step.
const GRID: [usize; 13] = [
    1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash()[..4], [0x2c, 0x74, 0xfd, 0x17]);
    }
}
