//! E2: five hashes over many copies of one paragraph, results stored.

use super::SEQUENTIAL;
use crate::{Case, Experiment};
use hmac::{Hmac, KeyInit, Mac};
use manyhands::parallel;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use std::hint::black_box;

/// The experiment with five cases of one size.
pub(crate) fn five_hashes() -> Experiment {
    Experiment::new(
        "E2",
        "Five hashes over copies of one 445-byte paragraph, results stored",
    )
    .case(case("HMAC-SHA512", hmac_sha512))
    .case(case("SHA-512", |text| Sha512::digest(text).into()))
    .case(case("SHA-256", |text| Sha256::digest(text).into()))
    .case(case("SHA-1", |text| Sha1::digest(text).into()))
    .case(case("MD5", |text| Md5::digest(text).into()))
}

fn case<const SIZE: usize>(
    name: &'static str,
    hash: impl Fn(&[u8]) -> [u8; SIZE] + Copy + Send + Sync + 'static,
) -> Case<[u8; SIZE]> {
    Case::slots(name, [0; SIZE])
        .full_sizes([100_000])
        .quick_sizes([2_000])
        .arm(SEQUENTIAL, move |_, slots| {
            for slot in slots.iter_mut() {
                *slot = hash(black_box(LOREM.as_bytes()));
            }
        })
        .arm("for_each", move |_, slots| {
            parallel::for_each(slots, |slot: &mut [u8; SIZE]| {
                *slot = hash(black_box(LOREM.as_bytes()));
            });
        })
}

fn hmac_sha512(text: &[u8]) -> [u8; 64] {
    let mut mac = Hmac::<Sha512>::new_from_slice(KEY).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

const KEY: &[u8; 64] = b"a fixed key of 64 bytes, so that checksums of two runs compare..";

/// The usual filler text.
const LOREM: &str = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod \
    tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud \
    exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. Duis aute irure dolor \
    in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur \
    sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est \
    laborum.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paragraph_has_445_bytes() {
        assert_eq!(LOREM.len(), 445);
    }

    #[test]
    fn hmac_is_not_the_plain_hash() {
        let plain: [u8; 64] = Sha512::digest(LOREM).into();
        assert_ne!(hmac_sha512(LOREM.as_bytes()), plain);
    }
}
