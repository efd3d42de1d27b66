//! Five hashes of one text of 445 bytes, as in the laboratory's experiment E5.

use std::hint::black_box;

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// One of the hashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hash {
    HmacSha512,
    Sha512,
    Sha256,
    Sha1,
    Md5,
}

impl Hash {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::HmacSha512 => "hmac-sha512",
            Self::Sha512 => "sha512",
            Self::Sha256 => "sha256",
            Self::Sha1 => "sha1",
            Self::Md5 => "md5",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::HmacSha512 => "HMAC-SHA512 of 445 bytes, collected",
            Self::Sha512 => "SHA-512 of 445 bytes, collected",
            Self::Sha256 => "SHA-256 of 445 bytes, collected",
            Self::Sha1 => "SHA-1 of 445 bytes, collected",
            Self::Md5 => "MD5 of 445 bytes, collected",
        }
    }
}

/// The first bytes of HMAC-SHA512 of the text, under a fixed key.
pub(super) fn hmac_sha512() -> u64 {
    let mut mac = Hmac::<Sha512>::new_from_slice(KEY).expect("HMAC takes keys of any length");
    mac.update(black_box(TEXT));
    first_bytes(&mac.finalize().into_bytes())
}

/// The first bytes of a hash of the text.
pub(super) fn digest<D: Digest>() -> u64 {
    first_bytes(&D::digest(black_box(TEXT)))
}

pub(super) fn sha512() -> u64 {
    digest::<Sha512>()
}

pub(super) fn sha256() -> u64 {
    digest::<Sha256>()
}

pub(super) fn sha1() -> u64 {
    digest::<Sha1>()
}

pub(super) fn md5() -> u64 {
    digest::<Md5>()
}

fn first_bytes(hash: &[u8]) -> u64 {
    let hash = black_box(hash);
    let first = hash.iter().take(8);
    first.fold(0, |word, &byte| word << 8 | u64::from(byte))
}

const TEXT: &[u8] = b"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod \
    tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud \
    exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. Duis aute irure dolor \
    in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur \
    sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est \
    laborum.";
const KEY: &[u8; 64] = b"a fixed key of 64 bytes, so that checksums of two runs compare..";
