//! The number of a recorded task: it names a place in the table and how often that place was used.
//!
//! Not here: the table (`recording/enabled/tasks/table.rs` of the library).

use std::fmt;
use std::num::NonZeroU64;

/// Names a recorded task. No two tasks of a process have the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskNumber(NonZeroU64);

impl TaskNumber {
    /// Of what is in this place when it is used for the `uses`-th time, from 1.
    ///
    /// # Panics
    /// If all three numbers are 0.
    #[inline]
    #[must_use]
    pub fn new(uses: u32, place: usize, shard: usize) -> Self {
        let bits = u64::from(uses) << 32 | ((place << SHARD_BITS) | shard) as u64;
        Self(NonZeroU64::new(bits).expect("a place that is in use was used"))
    }

    /// As a word that is not 0.
    #[inline]
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The number that is shown as this text.
    #[inline]
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let (low, uses) = text.split_once('.').unwrap_or((text, "1"));
        let (low, uses) = (low.parse::<u32>().ok()?, uses.parse::<u32>().ok()?);
        Self::from_bits(u64::from(uses) << 32 | u64::from(low)).filter(|_| uses > 0)
    }

    /// The number that became this word, or `None` of 0.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }

    /// How often its place was used, with this time.
    #[inline]
    #[must_use]
    pub fn uses(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    #[inline]
    fn low(self) -> usize {
        usize::try_from(self.0.get() & u64::from(u32::MAX)).expect("32 bits are an index")
    }

    /// The place in its shard.
    #[inline]
    #[must_use]
    pub fn place(self) -> usize {
        self.low() >> SHARD_BITS
    }

    /// The shard.
    #[inline]
    #[must_use]
    pub fn shard(self) -> usize {
        self.low() % SHARDS
    }
}

/// Short: the place, and from its second use on how often it was used.
impl fmt::Display for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.low())?;
        match self.uses() {
            1 => Ok(()),
            uses => write!(f, ".{uses}"),
        }
    }
}

const SHARD_BITS: u32 = 4;
/// This number of threads can record tasks without contention for one lock.
pub const SHARDS: usize = 1 << SHARD_BITS;
/// Places of a shard: what a number has bits for.
pub const PLACES_MAX: usize = 1 << (32 - SHARD_BITS);
