//! A place for one result that loops may write by index, from any thread, without unsafe code.
//!
//! The posts' loops store with `results[i] = …` from several threads. Rust allows that for words
//! that are atomic; a relaxed store costs what a plain one does.

use std::{
    hash::{Hash, Hasher},
    sync::atomic::{AtomicU64, Ordering},
};

/// Room for a result of up to `WORDS` times eight bytes.
#[derive(Debug)]
pub(crate) struct Slot<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Slot<WORDS> {
    /// A slot nothing was stored in.
    pub(crate) fn blank() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    /// Stores `bytes`; what they leave of the last word is zero.
    ///
    /// # Panics
    /// If there is no room for them.
    pub(crate) fn store(&self, bytes: &[u8]) {
        assert!(bytes.len() <= WORDS * 8, "a result fits its slot");
        for (word, chunk) in self.0.iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
    }

    /// The words. A reader has waited for the loop that stored them.
    fn words(&self) -> [u64; WORDS] {
        self.0.each_ref().map(|word| word.load(Ordering::Relaxed))
    }
}

impl<const WORDS: usize> Clone for Slot<WORDS> {
    fn clone(&self) -> Self {
        Self(self.words().map(AtomicU64::new))
    }
}

impl<const WORDS: usize> Hash for Slot<WORDS> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.words().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_stored_whole_and_in_order() {
        let slot = Slot::<3>::blank();
        slot.store(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 4]);
        assert_eq!(slot.words(), [1, 2, 0x0403]);
        assert_eq!(slot.clone().words(), slot.words());
    }

    #[test]
    #[should_panic(expected = "a result fits its slot")]
    fn a_result_too_long_is_refused() {
        Slot::<1>::blank().store(&[0; 9]);
    }
}
