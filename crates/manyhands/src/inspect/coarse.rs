//! Numbers in fewer bytes than a word, for records of which there are many.

/// A number of at most 48 bits, in six bytes: an address of nearly every program, a count of what happens.
/// Of two parts, which are stored at once; of bytes, the compiler stores each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(2))]
pub(super) struct Bits48 {
    low: u32,
    high: u16,
}

/// A reading of the tick counter, early by at most 4,095 ticks: one or two microseconds where a tick is one of the processor's,
/// four where it is a nanosecond. It counts for twelve years at three ticks in a nanosecond; later times are the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CoarseTime(Bits48);

impl Bits48 {
    const ZERO: Self = Self { low: 0, high: 0 };
    const MAX: Self = Self {
        low: u32::MAX,
        high: u16::MAX,
    };

    /// `None` if it has more bits.
    pub(super) fn of(number: u64) -> Option<Self> {
        let [a, b, c, d, e, f, 0, 0] = number.to_le_bytes() else {
            return None;
        };
        Some(Self {
            low: u32::from_le_bytes([a, b, c, d]),
            high: u16::from_le_bytes([e, f]),
        })
    }

    pub(super) fn get(self) -> u64 {
        u64::from(self.high) << u32::BITS | u64::from(self.low)
    }
}

impl CoarseTime {
    /// No time, or one of the first 4,096 ticks.
    pub(super) const NONE: Self = Self(Bits48::ZERO);

    pub(super) fn of(ticks: u64) -> Self {
        Self::of_steps(ticks >> DROPPED_BITS)
    }

    /// The one that has this number of steps.
    pub(super) fn of_steps(steps: u64) -> Self {
        Self(Bits48::of(steps).unwrap_or(Bits48::MAX))
    }

    /// By how many steps it is later than the first one.
    pub(super) fn steps(self) -> u64 {
        self.0.get()
    }

    /// At most what it was made of.
    pub(super) fn ticks(self) -> u64 {
        self.0.get() << DROPPED_BITS
    }
}

const DROPPED_BITS: u32 = 12;

#[cfg(test)]
mod tests {
    use super::{Bits48, CoarseTime, DROPPED_BITS};

    #[test]
    fn a_number_comes_back_unless_it_has_too_many_bits() {
        for number in [0, 1, 0xffff, 0x1_0000, 0x1234_5678_9abc, (1 << 48) - 1] {
            assert_eq!(Bits48::of(number).map(Bits48::get), Some(number));
        }
        for number in [1 << 48, u64::MAX] {
            assert_eq!(Bits48::of(number), None);
        }
        assert_eq!(size_of::<Bits48>(), 6);
    }

    #[test]
    fn a_time_is_early_by_less_than_its_step_and_later_ones_are_never_before_it() {
        let step = 1 << DROPPED_BITS;
        let mut last = 0;
        for ticks in (0..40).map(|shift| (step + 77) << shift >> 2) {
            let coarse = CoarseTime::of(ticks).ticks();
            assert!(
                coarse <= ticks && ticks - coarse < step && coarse >= last,
                "{ticks}"
            );
            last = coarse;
        }
        let end = CoarseTime::of(u64::MAX).ticks();
        assert!(end >= last && CoarseTime::of(1 << 60).ticks() == end);
    }
}
