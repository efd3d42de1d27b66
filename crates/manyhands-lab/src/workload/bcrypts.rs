//! BCrypt: heavy items, about a millisecond each at the lowest cost, twice as much with each step of it.

use std::hint::black_box;

/// Hashes `text` at this cost.
///
/// The salt comes from the index instead of a random source, so that all arms agree. BCrypt hashes the
/// first 72 bytes, the closing zero among them, and ignores the rest.
pub(crate) fn bcrypt(cost: u32, text: &[u8], index: usize) -> [u8; 24] {
    let mut salt = *b"manyhands salt..";
    salt[14] ^= index.to_le_bytes()[0];
    salt[15] ^= index.to_le_bytes()[1];
    let mut read = [0; READ_MAX];
    let len = text.len().min(READ_MAX);
    read[..len].copy_from_slice(&black_box(text)[..len]);
    bcrypt::bcrypt(cost, salt, &read[..READ_MAX.min(len + 1)])
}

/// Bytes of a text that count.
const READ_MAX: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_repeat_and_differ_by_index_cost_and_text() {
        let hash = bcrypt(4, b"Hello World", 1);
        assert_eq!(hash, bcrypt(4, b"Hello World", 1));
        assert_ne!(hash, bcrypt(4, b"Hello World", 2));
        assert_ne!(hash, bcrypt(5, b"Hello World", 1));
        assert_ne!(hash, bcrypt(4, b"hello World", 1));
    }

    #[test]
    fn what_follows_byte_72_is_ignored() {
        assert_eq!(bcrypt(4, &[7; 72], 1), bcrypt(4, &[7; 445], 1));
        assert_ne!(bcrypt(4, &[7; 71], 1), bcrypt(4, &[7; 72], 1));
    }
}
