//! Numbers one behind the other in few bytes: each has seven bits in a byte, and as many bytes as it needs.
//!
//! The lowest bits of a number's first byte say how many bytes it has: as many as there are zeros, and one. So one is written
//! and read as a word, without a loop. One of more than 56 bits has a byte of zeros and eight bytes.
//!
//! Not here: which numbers these are (`packed.rs`).

use crate::inspect::coarse::CoarseTime;
use crate::inspect::task_number::TaskNumber;
use std::num::NonZeroU32;

/// Writes numbers.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: [u8; ROOM],
    /// More than there is room for: not all were written.
    len: usize,
}

/// Reads the numbers that a [`Writer`] has written.
#[derive(Debug)]
pub(super) struct Reader {
    bytes: [u8; ROOM],
    from: usize,
}

impl Writer {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; ROOM],
            len: 0,
        }
    }

    /// What was written, if it fits.
    pub(super) fn bytes<const LEN: usize>(&self) -> Option<[u8; LEN]> {
        let bytes = self.bytes.first_chunk().filter(|_| self.len <= LEN);
        bytes.copied()
    }

    /// The lowest `len` bytes of a word that has no others.
    #[inline]
    pub(super) fn raw(&mut self, word: u64, len: usize) {
        let room = self.bytes.get_mut(self.len..);
        if let Some(room) = room.and_then(<[u8]>::first_chunk_mut) {
            *room = word.to_le_bytes();
        }
        self.len += len;
    }

    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        let bits = u64::BITS - (number | 1).leading_zeros();
        let len = bits.div_ceil(BITS);
        if len > LEN_MAX {
            self.raw(0, 1);
            self.raw(number, size_of::<u64>());
        } else {
            self.raw((number << 1 | 1) << (len - 1), len as usize);
        }
    }

    /// The way from `from` to `to`, which is short in either direction.
    #[inline]
    pub(super) fn step(&mut self, from: u64, to: u64) {
        self.number(zigzag(to.wrapping_sub(from)));
    }

    /// An address near another one, or 0. The longest way that there is does not fit.
    pub(super) fn near(&mut self, other: u64, address: u64) {
        let way = zigzag(address.wrapping_sub(other));
        match way.checked_add(1) {
            _ if address == 0 => self.number(0),
            Some(number) => self.number(number),
            None => self.raw(0, ROOM),
        }
    }

    /// A time that lies far from zero.
    pub(super) fn time(&mut self, time: CoarseTime) {
        self.raw(time.steps(), TIME_BYTES);
    }

    /// A task; of most, the place is used for the first time.
    pub(super) fn task(&mut self, task: TaskNumber) {
        let (low, uses) = (task.to_bits() & u64::from(u32::MAX), task.uses());
        self.number(low << 1 | u64::from(uses != 1));
        if uses != 1 {
            self.number(uses.into());
        }
    }
}

impl Reader {
    pub(super) fn of<const LEN: usize>(written: &[u8; LEN]) -> Self {
        let mut bytes = [0; ROOM];
        bytes[..LEN].copy_from_slice(written);
        Self { bytes, from: 0 }
    }

    /// A word of `len` bytes.
    #[inline]
    pub(super) fn raw(&mut self, len: usize) -> u64 {
        let bytes = self.bytes.get(self.from..);
        let bytes = bytes.and_then(<[u8]>::first_chunk).expect(WRITTEN);
        self.from += len;
        u64::from_le_bytes(*bytes) << (u64::BITS as usize - 8 * len)
            >> (u64::BITS as usize - 8 * len)
    }

    #[inline]
    pub(super) fn number(&mut self) -> u64 {
        let bytes = self.bytes.get(self.from..);
        let bytes = bytes.and_then(<[u8]>::first_chunk).expect(WRITTEN);
        let word = u64::from_le_bytes(*bytes);
        let len = word.trailing_zeros() + 1;
        if len > LEN_MAX {
            self.from += 1;
            return self.raw(size_of::<u64>());
        }
        self.from += len as usize;
        // What comes behind it, and the bits that say its length, fall off.
        word << (u64::BITS - 8 * len) >> (u64::BITS - BITS * len)
    }

    /// A number that had no more bits.
    #[inline]
    pub(super) fn word(&mut self) -> u32 {
        u32::try_from(self.number()).expect(WRITTEN)
    }

