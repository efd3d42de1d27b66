//! Five hashes, and the texts they are taken of.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// HMAC-SHA512 under a fixed key.
pub(crate) fn hmac_sha512(text: &[u8]) -> [u8; 64] {
    let mut mac = Hmac::<Sha512>::new_from_slice(KEY).expect("HMAC takes keys of any length");
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// SHA-512, with a new hasher as in the posts.
pub(crate) fn sha512(text: &[u8]) -> [u8; 64] {
    Sha512::digest(text).into()
}

/// SHA-256.
pub(crate) fn sha256(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// SHA-1.
pub(crate) fn sha1(text: &[u8]) -> [u8; 20] {
    Sha1::digest(text).into()
}

/// MD5.
pub(crate) fn md5(text: &[u8]) -> [u8; 16] {
    Md5::digest(text).into()
}

/// The shortest text: eleven bytes.
pub(crate) const HELLO: &[u8] = b"Hello World";

/// The usual filler text, 445 bytes.
pub(crate) const LOREM: &[u8] =
    b"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod \
    tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud \
    exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. Duis aute irure dolor \
    in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. Excepteur \
    sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est \
    laborum.";

/// Results of two runs compare because the key is fixed.
const KEY: &[u8; 64] = b"a fixed key of 64 bytes, so that checksums of two runs compare..";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_have_their_published_lengths() {
        assert_eq!((HELLO.len(), LOREM.len()), (11, 445));
    }

    #[test]
    fn hashes_are_the_published_ones() {
        assert_eq!(sha512(HELLO)[..4], [0x2c, 0x74, 0xfd, 0x17]);
        assert_eq!(sha256(HELLO)[..4], [0xa5, 0x91, 0xa6, 0xd4]);
        assert_eq!(sha1(HELLO)[..4], [0x0a, 0x4d, 0x55, 0xa8]);
        assert_eq!(md5(HELLO)[..4], [0xb1, 0x0a, 0x8d, 0xb1]);
    }

    #[test]
    fn hmac_is_not_the_plain_hash() {
        assert_ne!(hmac_sha512(LOREM), sha512(LOREM));
    }
}
