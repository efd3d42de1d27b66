//! A fast hash function with a secret of its own for each query.
//!
//! Each word is multiplied to twice its width with the secret, and the halves are folded together (Yi, *wyhash*,
//! 2019). It spreads keys well, and an attacker who does not know the secret cannot easily choose keys that collide.
//! It is no cryptographic hash, and no defence against an attacker who can measure times.

use std::cell::Cell;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

crate::sync::thread_local! {
    /// The next secret of this thread is made of this; 0 before the first.
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// The secret of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Secret {
    start: u64,
    factor: u64,
}

impl Secret {
    /// Another secret. Only the first of a thread waits for the system's randomness.
    pub(crate) fn new() -> Self {
        let start = match NEXT.get() {
            0 => RandomState::new().hash_one(0),
            next => next,
        };
        let (secret, next) = Self::made_of(start);
        NEXT.set(next);
        secret
    }

    /// The secret that is made of a counter, and where the counter stands for the next one.
    fn made_of(start: u64) -> (Self, u64) {
        let middle = start.wrapping_add(GOLDEN);
        let secret = Self {
            start: mixed(start),
            // Odd, so that no bit of a word is lost.
            factor: mixed(middle) | 1,
        };
        (secret, middle.wrapping_add(GOLDEN))
    }

    /// A hash whose bits are used separately: the highest ones for the parts, the lowest for the tables.
    #[inline]
    pub(crate) fn hash<K: Hash>(self, key: &K) -> u32 {
        let mut folding = self.build_hasher();
        key.hash(&mut folding);
        folding.middle()
    }
}

impl BuildHasher for Secret {
    type Hasher = Folding;

    #[inline]
    fn build_hasher(&self) -> Folding {
        Folding {
            state: self.start,
            factor: self.factor,
            is_begun: false,
        }
    }
}

/// The hash of a key, so far.
pub(crate) struct Folding {
    state: u64,
    factor: u64,
    /// Whether there was a word before. The first one needs no multiplication: the state is a secret.
    is_begun: bool,
}

impl Folding {
    #[inline]
    fn fold(&mut self, word: u64) {
        let before = if self.is_begun {
            fold(self.state, self.factor)
        } else {
            self.state
        };
        self.state = before ^ word;
        self.is_begun = true;
    }

    /// Two words by one multiplication, as *wyhash* does.
    #[inline]
    fn fold_pair(&mut self, (first, last): (u64, u64), len: u64) {
        self.state = fold(self.state ^ first, self.factor ^ last).wrapping_add(len);
        self.is_begun = true;
    }

    /// The last product. Some secrets spread some series of keys badly. A factor that is known to be good does not, and
    /// a key of one word is multiplied by that one only.
    #[inline]
    fn product(&self) -> u128 {
        product(self.state, GOLDEN)
    }

    /// The middle of the last product, where consecutive numbers are spread best.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "takes bits from the middle"
    )]
    fn middle(&self) -> u32 {
        let product = self.product();
        let (low, high) = (product as u64, (product >> 64) as u64);
        (low >> 16 ^ high >> 16) as u32
    }
}

/// Multiplies to twice the width.
#[inline]
fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// Multiplies to twice the width and folds the halves together.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    folded(product(a, b))
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes the halves apart")]
fn folded(product: u128) -> u64 {
    product as u64 ^ (product >> 64) as u64
}

/// At most two words, as the first and the last bytes of them; both have the bytes in the middle where there are fewer.
#[inline]
fn ends(bytes: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        (
            u32::from_le_bytes(*first).into(),
            u32::from_le_bytes(*last).into(),
        )
    } else {
        // One to three bytes, or none.
        let middle = bytes.get(bytes.len() / 2).copied().unwrap_or(0);
        let first = bytes.first().copied().unwrap_or(0);
        let last = bytes.last().copied().unwrap_or(0);
        (u64::from(first) << 8 | u64::from(middle), last.into())
    }
}

/// Spreads a counter's bits over the whole word (Steele, Lea and Flood, *SplitMix*, 2014).
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