    /// One that was not 0.
    #[inline]
    pub(super) fn name(&mut self) -> NonZeroU32 {
        NonZeroU32::new(self.word()).expect(WRITTEN)
    }

    /// Where a step from `from` has led to.
    #[inline]
    pub(super) fn step(&mut self, from: u64) -> u64 {
        from.wrapping_add(unzigzag(self.number()))
    }

    /// An address near another one, or 0.
    pub(super) fn near(&mut self, other: u64) -> u64 {
        let way = self.number().checked_sub(1).map(unzigzag);
        way.map_or(0, |way| other.wrapping_add(way))
    }

    pub(super) fn time(&mut self) -> CoarseTime {
        CoarseTime::of_steps(self.raw(TIME_BYTES))
    }

    pub(super) fn task(&mut self) -> TaskNumber {
        let low = self.number();
        let uses = if low & 1 == 0 { 1 } else { self.number() };
        TaskNumber::from_bits(uses << 32 | low >> 1).expect(WRITTEN)
    }
}

/// A way in either direction as a number that is small if it is short: its sign is the lowest bit, and inverts the others.
fn zigzag(way: u64) -> u64 {
    way << 1 ^ (way >> 63).wrapping_neg()
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// The most that there is room for.
pub(super) const BYTES_MAX: usize = 47;
/// With what is behind them where the last number is written or read as a word.
const ROOM: usize = 64;
/// Of a number in each of its bytes.
const BITS: u32 = 7;
/// Bytes of a number that says how many they are.
const LEN_MAX: u32 = 8;
const TIME_BYTES: usize = 6;
const WRITTEN: &str = "it was written so";

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Reader, Writer};
    use crate::inspect::coarse::CoarseTime;
    use crate::inspect::task_number::TaskNumber;

    const NUMBERS: [u64; 11] = [
        0,
        1,
        127,
        128,
        16_383,
        16_384,
        u32::MAX as u64,
        (1 << 56) - 1,
        1 << 56,
        1 << 63,
        u64::MAX,
    ];

    #[test]
    fn numbers_and_steps_come_back_in_the_same_order() {
        for first in NUMBERS {
            for second in NUMBERS {
                let mut writer = Writer::new();
                writer.number(first);
                writer.step(first, second);
                writer.raw(9, 1);
                let bytes: [u8; BYTES_MAX] = writer.bytes().unwrap();
                let mut reader = Reader::of(&bytes);
                assert_eq!((reader.number(), reader.step(first)), (first, second));
                assert_eq!(reader.raw(1), 9);
            }
        }
    }

    #[test]
    fn addresses_near_another_one_come_back_unless_they_are_as_far_as_can_be() {
        for other in NUMBERS {
            for address in NUMBERS {
                let mut writer = Writer::new();
                writer.near(other, address);
                let bytes = writer.bytes::<BYTES_MAX>();
                let read = bytes.map(|bytes| Reader::of(&bytes).near(other));
                let is_far = address != 0 && address.wrapping_sub(other) == 1 << 63;
                assert_eq!(read, (!is_far).then_some(address), "{other} {address}");
            }
        }
    }

    #[test]
    fn tasks_and_times_come_back() {
        for bits in [
            1 << 32,
            3 << 32 | 7,
            u64::MAX,
            1 << 32 | u64::from(u32::MAX),
        ] {
            let task = TaskNumber::from_bits(bits).unwrap();
            for time in [0, 1 << 12, 1 << 40, u64::MAX].map(CoarseTime::of) {
                let mut writer = Writer::new();
                writer.task(task);
                writer.time(time);
                let bytes: [u8; BYTES_MAX] = writer.bytes().unwrap();
                let mut reader = Reader::of(&bytes);
                assert_eq!((reader.task(), reader.time()), (task, time));
            }
        }
    }

    #[test]
    fn small_numbers_have_one_byte_and_what_does_not_fit_is_noticed() {
        let mut writer = Writer::new();
        writer.number(127);
        writer.step(1 << 40, (1 << 40) - 64);
        assert_eq!(writer.bytes(), Some([255, 255]));
        assert_eq!(writer.bytes::<1>(), None);
        (0..BYTES_MAX - 2).for_each(|_| writer.raw(1, 1));
        assert!(writer.bytes::<BYTES_MAX>().is_some());
        writer.raw(1, 1);
        assert_eq!(writer.bytes::<BYTES_MAX>(), None);
    }
}
