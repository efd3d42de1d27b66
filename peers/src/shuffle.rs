//! Seeded shuffling of the order of contenders within a round.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, 2014): any seed is a good one.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator whose whole state is the seed that is printed.
#[derive(Debug)]
pub(crate) struct Shuffle(u64);

impl Shuffle {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Shuffles in place (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The bias of a remainder this small does not matter for an order.
            let other = self.next() % (last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

/// Spreads the bits of a number; also used to make checksums of indices.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A seed from the wall clock, short enough to be typed again.
pub(crate) fn seed_from_clock() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ (since.as_secs() & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::Shuffle;

    #[test]
    fn same_seed_gives_the_same_permutation() {
        let shuffled = |seed| {
            let mut items: Vec<usize> = (0..20).collect();
            Shuffle::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(shuffled(7), shuffled(7));
        assert_ne!(shuffled(7), shuffled(8));
        let mut sorted = shuffled(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