/// Bytes of two words.
const PAIR: usize = 16;
/// The golden ratio, as a fraction of 2⁶⁴: spreads neighbours far apart (Knuth, *Sorting and Searching*, 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Folding {
    #[inline]
    fn finish(&self) -> u64 {
        folded(self.product())
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((pair, others)) = rest.split_at_checked(PAIR)
            && !others.is_empty()
        {
            self.fold_pair(ends(pair), 0);
            rest = others;
        }
        // With the length, so that zeros at the end count.
        self.fold_pair(ends(rest), bytes.len() as u64);
    }

    #[inline]
    fn write_u8(&mut self, word: u8) {
        self.fold(word.into());
    }

    #[inline]
    fn write_u16(&mut self, word: u16) {
        self.fold(word.into());
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.fold(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.fold(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.fold(word as u64);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Secret;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};
    use std::iter;

    /// The same secrets in every run, so that a test fails in each or in none.
    fn secrets(count: usize) -> impl Iterator<Item = Secret> {
        let made = iter::successors(Some(Secret::made_of(1)), |&(_, next)| {
            Some(Secret::made_of(next))
        });
        made.map(|(secret, _)| secret).take(count)
    }

    /// Ten thousand keys have about as many hashes, and use every part and every low bit evenly. The standard
    /// library's maps choose their slots by the low bits.
    fn check_once<K: Hash>(secret: Secret, keys: impl Iterator<Item = K>) {
        let keys: Vec<K> = keys.take(10_000).collect();
        let mut places: Vec<_> = keys
            .iter()
            .map(|key| secret.hash_one(key) % (1 << 14))
            .collect();
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 5_000, "{} places", places.len());
        let hashes: Vec<u32> = keys.iter().map(|key| secret.hash(key)).collect();
        assert!(hashes.iter().collect::<HashSet<_>>().len() > 9_980);
        let slots = hashes.iter().map(|hash| (hash >> 24, hash % 128));
        assert!(slots.collect::<HashSet<_>>().len() > 8_000);
        for shift in [0, 8, 16, 24] {
            let mut counts = [0; 256];
            for hash in &hashes {
                counts[(hash >> shift & 255) as usize] += 1;
            }
            assert!(
                counts.iter().all(|count| (5..120).contains(count)),
                "{counts:?}"
            );
        }
    }

    /// With many secrets, because one in a thousand bad ones would be too many.
    fn check<K: Hash, I: Iterator<Item = K>>(keys: impl Fn() -> I) {
        secrets(20).for_each(|secret| check_once(secret, keys()));
    }

    #[test]
    fn keys_that_differ_little_are_spread_well() {
        check(|| 0_u64..);
        check(|| (0_u64..).map(|i| i << 40));
        check(|| (0_u32..).map(|i| i * 1_024));
        check(|| (0_i16..).map(|i| (i, -i)));
        check(|| (0..).map(|i| i.to_string()));
        check(|| (0..).map(|i| format!("a key with the same beginning {i}")));
        check(|| (0..).map(|i| format!("{i} is where a key begins that ends like others")));
        check(|| (0..).map(|i| format!("in the middle {i} of a key")));
        check(|| (0..20_000).map(|len| "\0".repeat(len)));
    }

    /// Such as ids. A table of a thousand keys has 4,096 slots, where a thousand random hashes would share 113. A look-up
    /// beyond the first slot is a mispredicted branch. With 95 of 100 secrets none is shared; with a few in a
    /// thousand it is about as with random hashes.
    #[test]
    fn hardly_any_of_a_thousand_consecutive_numbers_share_a_slot() {
        for start in [0, 1 << 16, 1 << 20, 1 << 40] {
            let shared = secrets(SECRETS).map(|secret| {
                let slots: HashSet<u32> = (start..start + 1_000_u64)
                    .map(|key| secret.hash(&key) % 4_096)
                    .collect();
                1_000 - slots.len()
            });
            let mut shared: Vec<_> = shared.collect();
            shared.sort_unstable();
            assert_eq!(shared[SECRETS * 95 / 100], 0, "{start}: {shared:?}");
            assert!(shared[SECRETS - 1] < 130, "{start}: {shared:?}");
        }
    }

    const SECRETS: usize = 500;
}
