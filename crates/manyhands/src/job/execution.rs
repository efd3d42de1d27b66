//! The id of one execution of a stolen piece of work, by which waiters find what they may help with.
//!
//! Pure value; the records behind it are in `runtime/fork_join/executions.rs`.

use std::num::NonZeroU64;

/// The slot that runs it, its nesting level on that slot, and its sequence number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExecutionId(Option<NonZeroU64>);

impl ExecutionId {
    /// An execution without an id: nested too deeply to be recorded.
    pub(crate) const UNKNOWN: Self = Self(None);
    /// Nesting levels that are recorded on each slot.
    pub(crate) const LEVELS: usize = 16;
    /// Bits that [`to_bits`](Self::to_bits) uses, counted from the lowest.
    pub(crate) const BITS: u32 = 62;

    /// The id of execution number `sequence` of `level` on slot `slot`.
    pub(crate) fn new(slot: u16, level: usize, sequence: u64) -> Self {
        debug_assert!(level < Self::LEVELS, "level {level} is not recorded");
        let sequence = sequence & SEQUENCE_MASK;
        Self(NonZeroU64::new(
            sequence << 20 | (level as u64) << 16 | u64::from(slot),
        ))
    }

    /// The slot that runs it.
    pub(crate) fn slot(self) -> Option<u16> {
        self.0.map(|bits| (bits.get() & 0xFFFF) as u16)
    }

    /// Its nesting level on that slot.
    pub(crate) fn level(self) -> usize {
        self.0.map_or(0, |bits| (bits.get() >> 16 & 0xF) as usize)
    }

    /// As a word; 0 for unknown.
    pub(crate) fn to_bits(self) -> u64 {
        self.0.map_or(0, NonZeroU64::get)
    }

    /// From a word that [`to_bits`](Self::to_bits) made.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(NonZeroU64::new(bits))
    }
}

/// 42 bits: a slot that starts a million executions a second repeats a number after 50 days.
const SEQUENCE_MASK: u64 = (1 << 42) - 1;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ExecutionId;

    #[test]
    fn parts_survive_the_packing() {
        for (slot, level, sequence) in [(0, 0, 1), (u16::MAX, 15, u64::MAX), (7, 3, 1 << 41)] {
            let id = ExecutionId::new(slot, level, sequence);
            assert_eq!((id.slot(), id.level()), (Some(slot), level));
            assert_eq!(ExecutionId::from_bits(id.to_bits()), id);
            assert!(id.to_bits() < 1 << ExecutionId::BITS);
        }
        assert_eq!(ExecutionId::UNKNOWN.slot(), None);
        assert_eq!(ExecutionId::from_bits(0), ExecutionId::UNKNOWN);
    }
}
