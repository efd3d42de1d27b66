//! Words with a bit for each worker.

use crate::sync::atomic::{AtomicU64, Ordering};

/// Whether a bit is set.
pub(super) fn is_any(words: &[AtomicU64]) -> bool {
    // SeqCst: I1.
    words.iter().any(|word| word.load(Ordering::SeqCst) != 0)
}

/// Clears the lowest bit that is set, and returns its number. The thread that clears a bit owns it.
pub(super) fn take_lowest(words: &[AtomicU64]) -> Option<usize> {
    for (index, word) in words.iter().enumerate() {
        // SeqCst: I1.
        let mut bits = word.load(Ordering::SeqCst);
        while bits != 0 {
            let bit = bits & bits.wrapping_neg();
            // SeqCst: I1; it also acquires what was published with the bit.
            if word.fetch_and(!bit, Ordering::SeqCst) & bit != 0 {
                return Some(index * 64 + bit.trailing_zeros() as usize);
            }
            bits &= !bit;
        }
    }
    None
}
